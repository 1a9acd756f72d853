"""URL prefix tree: the folders and programs of a site under which pages of a kind lie (Wang 2008)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOSTLY = 0.5

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Steps = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class NodeRate:
    """Share of news among the pages of a node: best guess, and what it is at least with 90 % confidence."""

    share: float
    at_least: float


Rate = Callable[[Rows], NodeRate]
"""Tells the share of news among some pages, given as row numbers."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A node of the tree that was chosen.

    Attributes
    ----------
    text
        Host and path without scheme, ending in ``/`` (folder) or ``?`` (program, any query).
    rate
        Share of news under it.
    pages
        Pages it was learned from.
    example
        Row of one of them.
    """

    text: str
    rate: NodeRate
    pages: int
    example: int


def steps_of(url: str) -> list[str]:
    """Return the nodes above a page: host, folders, program; together they are the longest prefix it has.

    Hosts and folders end in ``/``, a program, the path of a URL with a query, in ``?``, so that a folder and
    a program of one name stay apart. Schemes and fragments do not count. Cost O(characters).
    """
    rest = url.partition("#")[0].partition("://")[2]
    path, mark, _ = rest.partition("?")
    *above, page = path.split("/") if "/" in path else (path, "")
    steps = [f"{step}/" for step in above]
    return [*steps, f"{page}?"] if mark else steps


def find_prefixes(
    steps: Steps,
    rate: Rate,
    *,
    theta: float = 0.8,
    min_pages: int = 1,
    misfits: Mask | None = None,
    max_misfits: float = 0.05,
) -> list[Prefix]:
    """Return the topmost nodes whose share of news is above `theta`; none lies below another.

    Parameters
    ----------
    steps
        Nodes above each page, see `steps_of`.
    rate
        Tells the share of news among some pages.
    theta
        Share that must be exceeded, [0, 1].
    min_pages
        Pages below which a node is never chosen, >= 1; the paper has no such bound.
    misfits, max_misfits
        Pages that lie where news does not, see `misfits_of`, (n,) bool, and their greatest share: a node that
        has more of them is looked into, not chosen. None as in the paper: there are none.

    Cost: O(n log n), and a rating of each page for each level above it. Source: Wang 2008, section 5.2.
    """
    found: list[Prefix] = []
    todo = list(_children([], sorted(range(len(steps)), key=lambda row: list(steps[row])), steps))
    while todo:
        path, pages = todo.pop()
        if len(pages) < min_pages:
            continue
        rows = np.array(pages, dtype=np.intp)
        rated = rate(rows)
        if rated.share > theta and (misfits is None or misfits[rows].mean() <= max_misfits):
            found.append(Prefix("".join(path), rated, len(pages), pages[0]))
        else:
            todo += _children(path, pages, steps)
    return sorted(found, key=lambda prefix: prefix.text)


def misfits_of(groups: Sequence[Rows], rate: Rate, n: int) -> Mask:
    """Return the pages, of `n`, whose group (see `lowest_nodes`) is mostly other pages, (n,) bool."""
    found = np.zeros(n, dtype=np.bool_)
    for rows in groups:
        found[rows] = rate(rows).share < _MOSTLY
    return found


def _children(path: list[str], rows: list[int], steps: Steps) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the nodes right below one, with their pages; rows are sorted, those of a child are neighbours."""
    depth = len(path)
    below = [row for row in rows if len(steps[row]) > depth]
    for step, group in groupby(below, lambda row: steps[row][depth]):
        yield [*path, step], list(group)


def lowest_nodes(steps: Steps, min_pages: int) -> list[Rows]:
    """Return the pages by the lowest node above each that has at least so many pages, as row numbers.

    Pages below no such node are in no group. Cost O(n x levels).
    """
    above = [list(accumulate(path)) for path in steps]
    sizes = Counter(chain.from_iterable(above))
    groups: dict[str, list[int]] = {}
    for row, nodes in enumerate(above):
        lowest = next((node for node in reversed(nodes) if sizes[node] >= min_pages), None)
        if lowest is not None:
            groups.setdefault(lowest, []).append(row)
    return [np.array(rows, dtype=np.intp) for rows in groups.values()]


class PrefixTrie:
    """Which prefix a URL lies under, in O(path length) whatever the number of prefixes.

    Parameters
    ----------
    prefixes
        Texts of `Prefix`, none of them below another.
    """

    def __init__(self, prefixes: Sequence[str]) -> None:
        self._root: dict[str, Any] = {}
        for row, text in enumerate(prefixes):
            at = self._root
            *above, last = steps_of(f"://{text}")
            for step in above:
                at = at.setdefault(step, {})
            at[last] = row

    def find(self, url: str) -> int:
        """Return the number of the prefix that a URL starts with, -1 if there is none."""
        at: Any = self._root
        for step in steps_of(url):
            at = at.get(step, -1)
            if isinstance(at, int):
                return at
        return -1
