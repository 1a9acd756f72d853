"""Two-level focused crawling: a bandit picks the host, an online classifier the link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.columns import Repeated
from linkscore_scoring.errors import CorruptState, FieldProblem
from linkscore_scoring.learners.classifiers import CLASSIFIERS, online
from linkscore_scoring.learners.classifiers.latest_links import LatestLinks
from linkscore_scoring.learners.classifiers.link_features import GROUPS, feature_names
from linkscore_scoring.policies.anthelion import posteriors
from linkscore_scoring.policies.anthelion.host_bandit import HostBandit
from linkscore_scoring.policies.anthelion.host_crawl import STEPS, HostCrawl, SiteRanking, probs_of, steps_of
from linkscore_scoring.policies.anthelion.host_values import DRAWN, HOST_VALUES
from linkscore_scoring.policies.anthelion.released import ReleasedCrawl
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, one_of, outside
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

MODES = ("intent", "as_released")
CLASSIFY = ("on_demand", "on_explore")
_TOP_FEATURES = 5
"""Features named in an explanation: for people, chosen."""
_SITE_PATTERNS = 16
"""Newest patterns that the value of a site looks at; `RankSites` asks for many. Chosen, not measured."""
_MOST_DECAY = 10**9
"""A bound of the parameter: more labels than any crawl has."""
_MOST_PATTERN = 2**63
"""A bound: numbers of patterns in names of buckets are below it."""
_DIGITS = 20
"""Such a number has fewer digits; Python refuses to read very long ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthelionParams(Params):
    """Parameters of `anthelion`.

    Attributes
    ----------
    value_function
        What a host is worth: one of the eight of `policies.anthelion.host_values`. The default was not chosen
        by figures: with and without p they agree.
    explore_prob
        The paper's lambda: probability that a decision takes any host, in [0, 1]. Default 0: measured,
        exploring mostly costs (research/notebook/anthelion.md).
    decay_pulls
        Labels after which lambda is halved, then a third, and so on, [0, 1e9]; default 0 keeps it constant.
    classifier
        Name of an online classifier. Default AROW: measured, research/notebook/anthelion.md.
    features
        Groups of link features of `classifiers.link_features`, joined by ``+``; chosen, not measured.
    classify
        When a link gets its probability (the paper's OnExplore and OnDemand): ``on_explore`` once, when it is
        found; ``on_demand``, the default, measured, anew for each decision.
    hub_weight
        Worth of a page that leads to relevant ones against one that is relevant itself, in [0, 1]; the paper
        has none of it. Default 0.1, measured, research/notebook/anthelion.md.
    mode
        ``intent``, the default, what the paper describes, or ``as_released``, what the published code does;
        the latter has a classifier and features of its own.
    """

    value_function: str = "success_rate_best_score"
    explore_prob: float = 0.0
    decay_pulls: int = 0
    classifier: str = "arow"
    features: str = "host+url+parents+siblings"
    classify: str = "on_demand"
    hub_weight: float = 0.1
    mode: str = "intent"

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from one_of("value_function", self.value_function, HOST_VALUES)
        yield from outside("explore_prob", self.explore_prob, 0.0, 1.0)
        yield from outside("decay_pulls", self.decay_pulls, 0, _MOST_DECAY)
        yield from one_of("classifier", self.classifier, CLASSIFIERS)
        for group in self.features.split("+"):
            yield from one_of("features", group, GROUPS)
        yield from one_of("classify", self.classify, CLASSIFY)
        yield from outside("hub_weight", self.hub_weight, 0.0, 1.0)
        yield from one_of("mode", self.mode, MODES)


class Anthelion(Policy):
    """Hosts by what they yielded so far, links by an online classifier; learns from feedback alone.

    Relevant is a page with a reported reward of at least 0.5. Classifier, bandit and labels are crawl-wide: a
    host nobody fetched from profits from the others. Choose it for a rare target over many hosts, reported
    soon after the fetch. Score = the place of (host, link) in the two-level decision, see
    `host_crawl.host_scores`. Bucket: ``p<URL pattern>``, valued by the latest link of the pattern with what
    is known today, or if links are classified when found ``a<step>``, 65 steps of their log odds then.
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

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.crawl_wide = _crawl_of(params, seed)
        self._frozen = params.classify == "on_explore"
        self._examples = LatestLinks()

    @classmethod
    def load_libraries(cls, params: Any) -> None:
        """Import what the classifier would import at its first labels, and the first draw of a host."""
        online.load_libraries(params.classifier)
        if params.value_function in DRAWN:
            posteriors.load_libraries()

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Note the fetch; without feedback it teaches nothing."""
        self.crawl_wide.observe(page, site)
        if not self._frozen:
            self._examples.max_patterns = site.bounds.arms
            self._examples.note(page.links)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Teach classifier and bandit."""
        self.crawl_wide.learn(event, site)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by host and probability."""
        probs = self.crawl_wide.probs(links, site)
        numbers = Repeated.of(steps_of(probs) if self._frozen else links.patterns)
        kind = "a" if self._frozen else "p"
        names = Repeated([f"{kind}{number}" for number in numbers.distinct], numbers.places)
        return Scored(self.crawl_wide.scores(site, probs), names)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return what the latest link of each pattern is worth, or one in the middle of each step.

        A pattern without links is worth what its text is as a URL, one without text what the root of the site
        is; an unknown bucket is in the lowest step.
        """
        probs = probs_of([_number(bucket, "a", STEPS) for bucket in buckets])
        rows = [row for row, bucket in enumerate(buckets) if bucket[:1] == "p"]
        if rows:
            links = self._examples.batch([_number(buckets[row], "p", _MOST_PATTERN) for row in rows])
            unknown = [pattern not in self._examples for pattern in links.patterns]
            links.urls = [
                f"http://{site.patterns.text(pattern) or site.name + '/'}" if new else url
                for pattern, url, new in zip(links.patterns, links.urls, unknown, strict=True)
            ]
            probs[rows] = self.crawl_wide.probs(links, site)
        return self.crawl_wide.pulls(site, probs)

    def site_value(self, site: SiteModel) -> float:
        """Return the highest probability among the links of the 16 newest patterns that were not fetched.

        A site without such links is worth what its root is as a URL. `mode` as_released has no such number
        and answers by the place of the host in map order.
        """
        links = self._examples.batch(self._examples.newest(_SITE_PATTERNS))
        rows = [row for row, key in enumerate(links.keys) if not site.memory.is_fetched(key)]
        links = links.rows(rows) if rows else self._examples.batch([-1])
        links.urls = [url or f"http://{site.name}/" for url in links.urls]
        probs = self.crawl_wide.probs(links, site)
        worth = probs if self.site_bandit() is not None else self.crawl_wide.scores(site, probs)
        return float(worth.max())

    def site_bandit(self) -> SiteRanking | None:
        """Return the bandit of the crawl, except as released, where no bandit decides."""
        return SiteRanking(self.crawl_wide.hosts) if self.params.mode == "intent" else None

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name probability, host counts, and the features that weigh most."""
        known = self.crawl_wide
        probs, X = known.probs(links, site), known.of_links(links, site)
        weights = known.classifier.model.contributions(X) if self.params.mode == "intent" else X.values * 0.0
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
            summary = f"relevant with probability {prob:.2f}; host {arm.good:.0f} of {arm.pulls:.0f} relevant"
            own = Term("probability", prob, "calibrated probability of being relevant")
            explained.append(Explanation(summary, [own, *host, *top]))
        return explained

    def to_state(self) -> dict[str, Any]:
        """Return what is of this site: a link for each pattern."""
        return {"examples": self._examples.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the links of `to_state`."""
        if set(state) != {"examples"}:
            raise CorruptState(f"anthelion: want the field 'examples', got {sorted(state)}")
        self._examples.load_state(state["examples"])

    def _top(self, links: LinkBatch, row: int, indices: list[int], weights: list[float]) -> list[Term]:
        features = self.crawl_wide.features
        anchor = links.anchors[row] if len(links.anchors) else ""
        names = feature_names(links.urls[row], anchor, features.groups, features.dim)
        order = sorted(range(len(indices)), key=lambda at: -abs(weights[at]))[:_TOP_FEATURES]
        return [
            Term(names.get(indices[at], f"feature {indices[at]}"), weights[at], "part of the log odds")
            for at in order
            if weights[at]
        ]


def _crawl_of(params: AnthelionParams, seed: int) -> HostCrawl:
    released = params.mode == "as_released"
    hosts = HostBandit(
        function=params.value_function,
        explore_prob=params.explore_prob,
        decay_pulls=params.decay_pulls,
        as_released=released,
        seed=seed,
    )
    if released:
        return ReleasedCrawl(hosts=hosts)
    return HostCrawl(
        classifier=params.classifier,
        groups=params.features.split("+"),
        hosts=hosts,
        hub_weight=params.hub_weight,
    )


def _number(bucket: str, kind: str, end: int) -> int:
    """Return the number of a bucket of a kind, 0 if it has none below `end`."""
    number = bucket[1:]
    known = bucket[:1] == kind and number.isascii() and number.isdecimal() and len(number) < _DIGITS
    return int(number) if known and int(number) < end else 0
