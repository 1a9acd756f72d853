"""Entry, index, thread: which URL patterns lie on the way from the entry to the threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from linkscore_scoring.policies.focus.links import LinkPlaces, Way
from linkscore_scoring.policies.focus.votes import ANY, UNDECIDED, Judged, KindVotes
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD


@dataclass(slots=True)
class Paths:
    """What lies on the way (Jiang 2013, definition of the EIT path), as of the last review.

    Attributes
    ----------
    index, thread
        URL patterns to follow, each with the pages its kind was decided by.
    crossed
        Patterns of pages whose links count: those in `index`, and where the search began.
    types
        Type of the URLs of every way that was met; `UNDECIDED` of those nobody knows yet.
    off
        Patterns whose own pages say that they are neither index nor thread.
    flips
        Patterns that turn pages.
    """

    index: dict[int, float] = field(default_factory=dict)
    thread: dict[int, float] = field(default_factory=dict)
    crossed: set[int] = field(default_factory=set)
    types: dict[Way, int] = field(default_factory=dict)
    off: set[int] = field(default_factory=set)
    flips: set[int] = field(default_factory=set)

    def open(self) -> list[Way]:
        """Return the ways on index pages that nobody knows yet."""
        return [way for way, kind in self.types.items() if kind == UNDECIDED]

    def type_of(self, pattern: int, apath: int, fits: int) -> int:
        """Return the type of URLs of a way, `UNDECIDED` for one that should be tried, OTHER off the way.

        Parameters
        ----------
        pattern, apath
            The way; one that was not met is judged by its pattern alone.
        fits
            Type of the learned expression that the URL fits, 0 if none; it decides where votes do not.
        """
        known = self.types.get((pattern, apath))
        if known not in (None, UNDECIDED):
            return int(known or 0)
        if known is None and (pattern in self.index or pattern in self.thread):
            is_thread = self.thread.get(pattern, -1.0) > self.index.get(pattern, -1.0)
            return PAGE_FLIP if pattern in self.flips else THREAD if is_thread else INDEX
        if fits and pattern not in self.off:
            return fits
        return OTHER if known is None else UNDECIDED

    def to_state(self) -> dict[str, Any]:
        """Return the way as plain values."""
        return {
            "index": list(self.index.items()),
            "thread": list(self.thread.items()),
            "types": [[*way, kind] for way, kind in self.types.items()],
            **{name: sorted(getattr(self, name)) for name in ("crossed", "off", "flips")},
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the way of `to_state`."""
        self.index = {int(pattern): float(pages) for pattern, pages in state["index"]}
        self.thread = {int(pattern): float(pages) for pattern, pages in state["thread"]}
        self.types = {(int(p), int(a)): int(kind) for p, a, kind in state["types"]}
        self.crossed, self.off, self.flips = (set(map(int, state[n])) for n in ("crossed", "off", "flips"))


def find_paths(roots: Iterable[int], places: LinkPlaces, votes: KindVotes) -> Paths:
    """Walk from the patterns of the roots over those of indexes; cost O(ways).

    Links of index pages count whatever they are, those of thread pages only if they turn pages. A pattern
    whose few pages look like indexes is crossed too, so that what lies behind is tried.
    """
    found = Paths()
    waiting = list(dict.fromkeys(roots))
    found.crossed.update(waiting)
    while waiting:
        source = waiting.pop()
        for way in places.ways(source):
            counts = source in found.crossed or votes.is_flip(way[0])
            if counts and _step(way, votes.judge(*way), found, votes):
                waiting.append(way[0])
    return found


def _step(way: Way, judged: Judged, found: Paths, votes: KindVotes) -> bool:
    """Note a way; say whether the pages behind it are to be crossed for the first time."""
    pattern, kind = way[0], judged.kind
    flips = votes.is_flip(pattern)
    if flips:
        found.flips.add(pattern)
    if kind == OTHER and votes.pages(pattern):
        found.off.add(pattern)
    found.types[way] = PAGE_FLIP if flips and kind in (INDEX, THREAD) else kind
    if kind == THREAD:
        is_new = pattern not in found.thread and pattern not in found.crossed
        found.thread[pattern] = votes.pages(pattern)
        return is_new
    if kind == INDEX:
        found.index[pattern] = votes.pages(pattern)
    elif kind != UNDECIDED or not votes.pages(pattern) or judged.likely != INDEX:
        return False
    is_new = pattern not in found.crossed
    found.crossed.add(pattern)
    return is_new


def all_indexes(places: LinkPlaces, votes: KindVotes) -> list[int]:
    """Return the patterns whose pages are indexes, wherever they were linked; cost O(patterns)."""
    return [source for source in places.sources() if votes.judge(source, ANY).kind == INDEX]
