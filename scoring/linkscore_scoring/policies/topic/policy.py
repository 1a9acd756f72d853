"""Pages about what the crawl says it wants, in words; and what leads to them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.features.words import matching_words, text_hashes, url_hashes
from linkscore_scoring.policies.answers import NOTHING, CrawlKnowledge, PageNote
from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, Term
from linkscore_scoring.policies.topic.learning import (
    SITE,
    TUNED,
    Arm,
    ArmGains,
    ArmMeans,
    LinkSignals,
    Lists,
    TopicCrawl,
    UnseenLinks,
    gain_behind,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation
from linkscore_scoring.wanted import Wanted

_MAX_LINKS, _MAX_PAGES = 50_000, 5_000  # links and pages of a site whose words, or worth, are kept; bounds
_MAX_ANCHOR_WORDS = 32  # of all anchors that led to a page; a bound
_TOLD, _ARM = slice(1, 3), 4  # places of what anchor and URL say, and of the arm's mean, among the features
_SILENT = -1.0  # value of a link that says nothing while nothing is found: below that of any other
_ARMS_PER_BOUND = 3  # nodes for each arm a site may have: Link path, pattern and the arm itself
_BUCKET = re.compile(
    r"(?:w(?=[0-9]+\.[0-9a-f]+\.[0-4]{3})|(q))"  # of a topic or of a question
    r"([0-9]{1,18})\.([0-9a-f]{1,16})\.([0-9a-f])([0-9a-f])([0-4])(?:\.([0-9a-f]{1,16}))?"
)


class Key(NamedTuple):
    """What the score of a link goes by, and what its bucket says; `page` is the list it stands on, or 0."""

    arm: Arm
    signals: LinkSignals
    page: int = 0


@dataclass(slots=True)
class LinkWords:
    """What is remembered of a link that waits: words of its anchors, worth of the best page it stands on."""

    anchor: tuple[int, ...] = ()
    parent: float = 0.0


@dataclass(slots=True)
class JudgedPage:
    """What was learned from a page, so that feedback can take its place."""

    reward: float
    arms: list[Arm] = field(default_factory=list)
    features: list[float] = field(default_factory=list)
    lists: list[Arm] = field(default_factory=list)


class Topical(Policy):
    """Pages about the topic first, and pages that lead to many of them.

    The worth of a page is its relevance to what the crawl wants, BM25F by the crawl's own document
    frequencies, in [0, 1]; what feedback says instead, if it comes; without a query and samples text of its
    own. A link is worth w . x + gain + unknown: x = (1, share of the topic's words in the anchors, in the
    URL, relevance of the best page it stands on, mean worth of its arm and of its list), w by Bayesian
    regression from what was fetched; gain = what links of the arm were worth more for the links behind them;
    unknown = c o / (o + k) k / (k + n), n pages of its site and o of others. Score = (1 + v / (1 + |v|)) / 2;
    bucket = ``w<pattern>.<link path>.<quarters of anchor, URL, page>``, ``q`` for questions, and the page if
    its links are told apart as a list. Of questions, samples and several sites: the reference page.

    Shapes: n links in, (n,) float64 out. Cost: O(distinct buckets) a call and O(words of anchors and URLs);
    O(links + words) a page. References: BM25F, Zaragoza 2004; Rocchio 1971; Shark-Search, Hersovici 1998, for
    the signals; arm-acquiring bandits, Whittle 1981; optimism about sites of few pulls, Auer 2002, with a
    bound: by UCB1's logarithm a link to yet another host would come before all known ones.

    Examples
    --------
    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
    >>> crawl = SimulatedCrawl(crawl_model(PolicyChoice("topic")), GeneratedSite(seed=2)).fetch(60)
    >>> crawl.wanted_share() > 0.6
    True
    """

    name = "topic"
    takes_wanted = True
    reads_templates = False
    reads_words = True

    arms: Stored[ArmMeans]  # what links of an arm led to
    gains: Stored[ArmGains]
    lists: Stored[Lists]
    _links: Stored[dict[int, LinkWords]]
    _pages: Stored[dict[int, JudgedPage]]
    _wanted_digest: Stored[str]
    unseen: Stored[UnseenLinks]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.crawl_wide: CrawlKnowledge | None = TopicCrawl()
        self._latest: tuple[int, float | None] = (-1, None)
        self._forget()

    @property
    def crawl(self) -> TopicCrawl:
        """What is known of the crawl."""
        assert isinstance(self.crawl_wide, TopicCrawl)
        return self.crawl_wide

    def set_wanted(self, wanted: Wanted | None, site: SiteModel) -> None:
        """Crawl for this from now on; what arms earned for something else is forgotten."""
        self.crawl.set_wanted(wanted)
        if self.crawl.wanted_digest != self._wanted_digest:
            self._wanted_digest = self.crawl.wanted_digest
            self._forget()

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Learn what the page was worth, and what its links say."""
        if page.refetch:
            return
        for each in (self.arms, self.gains, self.unseen):
            each.max_arms = _ARMS_PER_BOUND * site.bounds.arms
        arms, lists = self._found_through(page, site)
        link = self._links.pop(page.requested, None) or self._links.pop(page.key, None) or LinkWords()
        signals = self._signals((), page.requested_url, link)
        features = self._features(arms, lists, signals)
        if page.words is not None:
            self.crawl.add(page, page.words)
        found = self._relevance(page)
        if found is None:  # its words are not known: its links count as those of a page like others
            self._take_links(page, site, float(features[_ARM]))
            return
        reward, self._latest = found, (page.seq, found)
        self._open_lists(page, site, signals, reward)
        self._credit_lists_of_samples(page, site)
        if self._unseen_worth() or not self.arms.pulls:  # of the first page before other sites are known
            fetched = site.memory.fetched_among(page.links.keys)
            self.unseen.credit(arms, len(set(page.links.keys) - fetched - self._links.keys()))
        if reward >= TUNED.found_relevance:
            self.crawl.is_found = True
            if not self.crawl.asks:
                self.unseen.end()
        behind = self._take_links(page, site, reward)
        if arms:
            self.crawl.weights.learn(features, reward)
        untold = reward * self._untold(features)
        self.crawl.pulls += 1
        self.crawl.reward += untold
        self.arms.credit(arms, untold)
        self.gains.credit(arms, gain_behind(reward, behind))
        for source, link_path in lists:
            self.lists.credit(source, link_path, reward)
        self._pages[page.key] = JudgedPage(reward, arms, features.tolist(), lists)
        drop_oldest(self._pages, min(_MAX_PAGES, site.bounds.links))

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let an outside reward replace the relevance of a page."""
        self.crawl.is_found |= event.reward >= TUNED.found_relevance
        page = self._pages.get(event.key)
        if page is None:
            folded = dict.fromkeys(site.link_paths.get(link_path).folded for _, link_path in event.contexts)
            arms = [(event.pattern, link_path) for link_path in folded]
            self.arms.credit(arms, event.reward)
            self.gains.credit(arms, 0.0)
            return
        change = event.reward - page.reward
        features = np.array(page.features)
        if page.arms:
            self.crawl.weights.revise(features, change)
        untold = change * self._untold(features)
        self.crawl.reward += untold
        self.arms.credit(page.arms, untold, pulls=0.0)
        for source, link_path in page.lists:
            self.lists.credit(source, link_path, change, pulls=0.0)
        page.reward = event.reward

    def page_note(self, page: PageObservation, site: SiteModel) -> PageNote:
        """Return how far a page observed before is wanted."""
        if self.crawl.wanted is None:
            return NOTHING
        seq, found = self._latest
        if seq != page.seq:
            known = self._pages.get(page.key)
            found = known.reward if known is not None else None
        return PageNote(relevance=found)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by arm and signals; links that are alike in both are equal."""
        keys = self._keys(links, site)
        distinct = {key: row for row, key in enumerate(dict.fromkeys(keys))}
        rows = [distinct[key] for key in keys]
        names = list(map(_bucket, distinct))
        return Scored(self._scores(list(distinct))[rows], [names[row] for row in rows])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of buckets; one of another policy is worth a link without any signal."""
        return self._scores(list(map(_key, buckets)))

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the words that counted, and what the link's like led to."""
        keys = self._keys(links, site)
        rows = zip(keys, links.urls, links.anchors, strict=True)
        return [self._explanation(key, url, anchor) for key, url, anchor in rows]

    def _relevance(self, page: PageObservation) -> float | None:
        """Return what a page is worth; None if its words would say so and are not known."""
        wanted = self.crawl.wanted
        if page.failed:
            return 0.0
        if (known := self.crawl.known_pages.get(page.key)) is not None:
            return known
        if wanted is None:
            return text_reward(page.own_chars)
        if page.words is None:
            return None
        topic = self.crawl.topic
        return text_reward(page.own_chars) if topic is None else topic.relevance(page.words)

    def _take_links(self, page: PageObservation, site: SiteModel, worth: float) -> list[float]:
        """Remember what the links of a page say; return what each page not fetched yet is expected worth."""
        fetched = site.memory.fetched_among(page.links.keys)
        links = page.links
        for key, anchor in zip(links.keys, links.anchors, strict=True):
            if key in fetched:
                continue
            known = self._links.setdefault(key, LinkWords())
            known.parent = max(known.parent, worth)
            if anchor and (more := text_hashes(anchor)) and not set(more) <= set(known.anchor):
                known.anchor = tuple(dict.fromkeys((*known.anchor, *more)))[:_MAX_ANCHOR_WORDS]
        drop_oldest(self._links, min(_MAX_LINKS, site.bounds.links))
        ways = [way for way in zip(links.keys, self._keys(links, site), strict=True) if way[0] not in fetched]
        distinct = list(dict.fromkeys(key for _, key in ways))
        values = dict(zip(distinct, self._expected(distinct).tolist(), strict=True))
        best: dict[int, float] = {}
        for target, found in ways:
            best[target] = max(best.get(target, values[found]), values[found])
        return list(best.values())

    def _open_lists(
        self, page: PageObservation, site: SiteModel, signals: LinkSignals, reward: float
    ) -> None:
        """Tell the links of a page apart that may be a list of what is wanted."""
        if signals.total() + reward < TUNED.list_signals:
            return
        fetched = site.memory.fetched_among(page.links.keys)
        waiting = {
            (key, link_path)
            for key, link_path in zip(page.links.keys, page.links.link_paths, strict=True)
            if key not in fetched
        }
        counts = Counter(site.link_paths.get(link_path).folded for _, link_path in waiting)
        for link_path in sorted(counts):
            if counts[link_path] >= TUNED.list_links:
                self.lists.open(page.key, link_path)

    def _credit_lists_of_samples(self, page: PageObservation, site: SiteModel) -> None:
        """Learn from links to sample pages, which need no fetch: what stands beside one may be like it."""
        known = self.crawl.known_pages
        ways = set(zip(page.links.keys, page.links.link_paths, strict=True)) if known else ()
        for target, link_path in sorted(way for way in ways if way[0] in known and way[0] != page.key):
            folded = site.link_paths.get(link_path).folded
            self.lists.open(page.key, folded)
            self.lists.credit(page.key, folded, known[target])

    def _keys(self, links: LinkBatch, site: SiteModel) -> list[Key]:
        folded = site.link_paths.folded(links.link_paths)
        nothing = LinkWords()
        keys = []
        for pattern, raw, link_path, target, url, anchor in zip(
            links.patterns, links.link_paths, folded, links.keys, links.urls, links.anchors, strict=True
        ):
            signals = self._signals(text_hashes(anchor), url, self._links.get(target, nothing))
            sources = [page for page, at in site.memory.contexts(target) if at == raw]
            keys.append(Key((pattern, link_path), signals, self.lists.best(sources, link_path)))
        return keys

    def _signals(self, anchor: Iterable[int], url: str, link: LinkWords) -> LinkSignals:
        topic = self.crawl.topic
        if topic is None:
            return LinkSignals(parent=round(4 * link.parent))
        named = max(topic.coverage(tuple(anchor)), topic.coverage(link.anchor))
        in_url = 1.0 if topic.is_named_by(url) else topic.coverage(url_hashes(url))
        return LinkSignals.of(named, in_url, link.parent, asked=self.crawl.asks)

    def _features(
        self, arms: Sequence[Arm], lists: Sequence[Arm], signals: LinkSignals
    ) -> NDArray[np.float64]:
        """Return the features of a link by the best of the ways it was found."""
        arm_mean = max((self.arms.mean(arm, self.crawl.mean) for arm in arms), default=self.crawl.mean)
        list_mean = max((self.lists.mean(*found, arm_mean) for found in lists), default=arm_mean)
        return signals.vector(arm_mean, list_mean, self.crawl.most_told)

    def _vector(self, key: Key) -> NDArray[np.float64]:
        return self._features([key.arm], [(key.page, key.arm[1])] if key.page else [], key.signals)

    def _expected(self, keys: Sequence[Key]) -> Scores:
        """Return what the pages behind links are worth, (n,): by signals, or by their list if more."""
        if not keys:
            return np.zeros(0)
        by_signals = np.stack([self._vector(key) for key in keys]) @ self.crawl.weights.mean
        return np.maximum(by_signals, np.fromiter(map(self._list_worth, keys), np.float64, len(keys)))

    def _list_worth(self, key: Key) -> float:
        """Return what the list of a link says alone, which a weight learned from all lists would drown.

        Only where sample pages say which lists are good: by relevance alone recall late in a crawl fell, see
        research/notebook/topic.md.
        """
        if not key.page or not self.crawl.known_pages:
            return -math.inf
        return TUNED.list_trust * self.lists.mean(key.page, key.arm[1], 0.0)

    def _gain(self, key: Key) -> float:
        said = key.signals.total()
        return self.gains.gain(key.arm) * min(1.0, TUNED.gain_floor + said)

    def _is_silent(self, key: Key) -> bool:
        """Say whether nothing tells a link from others: no signal, no gain, and nothing found to learn from.

        Such links come last, in the order found. Else one of each kind would be opened before any menu: what
        was tried brought nothing, so what was not tried looks better.
        """
        crawl = self.crawl
        told = self._elsewhere or key.signals.total() or self.gains.gain(key.arm) > 0.0
        return crawl.topic is not None and not (crawl.asks or crawl.is_found or crawl.known_pages or told)

    def _named(self, key: Key) -> float:
        return TUNED.named * key.signals.is_named

    def _unknown(self) -> float:
        """Return what a fetch is worth because other sites are known better; nothing in a crawl of one."""
        here, least, elsewhere = self.arms.pulls, TUNED.site_pulls, self._elsewhere
        share = elsewhere / (elsewhere + least) * least / (here + least)
        return TUNED.site_optimism * share

    @property
    def _elsewhere(self) -> float:
        """Pages judged on other sites of the crawl."""
        return max(0.0, self.crawl.pulls - self.arms.pulls)

    def _untold(self, features: NDArray[np.float64]) -> float:
        """Return the share of a page's worth that its arms have the credit for: what its link did not say.

        All of it in a crawl of one site, where words that lead to pages of an arm lead on to more of them.
        """
        return 1.0 if self.crawl.asks or not self._elsewhere else 1.0 - float(features[_TOLD].max())

    def _unseen_worth(self) -> float:
        """Return what links nobody has seen are worth at most, while something is to be found by them."""
        if self.crawl.asks and not self.crawl.is_found:
            return TUNED.unseen_worth
        ends = self.crawl.asks or self.unseen.has_ended or not self._elsewhere
        return 0.0 if ends else TUNED.site_optimism

    def _scores(self, keys: Sequence[Key]) -> Scores:
        values = self._expected(keys) + np.fromiter(map(self._gain, keys), np.float64, len(keys))
        values += self._unknown()
        values += np.fromiter((self._named(key) for key in keys), np.float64, len(keys))
        if most := self._unseen_worth():
            values += most * np.fromiter((self.unseen.share(key.arm) for key in keys), np.float64, len(keys))
        values[np.fromiter(map(self._is_silent, keys), np.bool_, len(keys))] = _SILENT
        return 0.5 * (1.0 + values / (1.0 + np.abs(values)))

    def _explanation(self, key: Key, url: str, anchor: str) -> Explanation:
        if self._is_silent(key):
            after = Term("silent", _SILENT, "it comes after links that say a word, in the order found")
            return Explanation("no word of the topic in anchor and URL, and nothing found yet", [after])
        topic, vector = self.crawl.topic, self._vector(key)
        terms = topic.terms if topic is not None else frozenset()
        words = {"anchor": matching_words(anchor, terms), "URL": matching_words(url, terms, is_url=True)}
        said = [f"{place} says {', '.join(found)}" for place, found in words.items() if found]
        if key.signals.anchor and not words["anchor"]:
            said.insert(0, "an anchor seen before says words of the topic")
        summary = "; ".join(said) or "no word of the topic in anchor and URL"
        parts = vector * self.crawl.weights.mean
        beyond = self._list_worth(key) - float(parts.sum())
        unseen = self._unseen_worth() * self.unseen.share(key.arm)
        at_times = (
            Term("named", self._named(key), "the URL has all words of a query"),
            Term("unseen", unseen, "how many unseen links pages like it showed"),
            Term("site", self._unknown(), "little is known of its site, beside the others of the crawl"),
            Term("alone", max(0.0, beyond), "what its list is worth by known pages, beyond the rest"),
        )
        return Explanation(
            f"{summary}; links like it led to pages worth {vector[_ARM]:.2f}",
            [
                Term("anchor", float(parts[1]), "share of the topic's words in the anchor, weighed"),
                Term("url", float(parts[2]), "share of the topic's words in the URL, weighed"),
                Term("page", float(parts[3]), "weight x relevance of the best page that has the link"),
                Term("arm", float(parts[4]), "mean worth of links of its URL pattern and tag path, weighed"),
                Term("list", float(parts[5]), "mean worth of its neighbours on the page, weighed"),
                Term("base", float(parts[0]), "what every link is worth"),
                Term("gain", self._gain(key), "what links like it gained by the links behind them"),
                *(term for term in at_times if term.value),
            ],
        )

    def _found_through(self, page: PageObservation, site: SiteModel) -> tuple[list[Arm], list[Arm]]:
        """Return the arms and the lists that a page was found through."""
        ways = [(source, site.link_paths.get(link_path).folded) for source, link_path in page.contexts]
        arms = dict.fromkeys((page.pattern, link_path) for _, link_path in ways)
        return list(arms), [way for way in dict.fromkeys(ways) if self.lists.is_open(*way)]

    def _forget(self) -> None:
        """Forget what pages were worth; the words of links that wait stay."""
        self.arms, self.gains, self.lists, self.unseen = ArmMeans(), ArmGains(), Lists(), UnseenLinks()
        self._pages = {}
        for link in self._links.values():
            link.parent = 0.0


def _bucket(key: Key) -> str:
    (pattern, link_path), signals, page = key
    of_list = f".{page:x}" if page else ""
    said = f"{signals.anchor:x}{signals.url:x}{signals.parent}"
    return f"{'q' if signals.asked else 'w'}{pattern}.{link_path:x}.{said}{of_list}"


def _key(bucket: str) -> Key:
    found = _BUCKET.fullmatch(bucket)
    if found is None:
        return Key(SITE, LinkSignals())
    asked, pattern, link_path, anchor, url, parent, page = found.groups()
    signals = LinkSignals(int(anchor, 16), int(url, 16), int(parent), asked is not None)
    return Key((int(pattern), int(link_path, 16)), signals, int(page or "0", 16))
