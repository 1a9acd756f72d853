"""The way from the entry of a forum over its indexes to its threads: links by place, and a walk over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from linkscore_scoring.policies.focus.votes import ANY, UNDECIDED, KindEstimate, KindVotes
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD
from linkscore_scoring.urls.identity import identity

SAMPLES = 24
"""URLs kept of each pattern, to learn expressions from and to ask for; a bound."""

_MAX_PATTERNS = 5_000
"""Patterns kept; a bound, a site's own replaces it."""

LinkGroup = tuple[int, int]
"""Links of one place: URL pattern of the target, folded link path of the link."""


class LinkTable(Stateful):
    """Links of fetched pages, pooled over the pages of one URL pattern; and some URLs of every pattern.

    Parameters
    ----------
    max_patterns
        Source patterns, target patterns with samples, and link groups per source that are kept; what comes
        later is not learned from until others are generalised.
    """

    _groups: Stored[dict[int, dict[LinkGroup, int]]]
    _samples: Stored[dict[int, dict[int, str]]]

    def __init__(self, *, max_patterns: int = _MAX_PATTERNS) -> None:
        self.max_patterns = max_patterns
        self._groups, self._samples = {}, {}

    def see(self, source: int, rows: Iterable[tuple[int, int, int, str]]) -> None:
        """Take in the links of a page of pattern `source`: rows (pattern, link path, hash, URL); O(n)."""
        if source not in self._groups and len(self._groups) >= self.max_patterns:
            return
        groups = self._groups.setdefault(source, {})
        for pattern, link_path, target, url in rows:
            if (pattern, link_path) in groups or len(groups) < self.max_patterns:
                groups[pattern, link_path] = groups.get((pattern, link_path), 0) + 1
            self._sample(pattern, target, url)

    def _sample(self, pattern: int, target: int, url: str) -> None:
        kept = self._samples.get(pattern)
        if kept is None:
            if len(self._samples) < self.max_patterns:
                self._samples[pattern] = {target: url}
        elif len(kept) < SAMPLES and target not in kept:
            kept[target] = url

    def samples(self, pattern: int) -> dict[int, str]:
        """Return some URLs of a pattern by identity hash, those found first."""
        return self._samples.get(pattern, {})

    def groups(self, source: int) -> Sequence[LinkGroup]:
        """Return the groups of the links on pages of a pattern."""
        return list(self._groups.get(source, ()))

    def sources(self) -> Iterator[int]:
        """Yield the patterns of the pages whose links are known."""
        return iter(self._groups)

    def targets(self) -> Iterator[int]:
        """Yield the patterns that links lead to."""
        return iter(self._samples)

    def merge_patterns(self, resolve: Callable[[int], int]) -> None:
        """Move what is known of patterns that were generalised to what stands for them now."""
        for source in [source for source in self._groups if resolve(source) != source]:
            into = self._groups.setdefault(resolve(source), {})
            for group, n in self._groups.pop(source).items():
                into[group] = into.get(group, 0) + n
        for groups in self._groups.values():
            for pattern, link_path in [group for group in groups if resolve(group[0]) != group[0]]:
                to = (resolve(pattern), link_path)
                groups[to] = groups.get(to, 0) + groups.pop((pattern, link_path))
        for pattern in [pattern for pattern in self._samples if resolve(pattern) != pattern]:
            kept = self._samples.setdefault(resolve(pattern), {})
            for target, url in self._samples.pop(pattern).items():
                if len(kept) < SAMPLES:
                    kept[target] = url


@dataclass(slots=True)
class ForumPaths(Stateful):
    """What lies on the way from entry over indexes to threads (Jiang 2013, EIT path), as of the last review.

    Attributes
    ----------
    index, thread
        URL patterns to follow, each with the pages its kind was decided by.
    types
        Type of the URLs of every link group that was met; `UNDECIDED` of those nobody knows yet.
    crossed
        Patterns of pages whose links count: those in `index`, and where the search began.
    off
        Patterns whose own pages say that they are neither index nor thread.
    page_links
        Patterns that turn pages.
    """

    index: dict[int, float] = field(default_factory=dict)
    thread: dict[int, float] = field(default_factory=dict)
    types: dict[LinkGroup, int] = field(default_factory=dict)
    crossed: set[int] = field(default_factory=set)
    off: set[int] = field(default_factory=set)
    page_links: set[int] = field(default_factory=set)

    def open(self) -> list[LinkGroup]:
        """Return the link groups on index pages that nobody knows yet."""
        return [group for group, kind in self.types.items() if kind == UNDECIDED]

    def type_of(self, pattern: int, link_path: int, fits: int) -> int:
        """Return the type of URLs of a link group, `UNDECIDED` for one that should be tried, OTHER off the
        way.

        Parameters
        ----------
        pattern, link_path
            The link group; one that was not met goes by its pattern alone.
        fits
            Type of the learned expression that the URL fits, 0 if none; it decides where votes do not.
        """
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
    """Walk from the patterns of the roots over those of indexes; cost O(link groups).

    Links of index pages count whatever they are, those of thread pages only if they turn pages. A pattern
    whose few pages look like indexes is crossed too, so that what lies behind is tried.
    """
    found = ForumPaths()
    waiting = list(dict.fromkeys(roots))
    found.crossed.update(waiting)
    while waiting:
        source = waiting.pop()
        for group in links.groups(source):
            counts = source in found.crossed or votes.turns_pages(group[0])
            if counts and _step(group, votes.estimate(*group), found, votes):
                waiting.append(group[0])
    return found


def _step(group: LinkGroup, estimate: KindEstimate, found: ForumPaths, votes: KindVotes) -> bool:
    """Note a link group; say whether the pages behind it are to be crossed for the first time."""
    pattern, kind = group[0], estimate.kind
    turns_pages = votes.turns_pages(pattern)
    if turns_pages:
        found.page_links.add(pattern)
    if kind == OTHER and votes.pages(pattern):
        found.off.add(pattern)
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
    found.crossed.add(pattern)
    return is_new


def all_indexes(links: LinkTable, votes: KindVotes) -> list[int]:
    """Return the patterns whose pages are indexes, wherever they were linked; cost O(patterns)."""
    return [source for source in links.sources() if votes.estimate(source, ANY).kind == INDEX]


def known_identity(url: str) -> str:
    """Return the identity of a URL that was validated before; the URL itself if it has none."""
    try:
        return identity(url)
    except ValueError:
        return url
