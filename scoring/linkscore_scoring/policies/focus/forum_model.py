"""All that is learned of the way from entry to threads on one site, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from linkscore_scoring.pagination.chains import PageChains
from linkscore_scoring.pagination.paged_urls import paged
from linkscore_scoring.policies.focus.certainty import UNCERTAIN, Certainty, certainty
from linkscore_scoring.policies.focus.entry import Candidate, EntrySearch
from linkscore_scoring.policies.focus.expressions import Expressions
from linkscore_scoring.policies.focus.links import LinkPlaces, Way, known_identity
from linkscore_scoring.policies.focus.paths import Paths, all_indexes, find_paths
from linkscore_scoring.policies.focus.votes import ANY, UNDECIDED, KindVotes, Shares
from linkscore_scoring.policies.focus.watch import PredictionWatch
from linkscore_scoring.site.config import SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD, LinkBatch, PageObservation
from linkscore_scoring.urls.pattern_tree import UrlPatternParams, UrlPatterns

_EARLY, _GROWTH = 32, 0.05
_PATTERNS = UrlPatternParams(max_values=24, min_count=8, min_share=0.01)
_PARTS = ("votes", "places", "entries", "watch", "threads", "expressions", "paths")
_FAILED: Shares = (0.0, 0.0, 0.5)


LinkRow = tuple[int, int, int, str]
"""URL pattern, folded Apath, identity hash and URL of a link."""


@dataclass(slots=True)
class SeenPage:
    """A page as the model takes it in: what it is, and which of its links turn pages."""

    shares: Shares
    flips: Sequence[int] = ()


class EitModel:
    """Votes, links, entry and way of one site; see the parts. Cost O(links) a page, O(ways) a review."""

    def __init__(self) -> None:
        self.patterns = UrlPatterns(_PATTERNS)
        self.votes = KindVotes(self.patterns)
        self.places = LinkPlaces()
        self.entries = EntrySearch()
        self.watch = PredictionWatch()
        self.paths = Paths()
        self.expressions = Expressions()
        self.threads = PageChains()
        self.dry: dict[int, int] = {}
        self.entry: Candidate | None = None
        self.certainty = UNCERTAIN
        self.pages = self.typed = self.relearned = self._reviewed = 0
        self._due = 1

    def take_bounds(self, bounds: SiteBounds) -> None:
        """Keep no more than a site may."""
        self.votes.max_nodes = 3 * bounds.arms
        self.places.max_patterns = bounds.arms
        self.threads.max_pages = bounds.links

    def fail(self, page: PageObservation, site: SiteModel) -> None:
        """Count a fetch without a page: half a vote that its pattern leads nowhere."""
        pattern = self.pattern_of(page.requested_url)
        self.votes.cast(pattern, _folded(page, site), _FAILED, copy=0.0)
        self._judge_prediction(pattern, None)

    def observe(self, page: PageObservation, seen: SeenPage, site: SiteModel) -> None:
        """Take in a page; one that comes again shows its links, and does not vote again."""
        self._insert(page)
        pattern = self.pattern_of(page.requested_url)
        self.pages += 1
        kind = _kind_of(seen.shares)
        if kind != UNDECIDED and not page.refetch:
            self.typed += 1
            self._judge_prediction(pattern, kind)
            self.votes.cast(pattern, _folded(page, site), seen.shares, copy=_copied(page))
        rows = self.link_rows(page.links, site)
        self.places.see(pattern, rows)
        for flipped, share in flip_shares(rows, seen.flips).items():
            self.votes.flip(flipped, kind, share)
        if not page.refetch:
            self._see_entry(page, pattern, rows)
            self._count_dry(page, pattern, rows)
        self.threads.see(page)
        changed = self.pages >= self._reviewed + self.pages // 50 and self._has_changed(pattern)
        if self.pages >= self._due or changed:
            self.review()

    def review(self) -> None:
        """Find the way anew; after every page at first, then after 5 % more pages or a change of mind."""
        self.votes.follow()
        self.places.follow(self.patterns.resolve)
        self.watch.follow(self.patterns.resolve)
        with self.votes.still():
            self.paths = find_paths(all_indexes(self.places, self.votes), self.places, self.votes)
            self.entry = self.entries.entry(self.n_index, self._is_listed)
            if self.entry is not None:
                root = self.patterns.resolve(self.entry.own)
                self.paths = find_paths([root], self.places, self.votes)
            self.expressions.learn(self.paths, self.places, self.votes)
            self.certainty = certainty(self)
        self.dry = {p: self.dry[p] for p in self.paths.index if p in self.dry}
        self._reviewed = self.pages
        self._due = self.pages + (1 if self.pages < _EARLY else int(_GROWTH * self.pages))

    def pattern_of(self, url: str) -> int:
        """Return the pattern of a URL in the tree of this model, whatever form it is written in."""
        return self.patterns.levels(known_identity(url))[-1]

    def link_rows(self, links: LinkBatch, site: SiteModel) -> list[LinkRow]:
        """Return (URL pattern, folded Apath, key, URL) of each link; O(n_links)."""
        folded = {a: site.apaths.get(a).folded for a in dict.fromkeys(links.apaths)}
        patterns = {url: self.pattern_of(url) for url in dict.fromkeys(links.urls)}
        columns = zip(links.apaths, links.keys, links.urls, strict=True)
        return [(patterns[url], folded[a], key, url) for a, key, url in columns]

    def _insert(self, page: PageObservation) -> None:
        for url, fresh in zip(page.links.urls, page.fresh, strict=True):
            if fresh:
                self.patterns.insert(known_identity(url))

    def type_of(self, pattern: int, apath: int, fits: int) -> int:
        """Return the type of URLs of a way; see `Paths.type_of`."""
        return self.paths.type_of(self.patterns.resolve(pattern), apath, fits)

    def is_exhausted(self, pattern: int, pages: int) -> bool:
        """Say whether the last so many index pages of a pattern showed no thread that was not known."""
        return pages > 0 and self.dry.get(self.patterns.resolve(pattern), 0) >= pages

    def thread_of(self, page: PageObservation) -> str:
        """Return the identity of the first page of a thread page's thread; empty for other pages."""
        judged = self.votes.judge(self.pattern_of(page.requested_url), ANY)
        if judged.likely != THREAD and not self.votes.is_copied(self.pattern_of(page.requested_url)):
            return ""
        return known_identity(self.threads.first_page(page.key) or page.url)

    def is_entry(self, page: PageObservation) -> bool:
        """Say whether a page is the entry."""
        return self.entry is not None and known_identity(self.entry.url) in (
            page.requested_url,
            known_identity(page.url),
        )

    def _has_changed(self, pattern: int) -> bool:
        """Say whether a pattern is no longer what it was at the last review."""
        before = self.paths.type_of(pattern, ANY, 0)
        kind = self.votes.judge(pattern, ANY).kind
        return kind not in (UNDECIDED, before) and before != PAGE_FLIP

    def _count_dry(self, page: PageObservation, pattern: int, rows: Sequence[LinkRow]) -> None:
        """Count pages of an index pattern in a row that show no thread for the first time."""
        if pattern not in self.paths.index or pattern in self.paths.flips:
            return
        match, fresh = self.expressions.match, compress(rows, page.fresh)
        news = any(self.type_of(p, a, match(known_identity(url))) == THREAD for p, a, _, url in fresh)
        self.dry[pattern] = 0 if news else self.dry.get(pattern, 0) + 1

    def _judge_prediction(self, pattern: int, kind: int | None) -> None:
        """Compare a page with what its pattern was taken for; forget a pattern that has changed."""
        expected = self.votes.judge(pattern, ANY).kind
        if expected in (INDEX, THREAD) and self.watch.add(pattern, surprise=kind != expected):
            self.typed = max(0, self.typed - int(self.votes.pages(pattern)))
            self.votes.drop(pattern)
            self.relearned += 1
            self._due = self.pages

    def _see_entry(self, page: PageObservation, own: int, rows: Sequence[LinkRow]) -> None:
        targets = {key: url for _, _, key, url in rows if key != page.key}
        ways: dict[Way, int] = {}
        for pattern, apath, _ in dict.fromkeys(row[:3] for row in rows):
            ways[pattern, apath] = ways.get((pattern, apath), 0) + 1
        self.entries.see((page.requested, page.key), page.url, targets, ways, own)

    def n_index(self, ways: Mapping[Way, int]) -> int:
        """Return how many distinct index URLs are among links, counted by way."""
        resolve = self.patterns.resolve
        return sum(n for (p, a), n in ways.items() if self.votes.judge(resolve(p), a).kind == INDEX)

    def _is_listed(self, pattern: int) -> bool:
        pattern = self.patterns.resolve(pattern)
        judged = self.votes.judge(pattern, ANY).kind
        return judged == THREAD or (judged == INDEX and self.votes.pages(pattern) >= 3)

    def to_state(self) -> dict[str, Any]:
        """Return the model as plain values."""
        return {
            "patterns": self.patterns.to_state(),
            **{name: getattr(self, name).to_state() for name in _PARTS},
            "counts": [self.pages, self.typed, self.relearned, self._due, self._reviewed],
            "entry": self.entry.url if self.entry is not None else "",
            "dry": list(self.dry.items()),
            "certainty": [self.certainty.ready, self.certainty.text],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the model of `to_state`; what a review finds is found again."""
        self.patterns = UrlPatterns.from_state(state["patterns"], _PATTERNS)
        self.votes.patterns = self.patterns
        for name in _PARTS:
            getattr(self, name).load_state(state[name])
        counts = map(int, state["counts"])
        self.pages, self.typed, self.relearned, self._due, self._reviewed = counts
        self.entry = self.entries.named(str(state["entry"]))
        self.dry = {int(pattern): int(pages) for pattern, pages in state["dry"]}
        ready, text = state["certainty"]
        self.certainty = Certainty(bool(ready), str(text))


def flip_shares(rows: Sequence[LinkRow], flips: Sequence[int]) -> dict[int, float]:
    """Return the share of its distinct URLs on a page that turn pages, by URL pattern.

    Links back to a first page, whose URL names no page, do not count: they are those of the list itself.
    """
    turning = {
        (row[0], row[2])
        for row, flip in zip(rows, flips, strict=False)
        if flip and paged(row[3]).number is not None
    }
    every = dict.fromkeys((row[0], row[2]) for row in rows)
    shares: dict[int, list[int]] = {}
    for link in every:
        shares.setdefault(link[0], []).append(link in turning)
    return {pattern: sum(turns) / len(turns) for pattern, turns in shares.items()}


def _folded(page: PageObservation, site: SiteModel) -> list[int]:
    return [site.apaths.get(apath).folded for _, apath in page.contexts]


def _copied(page: PageObservation) -> float:
    """Return how far a page only repeats its canonical form; less if it came first with text of its own."""
    if not page.is_copy:
        return 0.0
    return 1.0 if page.own_chars < 0.5 * page.long_chars or not page.long_chars else 0.5


def _kind_of(shares: Shares) -> int:
    best = max(range(3), key=shares.__getitem__)
    return (INDEX, THREAD, OTHER)[best] if shares[best] > 0.0 else UNDECIDED
