"""Entry, index, thread: which URL patterns lie on the way from the entry to the threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from linkscore_scoring.learners.eit.links import LinkPlaces, Way
from linkscore_scoring.learners.eit.votes import ANY, UNDECIDED, KindVotes
from linkscore_scoring.site.url_rules import INDEX, THREAD


@dataclass(slots=True)
class Paths:
    """What lies on the way (Jiang 2013, definition of the EIT path).

    Attributes
    ----------
    index, thread
        URL patterns to follow, each with the pages its kind was decided by.
    crossed
        Patterns of pages whose links count: those in `index`, and where the search began.
    open
        Ways found on these pages whose kind nobody knows yet.
    """

    index: dict[int, float] = field(default_factory=dict)
    thread: dict[int, float] = field(default_factory=dict)
    crossed: set[int] = field(default_factory=set)
    open: dict[Way, float] = field(default_factory=dict)


def find_paths(roots: Iterable[int], places: LinkPlaces, votes: KindVotes) -> Paths:
    """Walk from the patterns of the roots over those of indexes; cost O(ways).

    Links of index pages count whatever they are, those of thread pages only if they turn pages.
    """
    found = Paths()
    waiting = list(dict.fromkeys(roots))
    found.crossed.update(waiting)
    while waiting:
        source = waiting.pop()
        for way in places.ways(source):
            pattern, apath = way
            if source in found.thread and source not in found.crossed and not votes.is_flip(pattern):
                continue
            judged = votes.judge(pattern, apath)
            if judged.kind == UNDECIDED:
                if source in found.crossed:
                    found.open[way] = judged.support
                    if votes.pages(pattern) and judged.likely == INDEX and pattern not in found.crossed:
                        found.crossed.add(pattern)
                        waiting.append(pattern)
            elif judged.kind == INDEX:
                found.index[pattern] = votes.pages(pattern)
                if pattern not in found.crossed:
                    found.crossed.add(pattern)
                    waiting.append(pattern)
            elif judged.kind == THREAD and pattern not in found.thread:
                found.thread[pattern] = votes.pages(pattern)
                waiting.append(pattern)
    return found


def all_indexes(places: LinkPlaces, votes: KindVotes) -> list[int]:
    """Return the patterns whose pages are indexes, wherever they were linked; cost O(patterns)."""
    return [source for source in places.sources() if votes.judge(source, ANY).kind == INDEX]
