"""The way from the entry of a forum over its indexes to its threads: links by place, and a walk over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from linkscore_scoring.columns import left_sum, shrunk
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD
from linkscore_scoring.urls.pattern_tree import UrlPatterns

SAMPLES = 24
"""URLs kept of each pattern, to learn expressions from and to ask for; a bound."""

LinkGroup = tuple[int, int]
"""Links of one place: URL pattern of the target, folded link path of the link."""


class LinkTable(Stateful):
    """Links of fetched pages, pooled over the pages of one URL pattern; and some URLs of every pattern."""

    groups: Stored[dict[int, dict[LinkGroup, None]]]  # of the links on pages of each pattern
    samples: Stored[dict[int, dict[int, str]]]  # URLs of each pattern by identity hash, those found first

    max_patterns = 5_000  # patterns kept; a bound, a site's own replaces it

    def see(self, source: int, rows: Iterable[tuple[int, int, int, str]]) -> None:
        """Take in the links of a page of pattern `source`: rows (pattern, link path, hash, URL); O(n)."""
        if source not in self.groups and len(self.groups) >= self.max_patterns:
            return
        groups = self.groups.setdefault(source, {})
        for pattern, link_path, target, url in rows:
            if (pattern, link_path) in groups or len(groups) < self.max_patterns:
                groups[pattern, link_path] = None
            if pattern in self.samples or len(self.samples) < self.max_patterns:
                kept = self.samples.setdefault(pattern, {})
                if len(kept) < SAMPLES:
                    kept.setdefault(target, url)

    def merge_patterns(self, resolve: Callable[[int], int]) -> None:
        """Move what is known of patterns that were generalised to what stands for them now."""
        for source in [source for source in self.groups if resolve(source) != source]:
            into = self.groups.setdefault(resolve(source), {})
            into.update(self.groups.pop(source))
        for groups in self.groups.values():
            for pattern, path in [group for group in groups if resolve(group[0]) != group[0]]:
                del groups[pattern, path]
                groups[resolve(pattern), path] = None
        for pattern in [pattern for pattern in self.samples if resolve(pattern) != pattern]:
            kept = self.samples.setdefault(resolve(pattern), {})
            for target, url in self.samples.pop(pattern).items():
                if len(kept) < SAMPLES:
                    kept[target] = url


@dataclass(slots=True)
class ForumPaths:
    """What lies on the way from entry over indexes to threads (Jiang 2013, EIT path) by the last review."""

    # URL patterns to follow, each with the pages its kind was decided by.
    index: dict[int, float] = field(default_factory=dict)
    thread: dict[int, float] = field(default_factory=dict)
    # Type of the URLs of every link group that was met; `UNDECIDED` of those nobody knows yet.
    types: dict[LinkGroup, int] = field(default_factory=dict)
    # Patterns, in order, of pages whose links count: those in `index`, and where the search began.
    crossed: dict[int, None] = field(default_factory=dict)
    # Patterns whose own pages say that they are neither index nor thread.
    off: dict[int, None] = field(default_factory=dict)
    # Patterns that turn pages.
    page_links: dict[int, None] = field(default_factory=dict)

    def type_of(self, pattern: int, link_path: int, fits: int) -> int:
        """Return the type of URLs of a link group, `UNDECIDED` for one that should be tried, OTHER off the
        way."""
        known = self.types.get((pattern, link_path))
        if known not in (None, UNDECIDED):
            return int(known or 0)
        if known is None and (pattern in self.index or pattern in self.thread):
            is_thread = self.thread.get(pattern, -1.0) > self.index.get(pattern, -1.0)
            return PAGE_FLIP if pattern in self.page_links else THREAD if is_thread else INDEX
        if fits and pattern not in self.off:
            return fits
        return OTHER if known is None else UNDECIDED


def find_paths(roots: Iterable[int], links: LinkTable, votes: KindVotes) -> ForumPaths:
    """Walk from the patterns of the roots over those of indexes; cost O(link groups)."""
    found = ForumPaths(crossed=dict.fromkeys(roots))
    waiting = list(found.crossed)
    while waiting:
        source = waiting.pop()
        for group in links.groups.get(source, ()):
            counts = source in found.crossed or votes.turns_pages(group[0])
            if counts and _step(group, votes.estimate(*group), found, votes):
                waiting.append(group[0])
    return found


def _step(group: LinkGroup, estimate: KindEstimate, found: ForumPaths, votes: KindVotes) -> bool:
    """Note a link group; say whether the pages behind it are to be crossed for the first time."""
    pattern, kind = group[0], estimate.kind
    turns_pages = votes.turns_pages(pattern)
    if turns_pages:
        found.page_links[pattern] = None
    if kind == OTHER and votes.pages(pattern):
        found.off[pattern] = None
    found.types[group] = PAGE_FLIP if turns_pages and kind in (INDEX, THREAD) else kind
    if kind == THREAD:
        is_new = pattern not in found.thread and pattern not in found.crossed
        found.thread[pattern] = votes.pages(pattern)
        return is_new
    if kind == INDEX:
        found.index[pattern] = votes.pages(pattern)
    elif kind != UNDECIDED or not votes.pages(pattern) or estimate.likely != INDEX:
        return False
    is_new = pattern not in found.crossed
    found.crossed[pattern] = None
    return is_new


ANY, ABOVE = -1, -2
"""In place of a link path: pages of a pattern whatever led to them; pages of the patterns below it."""

UNDECIDED = 0
"""No kind yet; the others are `KINDS`."""

KINDS = (INDEX, THREAD, OTHER)
Node = tuple[int, int]
Shares = tuple[float, float, float]
"""Probabilities of INDEX, THREAD and OTHER."""

_COPIES, _PAGES = 3, 4  # columns of a node's counts, after one for each of `KINDS`
_EVEN = 1.0 / len(KINDS)

# Chosen on the stored forums, Q&A site and blog with labels for page types, a tenth of them wrong
# (research/notebook/focus.md), together and not one by one.
# share of pages that are copies, and pages, from which a pattern is copied
_COPY_SHARE, _COPY_PAGES = 0.6, 2.5
_ENOUGH, _FINAL = 2.0, 10.0  # votes from which a kind may be decided, and is decided by the largest share
_SURE, _SURE_UNSEEN = 0.6, 0.8  # probability that decides; of a pattern none of whose pages was fetched
_PAGE_LINK_VOTES = 1.5  # most votes that page links give to the kind of page they stand on; least of them
_PAGE_LINK_SHARE = 0.4  # of pages on which links of a pattern must turn pages
_ONE_PAGE_LINK = 0.9  # page links, in pages, that are a sign of paging at all: one page that is sure enough
# most support from pages beside a pattern, and what each of them gives
_GROUP_VOTES, _GROUP_SHARE = 2.0, 0.25
_PARENT, _PATTERN = 1.0, 2.0  # pseudo-votes of the node above; of the pattern, for one of its link groups


@dataclass(frozen=True, slots=True)
class KindEstimate:
    """What links of one pattern and place lead to: kind (`UNDECIDED` if open), probability, support."""

    kind: int
    prob: float
    support: float
    likely: int


class KindVotes(Stateful):
    """Page types of fetched pages, counted for the link groups that led to them.

    Jiang 2013, section 4.3.1 (majority over the destinations of one link group of one page).
    """

    _nodes: Stored[dict[Node, list[float]]]
    _page_links: Stored[dict[int, list[float]]]

    max_nodes = 60_000  # nodes kept; a bound: 3 for each of 20,000 arms, a site's own replaces it

    def __init__(self, patterns: UrlPatterns) -> None:
        self.patterns = patterns

    def cast(self, pattern: int, link_paths: Iterable[int], shares: Shares, *, copy: float) -> None:
        """Count a page for every link group that led to it."""
        found = dict.fromkeys(link_paths)
        nodes = [(above, ABOVE) for above in self.patterns.above(pattern)]
        nodes += [
            (pattern, ANY),
            *((ANY, link_path) for link_path in found),
            *((pattern, link_path) for link_path in found),
        ]
        for node in nodes:
            counts = self._nodes.setdefault(node, [0.0] * 5)
            for at, share in enumerate(shares):
                counts[at] += share
            counts[_COPIES] += copy
            counts[_PAGES] += 1.0
        if len(self._nodes) > self.max_nodes:
            self._forget()

    def count_page_links(self, pattern: int, kind: int, share: float) -> None:
        """Count a page of a kind with links of a pattern, of which a share turn its pages."""
        if pattern in self._page_links or (share and len(self._page_links) < self.max_nodes):
            counts = self._page_links.setdefault(pattern, [0.0, 0.0, 0.0])
            counts[2] += 1.0
            if share and kind in (INDEX, THREAD):
                counts[KINDS.index(kind)] += share

    def pages(self, pattern: int) -> float:
        """Return the pages of a pattern that voted."""
        return self._nodes.get((pattern, ANY), [0.0] * 5)[_PAGES]

    def is_copied(self, pattern: int) -> bool:
        """Say whether the pages of a pattern mostly repeat others, as permalinks do."""
        counts = self._nodes.get((pattern, ANY))
        return bool(
            counts
            and counts[_PAGES] >= _COPY_PAGES
            and counts[_COPIES] >= _COPY_SHARE * counts[_PAGES]
            and not self.turns_pages(pattern)
        )

    def turns_pages(self, pattern: int) -> bool:
        """Say whether links of a pattern turn pages: at least two of them, and half of all."""
        index, thread, pages = self._page_links.get(pattern, (0.0, 0.0, 0.0))
        return index + thread >= max(_PAGE_LINK_VOTES, _PAGE_LINK_SHARE * pages)

    def n_page_links(self) -> int:
        """Return how many patterns turned pages of indexes or threads, be it on one page."""
        rows = self._page_links.values()
        return sum(
            index + thread >= max(_ONE_PAGE_LINK, _PAGE_LINK_SHARE * pages) for index, thread, pages in rows
        )

    def estimate(self, pattern: int, link_path: int) -> KindEstimate:
        """Return what links of a pattern at a link path lead to; `ANY` for a link path that is not known."""
        if self.is_copied(pattern):
            return KindEstimate(OTHER, 1.0, self.pages(pattern), OTHER)
        place = self._mean((ANY, link_path), [_EVEN] * 3, _PARENT) if link_path != ANY else [_EVEN] * 3
        page_links = self._page_links.get(pattern, [])[:2] if self.turns_pages(pattern) else []
        for above in self.patterns.above(pattern):
            place = self._mean((above, ABOVE), place, _PARENT)
        if page_links:
            place = _with_page_links(place, page_links)
        whole = self._mean((pattern, ANY), place, _PARENT)
        shares = self._mean((pattern, link_path), whole, _PATTERN) if link_path != ANY else whole
        support = self._support(pattern, link_path) + (min(_PAGE_LINK_VOTES, left_sum(page_links)))
        best = max(range(3), key=shares.__getitem__)
        sure = _SURE if page_links or (pattern, ANY) in self._nodes else _SURE_UNSEEN
        decided = support >= _FINAL or (support >= _ENOUGH and shares[best] >= sure)
        return KindEstimate(KINDS[best] if decided else UNDECIDED, shares[best], support, KINDS[best])

    def _support(self, pattern: int, link_path: int) -> float:
        near = [(ANY, link_path)] if link_path != ANY else []
        near += [(above, ABOVE) for above in self.patterns.above(pattern)[-2:]]
        most = max((self._nodes[node][_PAGES] for node in near if node in self._nodes), default=0.0)
        return self.pages(pattern) + min(_GROUP_VOTES, _GROUP_SHARE * most)

    def _mean(self, node: Node, prior: list[float], weight: float) -> list[float]:
        counts = self._nodes.get(node)
        if counts is None:
            return prior
        votes = counts[0] + counts[1] + counts[2]
        return [shrunk(counts[at], votes, prior[at], weight) for at in range(3)]

    def merge_patterns(self) -> None:
        """Move the votes of patterns that were generalised to what stands for them now; cost O(nodes)."""
        resolve = self.patterns.resolve
        for node in [node for node in self._nodes if node[0] != ANY and resolve(node[0]) != node[0]]:
            moved, to = self._nodes.pop(node), (resolve(node[0]), node[1])
            kept = self._nodes.get(to)
            self._nodes[to] = moved if kept is None else [a + b for a, b in zip(kept, moved, strict=True)]
        for pattern in [pattern for pattern in self._page_links if resolve(pattern) != pattern]:
            moved = self._page_links.pop(pattern)
            kept = self._page_links.get(resolve(pattern), [0.0] * 3)
            self._page_links[resolve(pattern)] = [a + b for a, b in zip(kept, moved, strict=True)]

    def _forget(self) -> None:
        order = sorted(self._nodes, key=lambda node: self._nodes[node][_PAGES])
        for node in order[: len(order) // 2]:
            del self._nodes[node]


def _with_page_links(place: list[float], page_links: list[float]) -> list[float]:
    """Return a prior that also counts links that turn pages, at most 1.5 votes of them."""
    weight = min(_PAGE_LINK_VOTES, left_sum(page_links)) / left_sum(page_links)
    counts = [place[0] + weight * page_links[0], place[1] + weight * page_links[1], place[2]]
    return [count / left_sum(counts) for count in counts]
