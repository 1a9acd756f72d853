"""Two-level focused crawling: a bandit picks the host, an online classifier the link."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.columns import Repeated, left_sum
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.learners import online
from linkscore_scoring.learners.link_features import LatestLinks, feature_names
from linkscore_scoring.learners.models import CLASSIFIERS
from linkscore_scoring.policies.anthelion.bandit import HOST_VALUES, HostBandit
from linkscore_scoring.policies.anthelion.host_crawl import HostCrawl, clipped
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, one_of, outside
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

_TOP_FEATURES = 5
"""Features named in an explanation: for people, chosen."""
_SITE_PATTERNS = 16
"""Newest patterns that the value of a site looks at; `RankSites` asks for many. Chosen, not measured."""
_MOST_DECAY = 10**9
"""A bound of the parameter: more labels than any crawl has."""
_BUCKET = re.compile("p([0-9]{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthelionParams(Params):
    """Parameters of `anthelion`."""

    # what a host is worth: one of `HOST_VALUES`. The default was not chosen by figures: with and without p
    # they agree
    value_function: str = "success_rate_best_score"
    # the paper's lambda: probability that a decision takes any host, in [0, 1]. Default 0: measured,
    # exploring mostly costs (research/notebook/anthelion.md)
    explore_prob: float = 0.0
    # labels after which lambda is halved, then a third, and so on, [0, 1e9]; default 0 keeps it constant
    decay_pulls: int = 0
    # name of an online classifier. Default AROW: measured, research/notebook/anthelion.md
    classifier: str = "arow"
    # worth of a page that leads to relevant ones against one that is relevant itself, in [0, 1]; the paper
    # has none of it. Default 0.1, measured, research/notebook/anthelion.md
    hub_weight: float = 0.1

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from one_of("value_function", self.value_function, HOST_VALUES)
        yield from outside("explore_prob", self.explore_prob, 0.0, 1.0)
        yield from outside("decay_pulls", self.decay_pulls, 0, _MOST_DECAY)
        yield from one_of("classifier", self.classifier, CLASSIFIERS)
        yield from outside("hub_weight", self.hub_weight, 0.0, 1.0)


class Anthelion(Policy):
    """Hosts by what they yielded so far, links by an online classifier; learns from feedback alone.

    Relevant is a page with a reported reward of at least 0.5. Classifier, bandit and labels are crawl-wide: a
    host nobody fetched from profits from the others. Choose it for a rare target over many hosts, reported
    soon after the fetch. Score = the place of (host, link) in the two-level decision, see
    `bandit.host_scores`. Bucket: ``p<URL pattern>``, valued by the latest link of the pattern with what
    is known today.
    Exploration (`explore_prob`) shows in the values of buckets only, where each question is one decision.

    Shapes: n links in, (n,) float64 out. Cost: O(features of the links), 1 to 3 ms for 1,000 links with a
    numpy classifier; 100 us a label. References: Meusel, Mika and Blanco, Focused crawling for structured
    data, CIKM 2014. Differences: probabilities in place of raw votes; labels of neighbours from when the
    label comes; AROW in place of naive Bayes; hubs are worth something; no queue of decisions ahead of
    labels; until the first relevant page, links of URL patterns hardly fetched come first, over all hosts,
    and on a host of few relevant and many other pages those of patterns with the highest rate of success.

    Examples
    --------
    A crawl of 100 pages of a generated board, three in ten of them wanted; every fetch is reported:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.site import GeneratedSite
    >>> model = crawl_model(PolicyChoice("anthelion"))
    >>> crawl = SimulatedCrawl(model, GeneratedSite(seed=1), reports=True).fetch(100)
    >>> crawl.wanted_share() > 0.6
    True
    """

    name = "anthelion"
    Params = AnthelionParams
    residual = 1.0
    needs_feedback = True
    reads_templates = False

    crawl_wide: HostCrawl
    _examples: Stored[LatestLinks]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        hosts = HostBandit(
            function=params.value_function,
            explore_prob=params.explore_prob,
            decay_pulls=params.decay_pulls,
            seed=seed,
        )
        self.crawl_wide = HostCrawl(
            classifier=params.classifier,
            hosts=hosts,
            hub_weight=params.hub_weight,
        )
        self._examples = LatestLinks()

    def load_libraries(self) -> None:
        """Import what the classifier would import at its first labels."""
        online.load_libraries()

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Note the fetch; without feedback it teaches nothing."""
        self.crawl_wide.observe(page, site)
        self._examples.max_patterns = site.bounds.arms
        self._examples.note(page.links)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Teach classifier and bandit."""
        self.crawl_wide.learn(event, site)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by host and probability."""
        probs = self.crawl_wide.probs(links, site)
        patterns = Repeated.of(links.patterns)
        names = Repeated([f"p{pattern}" for pattern in patterns.distinct], patterns.places)
        return Scored(self.crawl_wide.scores(site, probs), names)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return what the latest link of each pattern is worth.

        A pattern without links is worth what its text is as a URL, one without text what the root of the site
        is; an unknown bucket the least that a link can be.
        """
        probs = clipped(np.zeros(len(buckets)))
        rows = [row for row, bucket in enumerate(buckets) if bucket[:1] == "p"]
        if rows:
            links = self._examples.batch([_number(buckets[row]) for row in rows])
            unknown = [pattern not in self._examples for pattern in links.patterns]
            links.urls = [
                f"http://{site.patterns.text(pattern) or site.name + '/'}" if new else url
                for pattern, url, new in zip(links.patterns, links.urls, unknown, strict=True)
            ]
            probs[rows] = self.crawl_wide.probs(links, site)
        return self.crawl_wide.pulls(site, probs)

    def site_value(self, site: SiteModel) -> float:
        """Return the highest probability among the links of the 16 newest patterns that were not fetched.

        A site without such links is worth what its root is as a URL.
        """
        links = self._examples.batch(self._examples.newest(_SITE_PATTERNS))
        rows = [row for row, key in enumerate(links.keys) if not site.memory.is_fetched(key)]
        links = links.rows(rows) if rows else self._examples.batch([-1])
        links.urls = [url or f"http://{site.name}/" for url in links.urls]
        return float(self.crawl_wide.probs(links, site).max())

    def site_bandit(self) -> HostBandit:
        """Return the bandit of the crawl."""
        return self.crawl_wide.hosts

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name probability, host counts, and the features that weigh most."""
        known = self.crawl_wide
        probs, X = known.probs(links, site), known.of_links(links, site)
        weights = known.classifier.model.contributions(X)
        arm = known.arm(site)
        host = [
            Term("host good", arm.good, "relevant pages of this host"),
            Term("host bad", arm.bad, "other labelled pages of this host"),
            Term("labels", left_sum(known.classifier.labels), "labels the classifier has seen in this crawl"),
        ]
        explained = []
        for row, prob in enumerate(probs.tolist()):
            mine = X.rows == row
            top = self._top(links, row, X.indices[mine].tolist(), weights[mine].tolist())
            pulls = f"{arm.good:.0f} of {arm.good + arm.bad:.0f}"
            summary = f"relevant with probability {prob:.2f}; host {pulls} relevant"
            own = Term("probability", prob, "calibrated probability of being relevant")
            explained.append(Explanation(summary, [own, *host, *top]))
        return explained

    def _top(self, links: LinkBatch, row: int, indices: list[int], weights: list[float]) -> list[Term]:
        names = feature_names(links.urls[row])
        order = sorted(range(len(indices)), key=lambda at: -abs(weights[at]))[:_TOP_FEATURES]
        return [
            Term(names.get(indices[at], f"feature {indices[at]}"), weights[at], "part of the log odds")
            for at in order
            if weights[at]
        ]


def _number(bucket: str) -> int:
    """Return the number of a bucket, 0 if it has none."""
    found = _BUCKET.fullmatch(bucket)
    return int(found[1]) if found else 0
