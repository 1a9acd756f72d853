"""What `topic` learns: of the crawl, words and what signals of a link are worth; of a site, its arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import drop_oldest, shrunk
from linkscore_scoring.features.types import PageWords
from linkscore_scoring.hashing import hash64
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import PageObservation
from linkscore_scoring.wanted import (
    SAMPLES_WEIGHT,
    Topic,
    Wanted,
    WordCounts,
    expansion_of,
    is_question,
    telling_words,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """Weights, pulls and gains are those of a simulator tried on the dev half of the tasks of `make wanted`
    (research/notebook/topic.md); precisions, `sign_power`, `list_trust`, optimism and what is
    said of pages found were chosen on that half
    itself, of a few values; what is said of questions on the first half of research/notebook/questions.md;
    what says when a page is a list was chosen, not measured.
    """

    # what a link is expected to be worth by each feature of `LinkSignals.vector`, before any page
    prior_weights: tuple[float, ...] = (0.0, 0.6, 0.3, 0.2, 0.3, 0.0)
    # pages by which half of that is believed, if they have nothing but this feature, > 0
    prior_precisions: tuple[float, ...] = (5.0, 10.0, 10.0, 10.0, 10.0, 10.0)
    prior_mean: float = 0.1  # worth of a page of a crawl nothing is known of, in [0, 1]
    parent_pulls: float = 2.0  # pseudo-pulls of the node above an arm, > 0
    gain_decay: float = 0.9  # share of earlier gains kept a pull, in (0, 1]
    gain_links: int = 20  # best links of a page that its gain is computed from, >= 1
    # how much of its arm's gain a link without any signal gets, in [0, 1]; signals add to it
    gain_floor: float = 0.3
    # site_optimism, site_pulls: what it is worth at most that a site is hardly known while others are, and as
    # much that a page of it shows links nobody has seen, until a page of it is surely relevant, >= 0; and the
    # pages of the site, or of others, at which the former is half of that, > 0
    site_optimism: float = 0.4
    site_pulls: float = 8.0
    # power of the share of the topic's words that anchor or URL say, > 0: one of two words says little
    sign_power: float = 2.0
    # told_words, least_told: words of a question that an anchor or URL is hoped to say, >= 1: of a longer one
    # as many tell all, but never less than this share, in (0, 1]
    told_words: int = 3
    least_told: float = 0.5
    # unseen_worth, unseen_half: what it is worth at most that a page shows links nobody has seen, until a
    # page found surely answers a question, >= 0, and how many such links make half of that, or of
    # `site_optimism`, > 0
    unseen_worth: float = 0.2
    unseen_half: float = 30.0
    # what a link is worth, in mean worth of the links of its list alone, if sample pages are known, >= 0
    list_trust: float = 0.8
    found_relevance: float = 0.7  # what a page must be worth to be surely relevant, in [0, 1]
    # what it is worth that a URL says all words of a query, >= 0: more than all else together
    named: float = 2.0
    # signals of its own link, and relevance, together, from which on a page may be a list
    list_signals: float = 0.5
    list_links: int = 3  # links at one link path of a page, not fetched yet, that make a list, >= 1
    max_lists: int = 200  # lists told apart, the latest: a bound of what RankBuckets is asked about


TUNED = Tunables()

Arm = tuple[int, int]
"""URL pattern and folded link path of a link; -1 in place of one stands for all."""

ANY = -1
"""Stands for all; real numbers begin at 0."""
SITE: Arm = (ANY, ANY)

_FINE = 15  # steps of what a link says of a question: as many as a hexadecimal digit of a bucket tells

# Expansion words are chosen anew after each of the first pages, then every so many: idf settles soon.
_EACH, _EVERY = 16, 32  # pages; chosen, not measured


class ArmMeans(Stateful):
    """Mean of what pages brought, by arm; shrunk along site -> link path -> pattern -> arm."""

    _means: Stored[dict[Arm, list[float]]]  # pages, and what they brought
    max_arms = 60_000  # a bound: 3 for each of 20,000 arms, a site's own replaces it

    def credit(self, arms: Sequence[Arm], brought: float, *, pulls: float = 1.0) -> None:
        """Count a page found through some arms; with no pull, what one counted before brought besides."""
        for node in dict.fromkeys(node for arm in arms or [SITE] for node in nodes(arm)):
            if pulls or node in self._means:
                # What is credited goes to the end, so that at the bound the site itself is never dropped.
                counts = self._means[node] = self._means.pop(node, [0.0, 0.0])
                counts[0] += pulls
                counts[1] += brought
        drop_oldest(self._means, self.max_arms)

    def mean(self, arm: Arm, prior: float) -> float:
        """Return the shrunk mean of an arm; `prior` is that of a site nothing is known of."""
        for node in nodes(arm):
            if (counts := self._means.get(node)) is not None:
                prior = shrunk(counts[1], counts[0], prior, TUNED.parent_pulls)
        return prior

    @property
    def pulls(self) -> float:
        """Pages of the site that were credited."""
        return self._means.get(SITE, (0.0, 0.0))[0]


class UnseenLinks(ArmMeans):
    """Mean number of unseen links of a page, by arm.

    Any of them may say the words of a question, or of a topic, that no link said so far, so a list is worth
    opening for how many it shows, however little it says itself.

    Examples
    --------
    >>> unseen = UnseenLinks()
    >>> for _ in range(8):
    ...     unseen.credit([(1, 2)], 60)
    ...     unseen.credit([(1, 3)], 0)
    >>> round(unseen.share((1, 2)), 2), round(unseen.share((1, 3)), 2), round(unseen.share((4, 5)), 2)
    (0.65, 0.15, 0.47)
    """

    @property
    def has_ended(self) -> bool:
        """Whether no page counts any more."""
        return self._means.get(SITE) == [0.0, 0.0]

    def end(self) -> None:
        """Let no page count any more: something that is wanted is found."""
        self._means = {SITE: [0.0, 0.0]}

    def share(self, arm: Arm) -> float:
        """Return how much of what unseen links are worth at most is behind a link of an arm, in [0, 1)."""
        links = self.mean(arm, 0.0)
        return links / (links + TUNED.unseen_half)


class ArmGains(Stateful):
    """What links of an arm gained by the links behind them; forgotten slowly, as what is there runs out."""

    _gains: Stored[dict[Arm, list[float]]]
    max_arms = 60_000  # a bound: 3 for each of 20,000 arms, a site's own replaces it

    def credit(self, arms: Sequence[Arm], gain: float) -> None:
        """Count how much more a page found through some arms is worth for the links on it."""
        keep = TUNED.gain_decay
        for arm in arms:
            n, gained = self._gains.get(arm, (0.0, 0.0))
            self._gains[arm] = [keep * n + 1.0, keep * gained + gain]
        drop_oldest(self._gains, self.max_arms)

    def gain(self, arm: Arm) -> float:
        """Return what links of an arm gain, shrunk to nothing."""
        n, gain = self._gains.get(arm, (0.0, 0.0))
        return shrunk(gain, n, 0.0, TUNED.parent_pulls)


@dataclass(frozen=True, slots=True)
class LinkSignals:
    """What is seen of a link before it is fetched."""

    # anchor, url: share of the topic's words that they say: its power `Tunables.sign_power` in quarters 0..4;
    # of a question the share itself in fifteenths 0..15, or the little that most links say would be nothing
    anchor: int = 0
    url: int = 0
    parent: int = 0  # relevance of the best page it stands on, in quarters 0..4
    asked: bool = False  # whether it is of a question

    @property
    def is_named(self) -> bool:
        """Whether the URL says all words of a query."""
        return self.url == (_FINE if self.asked else 4)

    @classmethod
    def of(cls, anchor: float, url: float, parent: float, *, asked: bool) -> LinkSignals:
        """Return what is seen of a link, of a topic or of a question."""
        steps, power = (_FINE, 1.0) if asked else (4, TUNED.sign_power)
        return cls(round(steps * anchor**power), round(steps * url**power), round(4 * parent), asked)

    def vector(self, arm_mean: float, list_mean: float, most: float = 1.0) -> NDArray[np.float64]:
        """Return the features of a link: 1, the signals in [0, 1], and what its arm and its list earned.

        What a question is told counts against `most`, the share hoped for.
        """
        return np.array([1.0, *self._told(most), self.parent / 4, arm_mean, list_mean])

    def total(self) -> float:
        """Return all signals together, in [0, 3]."""
        return sum(self._told(1.0)) + self.parent / 4

    def _told(self, most: float) -> tuple[float, float]:
        if not self.asked:
            return self.anchor / 4, self.url / 4
        anchor, url = (min(1.0, said / _FINE / most) ** TUNED.sign_power for said in (self.anchor, self.url))
        return anchor, url


class SignalWeights(Stateful):
    """What each signal of a link says of the page behind it: Bayesian linear regression, conjugate prior.

    Source: Bishop, Pattern Recognition and Machine Learning, 2006, eq. 3.50 and 3.51, noise precision 1.
    The prior mean is what signals are worth on most sites, so that the first page is ordered well already.

    Examples
    --------
    >>> weights = SignalWeights()
    >>> likes_anchor = LinkSignals(anchor=4).vector(0.0, 0.0)
    >>> before = weights.mean @ likes_anchor
    >>> for _ in range(50):
    ...     weights.learn(likes_anchor, 0.0)
    >>> print(round(before, 2), weights.mean @ likes_anchor < 0.1)
    0.6 True
    """

    precision: Stored[NDArray[np.float64]]
    moment: Stored[NDArray[np.float64]]

    def __init__(self) -> None:
        self.precision = np.diag(np.array(TUNED.prior_precisions))
        self.moment = self.precision @ np.array(TUNED.prior_weights)
        self._mean: NDArray[np.float64] | None = None

    def learn(self, x: NDArray[np.float64], y: float) -> None:
        """Take in that a link with the features `x` led to a page worth `y`."""
        self.precision = self.precision + np.outer(x, x)
        self.revise(x, y)

    def revise(self, x: NDArray[np.float64], change: float) -> None:
        """Take in that a page learned before is worth so much more."""
        self.moment = self.moment + x * change
        self._mean = None

    @property
    def mean(self) -> NDArray[np.float64]:
        """Posterior mean of the weights."""
        mean = self._mean
        if mean is None:
            mean = self._mean = np.linalg.solve(self.precision, self.moment).astype(np.float64)
        return mean


class TopicCrawl(Stateful):
    """What is known of all sites of a crawl together.

    `asks`: whether all queries are questions.
    `most_told`: share of the words of the shortest question that an anchor or URL is hoped to say; 1 of a
    topic.
    `known_pages`: what sample pages are worth, by hash of their identity: 1, or 0 if not wanted.
    """

    counts: Stored[WordCounts]  # how common words are
    weights: Stored[SignalWeights]  # what signals of links are worth
    # pulls, reward: pages judged, and what they were worth together
    pulls: Stored[int]
    reward: Stored[float]
    samples: Stored[dict[str, PageWords]]  # words of pages given by URL and fetched since, by identity
    expansion: Stored[dict[int, float]]  # words that samples add to the query
    is_found: Stored[bool]  # whether a page is surely relevant
    wanted_digest: Stored[str]

    def __init__(self) -> None:
        self.wanted: Wanted | None = None
        self.known_pages: dict[int, float] = {}
        self.asks, self.most_told = False, 1.0
        self.counts = WordCounts()
        self._topic: Topic | None = None
        self._forget()

    def set_wanted(self, wanted: Wanted | None) -> None:
        """Crawl for this from now on; what was learned for something else is forgotten, word counts stay."""
        if wanted is self.wanted:  # every site of the crawl says so once
            return
        named = f"{hash64(repr(wanted)):016x}" if wanted is not None else ""
        if named != self.wanted_digest:
            self._forget()
            self.wanted_digest = named
            self.wanted = wanted
            self._expand()
        self.wanted, self._topic = wanted, None
        queries, samples = (wanted.queries, wanted.samples) if wanted is not None else ((), ())
        self.known_pages = {hash64(one.key): float(not one.unwanted) for one in samples if one.key}
        self.asks, self.most_told = bool(queries) and all(map(is_question, queries)), 1.0
        if self.asks:
            words = min(len(set(telling_words(query))) for query in queries)
            self.most_told = max(TUNED.least_told, min(1.0, TUNED.told_words / words))

    @property
    def topic(self) -> Topic | None:
        """What is wanted, weighed by today's counts; None if nothing is wanted in words."""
        if self._topic is None and self.wanted is not None:
            weight = SAMPLES_WEIGHT if self.wanted.queries else 1.0
            self._topic = Topic(self.wanted, self.counts, self.expansion, weight)
        return self._topic if self._topic is not None and self._topic.facets else None

    @property
    def mean(self) -> float:
        """What a page is worth on average, shrunk to the prior."""
        return shrunk(self.reward, self.pulls, TUNED.prior_mean, 1.0)

    def add(self, page: PageObservation, words: PageWords) -> None:
        """Count the words of a page; one that is a sample is learned from."""
        self.counts.add(words)
        n, wanted = self.counts.pages, self.wanted
        if wanted is not None and wanted.samples:
            asked = {sample.key for sample in wanted.samples if sample.key and sample.words is None}
            for key in asked & {page.requested_url, page.url}:
                self.samples[key] = words
            if n <= _EACH or n % _EVERY == 0:
                self._expand()
        self._topic = None

    def _expand(self) -> None:
        """Let words of samples add to the query, by weights that are below 0 of those not wanted."""
        # Beside a query, pages whose URL is known teach by the links to them: their words blur it. Measured
        # on the dev half of research/notebook/topic.md.
        wanted = self.wanted
        given = [s for s in wanted.samples if not (wanted.queries and s.key)] if wanted is not None else []
        known = [(sample, sample.words or self.samples.get(sample.key)) for sample in given]
        weighed = [(-1.0 if s.unwanted else 1.0, words) for s, words in known if words is not None]
        self.expansion = expansion_of(weighed, self.counts)

    def _forget(self) -> None:
        self.weights = SignalWeights()
        self.pulls, self.reward = 0, 0.0
        self.samples, self.expansion, self.is_found = {}, {}, False
        self._topic = None


class Lists(Stateful):
    """Pages whose links are told apart from those of other pages: what those were worth, by link path.

    A list of pages by tag or category shows nothing of the topic in its links, and yet all of them are about
    it, or none. Only pages that may be such lists are here, the latest of them.

    Examples
    --------
    >>> lists = Lists()
    >>> lists.open(page=7, link_path=1)
    >>> lists.credit(7, 1, 1.0), lists.credit(8, 1, 1.0)
    (None, None)
    >>> round(lists.mean(7, 1, 0.1), 2), lists.mean(8, 1, 0.1)
    (0.4, 0.1)
    """

    _lists: Stored[dict[Arm, list[float]]]

    def open(self, page: int, link_path: int) -> None:
        """Tell the links of a page at a link path apart from now on."""
        self._lists.setdefault((page, link_path), [0.0, 0.0])
        drop_oldest(self._lists, TUNED.max_lists)

    def is_open(self, page: int, link_path: int) -> bool:
        """Say whether links of a page at a link path are told apart."""
        return (page, link_path) in self._lists

    def best(self, pages: Sequence[int], link_path: int) -> int:
        """Return the page of the best list at a link path out of some, 0 without one."""
        found = [page for page in pages if (page, link_path) in self._lists]
        return max(found, key=lambda page: self.mean(page, link_path, 0.0), default=0)

    def credit(self, page: int, link_path: int, reward: float, *, pulls: float = 1.0) -> None:
        """Count what a link of a list led to; with no pull, what it is worth more than was counted."""
        if (counts := self._lists.get((page, link_path))) is not None:
            counts[0] += pulls
            counts[1] += reward

    def mean(self, page: int, link_path: int, prior: float) -> float:
        """Return the mean worth of a list's links, shrunk to `prior`, what their arm is worth."""
        n, reward = self._lists.get((page, link_path), (0.0, 0.0))
        return shrunk(reward, n, prior, TUNED.parent_pulls)


def gain_behind(reward: float, links: Sequence[float]) -> float:
    """Return how much more a fetch is worth than its page, if the best links on it are fetched too.

    max over n of (r + v1 + ... + vn) / (1 + n) - r, over the best links: the index of an arm that brings new
    arms (Whittle 1981).

    Examples
    --------
    >>> gain_behind(0.0, [0.1, 1.0, 1.0]), gain_behind(1.0, [0.5])
    (0.6666666666666666, 0.0)
    """
    best = total = reward
    for n, value in enumerate(sorted(links, reverse=True)[: TUNED.gain_links], 1):
        total += value
        best = max(best, total / (1 + n))
    return best - reward


def nodes(arm: Arm) -> tuple[Arm, ...]:
    """Return what an arm is part of, the site first and itself last."""
    return SITE, (ANY, arm[1]), (arm[0], ANY), arm
