"""Targets first, then the groups of links behind which most targets were found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_research.policies.tag_path_bandit.tag_path_groups import TagPathGroups
from linkscore_research.policies.tag_path_bandit.target_arms import TargetArms
from linkscore_scoring.columns import Floats
from linkscore_scoring.learners import online
from linkscore_scoring.learners.link_features import LatestLinks, hashed, of_urls
from linkscore_scoring.learners.online import CLASSIFIERS, Features, OnlineClassifier
from linkscore_scoring.policies.base import (
    Explanation,
    Params,
    Policy,
    Scored,
    Scores,
    Term,
    among,
    within,
)
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import UNKNOWN_LINK_PATH, FeedbackObservation, LinkBatch, PageObservation

_TARGET = 0.5  # reward from which a page is a target, and probability from which a link is taken for one
_NGRAMS, _MOST_CHARS = (2, 3, 4), 200  # characters, and of a URL after its host; chosen, not measured
_DIM = 1 << 15  # features: URLs of one site need fewer than links of a crawl; chosen, not measured
_BUCKET = re.compile(r"g(-1|[0-9]{1,9})\.([0-9]{1,18})", re.ASCII)
_NO_GROUP = -1  # links of unknown place
_MOST_GROUPS, _MOST_PAGES = 500, 20_000  # bounds, as those of `TagPathGroups` and `TargetArms`


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPathBanditParams(Params):
    """Parameters of `tag_path_bandit`."""

    # The paper's alpha, weight of the bonus, >= 0, in targets; 2 sqrt(2) is that of AUER (Kleinberg 2010)
    exploration: float = within(2.0 * 2.0**0.5, 0.0, 100.0)
    # Least cosine of a tag path to the centre of its group, in (0, 1]; .75 is the default of their code
    similarity: float = within(0.75, 1e-9, 1.0)
    classifier: str = among("arow", CLASSIFIERS)  # Name of the classifier of URLs


class TagPathBandit(Policy):
    """Links that look like targets first, else the tag paths whose pages hold most new targets.

    A target is a page with a reported reward of at least 0.5; without feedback nothing is learned but the
    groups. The URL classifier is used once it has seen targets and others. A pull is the fetch of a link
    that is not taken for a target; its reward is the number of links to targets seen for the first time.
    Choose it for files, or pages recognised by their URL, within one large site.

    Score of a link taken for a target = (1 + p) / 2; of any other = v / (2 + 2 v), v = mean targets a pull +
    exploration x bonus. Bucket = ``g<group>.<URL pattern>``, valued by the latest link of the pattern with
    what is known today: links found before the classifier knew anything do not stay behind.

    Shapes: n links in, (n,) float64 out. Cost: O(URL characters), 5 ms for 1,000 links seen before.
    References: Gauquier, Manolescu and Senellart, Efficient crawling for scalable web data acquisition,
    arXiv 2602.11874. Differences: targets are what feedback says and not MIME types; no HEAD requests before
    the classifier knows both kinds, rewards are corrected when labels come instead; URL tokens and 2- to
    4-grams, digits folded; the classifier learns label by label; links of unknown place are one group.

    Examples
    --------
    A crawl that reports after each fetch whether the page was wanted; links that look like it come first:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
    >>> model = crawl_model(PolicyChoice("tag_path_bandit"))
    >>> crawl = SimulatedCrawl(model, GeneratedSite(seed=1), reports=True).fetch(60)
    >>> crawl.wanted_share() > 0.6
    True
    """

    name = "tag_path_bandit"
    Params = TagPathBanditParams
    residual = 1.0
    needs_feedback = True
    reads_templates = False

    groups: Stored[TagPathGroups]
    arms: Stored[TargetArms]
    urls: Stored[OnlineClassifier]
    _labels: Stored[dict[int, bool]]
    _examples: Stored[LatestLinks]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.groups = TagPathGroups(similarity=params.similarity, max_groups=_MOST_GROUPS)
        self.arms = TargetArms(max_pages=_MOST_PAGES)
        self.urls = OnlineClassifier(params.classifier, dim=_DIM)
        self._examples = LatestLinks()
        self._labels = {}

    def load_libraries(self) -> None:
        """Import what the classifier would import at its first labels."""
        online.load_libraries()

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Group new tag paths, and reward the pull that led here with the targets in sight."""
        self._take_bounds(site.bounds)
        for link_path in dict.fromkeys(page.links.link_paths):
            self._join(link_path, site)
        self._examples.note(page.links)
        if page.refetch:
            return
        if not self._targets([page.url])[0]:
            self.arms.pulled(self._arm_of(page, site), page.key, self._new_targets(page))

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Teach the classifier, and correct what the finder of the page was credited with."""
        target = event.reward >= _TARGET
        if not event.url or self._labels.get(event.key) is target:
            return
        if event.key not in self._labels:
            self.arms.labelled(event.key, [source for source, _ in event.contexts], target=target)
        self._labels[event.key] = target
        if len(self._labels) > self.arms.max_pages:
            del self._labels[next(iter(self._labels))]
        self.urls.learn(_features([event.url]), np.array([float(target)]))

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score targets above everything, the others by group."""
        groups = [self._group(link_path) for link_path in links.link_paths]
        probs = self._probs(links.urls)
        names = [f"g{group}.{pattern}" for group, pattern in zip(groups, links.patterns, strict=True)]
        return Scored(self._scores(probs, groups), names)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of the latest link of each bucket's URL pattern in the bucket's group."""
        found = [_bucket(bucket) for bucket in buckets]
        links = self._examples.batch([pattern for _, pattern in found])
        probs = self._probs(links.urls)
        probs[[not url for url in links.urls]] = 0.0
        return self._scores(probs, [group for group, _ in found])

    def _scores(self, probs: Floats, groups: Sequence[int]) -> Scores:
        values = {group: self._value(group) for group in set(groups)}
        others = np.array([values[group] for group in groups], dtype=np.float64)
        return np.where(probs >= _TARGET, 0.5 + 0.5 * probs, others)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name probability, group, what it found, and the trend of the site."""
        probs = self._probs(links.urls).tolist()
        return [
            self._explanation(prob, self._group(link_path))
            for prob, link_path in zip(probs, links.link_paths, strict=True)
        ]

    def _take_bounds(self, bounds: SiteBounds) -> None:
        self.groups.max_paths = bounds.apaths
        self._examples.max_patterns = bounds.arms
        self.groups.max_groups = min(_MOST_GROUPS, bounds.arms)
        self.arms.max_pages = min(_MOST_PAGES, bounds.links)

    def _probs(self, urls: Sequence[str]) -> Floats:
        """Return the probability of being a target, were they as frequent as others; 0 until both came."""
        if not self.urls.is_ready:
            return np.zeros(len(urls))
        return self.urls.model.predict_prob(_features(urls))

    def _targets(self, urls: Sequence[str]) -> list[bool]:
        found: list[bool] = (self._probs(urls) >= _TARGET).tolist()
        return found

    def _new_targets(self, page: PageObservation) -> list[int]:
        new = {
            key: url
            for key, url, fresh in zip(page.links.keys, page.links.urls, page.fresh, strict=False)
            if fresh
        }
        return [
            key for key, is_target in zip(new, self._targets(list(new.values())), strict=True) if is_target
        ]

    def _arm_of(self, page: PageObservation, site: SiteModel) -> int:
        for _, link_path in page.contexts:
            return self._join(link_path, site)
        return _NO_GROUP

    def _join(self, link_path: int, site: SiteModel) -> int:
        raw = site.link_paths.get(link_path).raw
        return self.groups.join(link_path, raw) if raw else self._group(link_path)

    def _group(self, link_path: int) -> int:
        found = self.groups.group(link_path) if link_path != UNKNOWN_LINK_PATH else None
        return _NO_GROUP if found is None else found

    def _value(self, group: int) -> float:
        value = max(0.0, self.arms.value(group, self.params.exploration))
        return 0.5 * value / (1.0 + value)

    def _explanation(self, prob: float, group: int) -> Explanation:
        path = self.groups.names[group] if group >= 0 else "unknown tag paths"
        pulls, mean = self.arms.pulls(group), self.arms.mean(group)
        kind = "looks like a target" if prob >= _TARGET else f"links like {path}"
        return Explanation(
            f"{kind}: {pulls} fetched, {mean:.2f} new targets each",
            [
                Term("probability", prob, "of being a target, from the URL alone"),
                Term("fetched", pulls, "links of this group fetched"),
                Term("targets", mean, "new targets found on each"),
                Term("exploration", self.arms.value(group, self.params.exploration) - mean, "bonus"),
            ],
        )


def _bucket(bucket: str) -> tuple[int, int]:
    """Return group and URL pattern of a bucket; no group and any URL for a name of another policy."""
    found = _BUCKET.fullmatch(bucket)
    return (int(found[1]), int(found[2])) if found else (_NO_GROUP, 0)


def _features(urls: Sequence[str]) -> Features:
    """Return words of URLs and character n-grams after their hosts, by FNV-1a (32 bits)."""
    return hashed(len(urls), [of_urls(urls), of_urls(urls, _ngram_hashes)], _DIM)


def _ngram_hashes(url: str) -> bytes:
    text = re.sub("[0-9]", "#", url.partition("://")[2].partition("/")[2][:_MOST_CHARS])
    codes = np.frombuffer(f"^{text}$".encode("utf-8", "surrogatepass"), dtype=np.uint8).astype(np.uint32)
    found = []
    for n in _NGRAMS:
        rolled = np.full(max(0, len(codes) - n + 1), n, dtype=np.uint32)
        for shift in range(n):
            rolled = (rolled ^ codes[shift : shift + len(rolled)]) * np.uint32(0x01000193)
        found.append(rolled)
    return np.unique(np.concatenate(found)).tobytes()
