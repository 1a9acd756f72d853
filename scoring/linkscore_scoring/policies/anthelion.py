"""Anthelion (Meusel 2014), two-level focused crawling: a bandit picks the host, a classifier the link.

Every draw is a function of (seed, event, arm): the same after a restart, whatever was asked between.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from linkscore_scoring.columns import Floats, Repeated, drop_oldest, left_sum, shrunk
from linkscore_scoring.hashing import GOLDEN, hash64, mix64
from linkscore_scoring.learners import online
from linkscore_scoring.learners.link_features import (
    LatestLinks,
    NeighbourLabels,
    feature_names,
    link_features,
)
from linkscore_scoring.learners.online import CLASSIFIERS, Features, OnlineClassifier, sigmoid
from linkscore_scoring.policies.answers import Plan, allocate_best
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, among, within
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation
from linkscore_scoring.urls.pattern_tree import url_tokens

_MASK = (1 << 64) - 1  # Python's numbers do not wrap at 64 bits, those of numpy do
_COIN, _WHICH = -1, -2
"""Arms that draw the coin of exploration and the arm to explore; real arms are >= 0."""

_DECISION_SHIFT = 40
"""Bits of an event number; the decisions of one question count above them."""

HOST_VALUES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "best_score": lambda G, B, p: p,
    "absolute_good": lambda G, B, p: G,
    "negative_absolute_bad": lambda G, B, p: -B,
    "success_rate": lambda G, B, p: (G + 1.0) / (B + 1.0),
    "absolute_good_best_score": lambda G, B, p: p * G,
    "success_rate_best_score": lambda G, B, p: p * (G + 1.0) / (B + 1.0),
}
"""What a host is worth, higher is better, by good and bad pages fetched and the probability of its best link.

Difference from the release: p is a probability in (0, 1) where that has an unbounded signed margin, so that a
product with it keeps its sense for links that are more likely not relevant.
"""

_MEDIAN = 0.5  # a probability that orders no hosts
# Host values closer than this are a tie, which probability decides; counts differ by far more.
_TIE = 1e-9
EDGE = 8.0  # log odds end at +-8, probabilities of 0.0003 and 0.9997; chosen, not measured
# Logarithms of the values between which products with a probability are put on [0, 1]: those of a host with
# 10,000 other pages and a link of the lowest probability, and of a host with 10,000 relevant pages.
_LOW, _HIGH = log(1e-4) - EDGE, log(1e4)


def uniform(seed: int, seq: int, arms: Sequence[int]) -> Floats:
    """Return one number in (0, 1) for each 64-bit arm: splitmix64's finaliser (Steele, Lea and Flood
    2014)."""
    step = np.uint64(GOLDEN)
    salt = mix64(np.array([(seed * GOLDEN + seq) & _MASK], dtype=np.uint64) + step)
    mixed = mix64(mix64((np.array([arm & _MASK for arm in arms], dtype=np.uint64) ^ salt) + step) + step)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


@dataclass(slots=True)
class Arm:
    """Sum of the rewards of an arm, and of 1 - reward."""

    good: float = 0.0
    bad: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthelionParams(Params):
    """Parameters of `anthelion`."""

    # what a host is worth: one of `HOST_VALUES`. The default was not chosen by figures: with and without p
    # they agree
    value_function: str = among("success_rate_best_score", HOST_VALUES)
    # the paper's lambda: probability that a decision takes any host, in [0, 1]. Default 0: measured,
    # exploring mostly costs (research/notebook/anthelion.md)
    explore_prob: float = within(0.0, 0.0, 1.0)
    # labels after which lambda is halved, then a third, and so on, [0, 1e9]; default 0 keeps it constant
    decay_pulls: int = within(0, 0, 10**9)
    # name of an online classifier. Default AROW: measured, research/notebook/anthelion.md
    classifier: str = among("arow", CLASSIFIERS)
    # worth of a page that leads to relevant ones against one that is relevant itself, in [0, 1]; the paper
    # has none of it. Default 0.1, measured, research/notebook/anthelion.md
    hub_weight: float = within(0.1, 0.0, 1.0)


class HostBandit(Stateful):
    """With probability lambda an arm at random of those where something waits, else the one of highest value.

    lambda is halved after `decay_pulls` rewards, then a third, and so on; 0 keeps it constant. Sleeping arms
    after Kleinberg, Niculescu-Mizil and Sharma 2010. The host of highest value is chosen, which the released
    code means and does not do.
    """

    pulls: Stored[int]
    arms: Stored[dict[int, Arm]]

    max_arms = 1_000_000
    """A bound: beyond it the arms met first are forgotten."""

    def __init__(self, params: AnthelionParams, *, seed: int = 0) -> None:
        self.params, self.seed = params, seed

    def reward(self, arm: int, reward: float) -> None:
        """Count one pull of an arm and its reward in [0, 1]."""
        known = self._arm(arm)
        known.good += reward
        known.bad += 1.0 - reward
        self.pulls += 1

    def revise(self, arm: int, change: float) -> None:
        """Change the reward of a pull that was counted before."""
        known = self._arm(arm)
        known.good = max(0.0, known.good + change)
        known.bad = max(0.0, known.bad - change)

    def _arm(self, arm: int) -> Arm:
        known = self.arms.setdefault(arm, Arm())
        if len(self.arms) > self.max_arms:
            del self.arms[next(iter(self.arms))]
        return known

    @property
    def explore_prob_now(self) -> float:
        """lambda after the rewards that have come, in [0, 1]."""
        falls = self.pulls // self.params.decay_pulls if self.params.decay_pulls else 0
        return self.params.explore_prob / (falls + 1)

    def explores(self, seq: int) -> bool:
        """Say whether the decision at event `seq` is a random one."""
        prob = self.explore_prob_now
        return prob > 0.0 and float(uniform(self.seed, seq, [_COIN])[0]) < prob

    def worth(self, arms: Sequence[int], best: Iterable[float]) -> Floats:
        """Return the value function of each arm, (n,), by the highest probability that each has queued."""
        known = [self.arms.get(arm) or Arm() for arm in arms]
        good, bad = np.array([(arm.good, arm.bad) for arm in known], dtype=np.float64).reshape(-1, 2).T
        values = HOST_VALUES[self.params.value_function](good, bad, np.array(list(best), dtype=np.float64))
        return np.asarray(values, dtype=np.float64)

    def allocate(
        self, values: Mapping[int, float], waiting: Mapping[int, int], n: int, seq: int
    ) -> Counter[int]:
        """Return how many of n pulls each arm gets; an arm sleeps once nothing of its queue waits.

        No reward comes between the decisions, so one that does not explore would repeat itself until the
        queue of the best arm is empty; among equal arms the pulls go round, in the order of `values`.
        """

        def draw(decision: int) -> float | None:
            at = seq + (decision << _DECISION_SHIFT)
            return float(uniform(self.seed, at, [_WHICH])[0]) if self.explores(at) else None

        return allocate_best(values, waiting, n, draw)

    def rank(self, names: Sequence[str], best: Floats, waiting: Sequence[int], n: int, seq: int) -> Plan:
        """Return values and shares of sites, see `answers.SiteBandit`; `best`: of each its best link's p."""
        arms = list(map(host_arm, names))
        values = host_scores(self.params.value_function, self.worth(arms, best), np.full(len(arms), _MEDIAN))
        awake = {arm: most for arm, most in zip(arms, waiting, strict=True) if most}
        worth = {arm: value for arm, value in zip(arms, values.tolist(), strict=True) if arm in awake}
        shares = self.allocate(worth, awake, n, seq)
        return Plan(values, np.array([shares[arm] for arm in arms], dtype=np.int64))


def host_arm(name: str) -> int:
    """Return the arm of a host: 63 bits of the hash of its name."""
    return hash64(name) >> 1


def lexical(first: Floats, second: Floats) -> Floats:
    """Return a number in [0, 1] that orders by `first`, in [0, 1], and ties by `second`, in [0, 1]."""
    return np.asarray((1.0 - _TIE) * first + _TIE * second, dtype=np.float64)


def host_scores(function: str, values: Floats, probs: Floats) -> Floats:
    """Return the score in [0, 1] of links from the value of their host and their own probability."""
    if function == "best_score":
        return values
    if function.endswith("best_score"):
        with np.errstate(divide="ignore"):
            share = (np.log(values) - _LOW) / (_HIGH - _LOW)
        return lexical(np.clip(share, 0.0, 1.0), probs)
    if function == "negative_absolute_bad":
        return lexical(1.0 / (1.0 - values), probs)
    return lexical(values / (1.0 + values), probs)


MAX_PAGES = 50_000
"""A bound: pages whose label is kept for a crawl."""
_RELEVANT = 0.5
"""Least reward that counts as relevant: in the middle of [0, 1], so that yes and no are told apart."""
_HUB_YIELD = 2.5
"""Relevant pages expected behind the new links of a hub: chosen, not measured."""
_VAIN = 20
"""Other pages of a host for each relevant one, and one more, from which the classifier is not trusted there:
one success in twenty is little. Measured beside 10, 30 and 40, research/notebook/anthelion.md.
"""


class HostCrawl(Stateful):
    """Classifier, host bandit and labels of one crawl; a label is a reported reward of at least 0.5.

    A second classifier learns from every fetch which pages are hubs: those whose new links are expected to
    hold at least two and a half relevant pages. A link counts as p + hub_weight h (1 - p), p the probability
    of being relevant and h that of being a hub.
    """

    seq: Stored[int]
    classifier: Stored[OnlineClassifier]
    hubs: Stored[OnlineClassifier]
    neighbours: Stored[NeighbourLabels]
    hosts: Stored[HostBandit]
    # pages labelled while no relevant one is known, by the shape of their URL after the host, digit runs as #
    _vain: Stored[dict[int, int]]

    def __init__(self, params: AnthelionParams, *, seed: int) -> None:
        self.classifier, self.hubs = (OnlineClassifier(params.classifier) for _ in range(2))
        self.neighbours = NeighbourLabels()
        self.hosts = HostBandit(params, seed=seed)
        self.params = params

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Note the event, and whether the page is a hub."""
        self.seq = page.seq
        self.neighbours.max_pages = min(MAX_PAGES, site.bounds.links)
        if self.params.hub_weight and self.classifier.is_ready and not (page.failed or page.refetch):
            hub = self._yield(page, site) >= _HUB_YIELD
            self.hubs.learn(self._of_page(page), np.array([float(hub)]))

    def _yield(self, page: PageObservation, site: SiteModel) -> float:
        """Return how many relevant pages the links never seen before are expected to lead to."""
        new = dict(zip(page.links.keys, range(len(page.links)), strict=True))
        rows = [row for row in new.values() if page.fresh[row]]
        known = self.of_links(page.links.rows(rows), site)
        return float(self.classifier.predict_prob(known).sum())

    def learn(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Learn from a label; one without URL teaches the bandit only."""
        self.seq = event.seq
        relevant, host = event.reward >= _RELEVANT, host_arm(site.name)
        if not event.url:
            self.hosts.reward(host, float(relevant))
            return
        before = self.neighbours.label(event.key)
        if before is relevant:
            return
        if before is None:
            self.hosts.reward(host, float(relevant))
        else:
            self.hosts.revise(host, 1.0 if relevant else -1.0)
        self.classifier.learn(self._of_page(event), np.array([float(relevant)]))
        self.neighbours.note(event.key, [source for source, _ in event.contexts], relevant)
        if not self.classifier.knows_only_others:
            self._vain = {}
        else:
            shape = _shape(event.url)
            self._vain[shape] = self._vain.get(shape, 0) + 1
            drop_oldest(self._vain, self.neighbours.max_pages)

    def probs(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return what links count, (n,) float64 in (0, 1): being relevant, and being a hub."""
        X, arm = self.of_links(links, site), self.arm(site)
        p = self.classifier.predict_prob(X)
        if self.classifier.knows_only_others:
            p = lexical(self._rule_of_succession(links, site), p)
        elif arm.good > 0.0 and arm.bad >= _VAIN * (arm.good + 1.0):
            p = lexical(self._pattern_rates(links, site), p)
        if self.params.hub_weight and self.hubs.is_ready:
            p = p + self.params.hub_weight * self.hubs.predict_prob(X) * (1.0 - p)
        return clipped(p)

    def _rule_of_succession(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return the chance of a first success after n fetches without one, 1 / (n + 2)."""
        shapes = site.history.shapes
        fetched = [
            shapes[of].fetched if of in shapes else 0.0 for of in map(site.patterns.resolve, links.patterns)
        ]
        vain = [self._vain.get(_shape(url), 0) for url in links.urls]
        return np.asarray(1.0 / (2.0 + np.maximum(fetched, vain)))

    def _pattern_rates(self, links: LinkBatch, site: SiteModel) -> Floats:
        """Return the success rates of URL patterns, by one fetch shrunk to the host's: (g + r) / (n + 1)."""
        arm, shapes = self.arm(site), site.history.shapes
        own = shrunk(arm.good, arm.good + arm.bad, 0.5, 2.0)
        of = list(map(site.patterns.resolve, links.patterns))
        rates = dict.fromkeys(of, own)
        for pattern in rates:
            if pattern in shapes:
                tried = shapes[pattern].total()
                rates[pattern] = shrunk(tried.reward, tried.fetched, own, 1.0)
        return np.array([rates[pattern] for pattern in of])

    def scores(self, site: SiteModel, probs: Floats) -> Floats:
        """Return the score of links of a site, (n,) float64 in [0, 1]: the decision without exploration."""
        arm = self.arm(site)
        function = self.params.value_function
        values = HOST_VALUES[function](arm.good, arm.bad, probs)
        return host_scores(function, np.broadcast_to(values, probs.shape).astype(np.float64), probs)

    def pulls(self, site: SiteModel, probs: Floats) -> Floats:
        """Return the value of buckets of a site: `scores`, or a drawn one if this decision explores."""
        if not self.hosts.explores(self.seq):
            return self.scores(site, probs)
        return lexical(uniform(self.hosts.seed, self.seq, [host_arm(site.name)]), probs)

    def arm(self, site: SiteModel) -> Arm:
        """Return what the bandit knows of a site."""
        return self.hosts.arms.get(host_arm(site.name)) or Arm()

    def of_links(self, links: LinkBatch, site: SiteModel) -> Features:
        """Return the features of links."""
        sources = [[source for source, _ in site.memory.contexts(key)] for key in links.keys]
        return link_features(links.urls, self.neighbours.counts(sources))

    def _of_page(self, page: FeedbackObservation | PageObservation) -> Features:
        return link_features([page.url], self.neighbours.counts([[source for source, _ in page.contexts]]))


def clipped(probs: Floats) -> Floats:
    """Return probabilities no nearer to 0 and 1 than the outermost steps."""
    return np.clip(probs, sigmoid(np.array(-EDGE)), sigmoid(np.array(EDGE)))


def _shape(url: str) -> int:
    return hash64("".join(url_tokens(url)[1:]))


_TOP_FEATURES = 5
"""Features named in an explanation: for people, chosen."""
_SITE_PATTERNS = 16
"""Newest patterns that the value of a site looks at; `RankSites` asks for many. Chosen, not measured."""
_BUCKET = re.compile("p([0-9]{1,18})")


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
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
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
        self.crawl_wide = HostCrawl(params, seed=seed)
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
