"""URLs of a site as numbers in the order they were found, each with one value, and the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import left_sum
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import PageObservation

Ints = NDArray[np.int64]

Floats = NDArray[np.float64]

MAX_ITERATIONS = 200
"""A bound: with damping .85 the change falls below 1e-6 after some 85."""


class Ranks(NamedTuple):
    """PageRank in two parts: `flow`, (n,) float64, came along links; `rest` every page has alike."""

    flow: Floats
    rest: float

    @property
    def total(self) -> Floats:
        """The PageRank itself, (n,) float64, sum 1."""
        return self.flow + self.rest


def pagerank(
    sources: Ints,
    targets: Ints,
    n: int,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    start: Floats | None = None,
) -> Ranks:
    """Return the PageRank of `n` pages: PR(u) = (1 - d) / n + d (sum_{v -> u} PR(v) / out(v) + D / n).

    D is the rank of the pages without links. The error is at most d / (1 - d) times the tolerance. Cost
    O(n_links) an iteration, at most `MAX_ITERATIONS`.

    `sources`, `targets`: links, (n_links,) each, in [0, n); distinct pairs, no page to itself.
    `n`: pages, > 0.
    `damping`: d, [0, 1].
    `tolerance`: change of the ranks in one iteration, summed, below which it stops; > 0.
    `start`: ranks to start from, (n,), any positive sum; None starts evenly.

    References
    ----------
    Page, Brin, Motwani and Winograd 1999; Cho, Garcia-Molina and Page 1998 use d = 0.9.
    """
    out = np.bincount(sources, minlength=n)
    weights, dangling = damping / out[sources], out == 0
    x = np.full(n, 1.0 / n) if start is None else start / start.sum()
    for _ in range(MAX_ITERATIONS):
        rest = (1.0 - damping + damping * float(x[dangling].sum())) / n
        flow: Floats = np.bincount(targets, weights=x[sources] * weights, minlength=n).astype(np.float64)
        change, x = float(np.abs(flow + rest - x).sum()), flow + rest
        if change < tolerance:
            break
    return Ranks(flow, rest)


# Kinds of URLs, bytes in the state: not fetched yet; a usable page came back; none did.
_OPEN, _FETCHED, _DEAD = 0, 1, 2
# One in so many is forgotten at a time, since moving the columns costs as much for one as for many.
_SLACK = 16


@dataclass(frozen=True, slots=True)
class Arrival:
    """A fetch as the nodes see it."""

    node: int  # number of the page
    is_seed: bool  # no page linked it, as far as remembered
    is_first: bool  # it is the first usable fetch of the page


LINKS_PER_URL = 20
"""Links kept for each URL of the bound; a bound of memory, 8 bytes a link; chosen, not measured."""


class LinkGraph(Stateful):
    """Numbers and values of URLs by identity hash, and, as far as `link` says them, the out-links of pages.

    `max_urls`: most URLs kept; `trim` forgets the ones found first, a sixteenth of the bound at a time.
    `first`: lowest number kept. Numbers only grow: one below `first` is a URL that was forgotten.

    A page reached by a redirect has one number for both URLs; if both had one already, the URL asked for
    gives its value to the page (`moved`), so no credit is lost. At most `LINKS_PER_URL` x `max_urls` links
    are kept; beyond that the pages fetched first lose theirs and count as pages without links. Cost O(1) a
    link, about 150 bytes a URL, 8 bytes a link.
    """

    first: Stored[int]
    moved: Stored[dict[int, int]]
    _ids: Stored[dict[int, int]]
    _kinds: Stored[list[int]]
    _values: Stored[list[float]]
    links: Stored[int]
    _out: Stored[dict[int, Ints]]

    def __init__(self) -> None:
        self.max_urls = 200_000
        self.first = 0
        self.moved, self._ids = {}, {}
        self._kinds, self._values = [], []
        self.links, self._out = 0, {}

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, node: int) -> float:
        return self._values[node - self.first]

    def __setitem__(self, node: int, value: float) -> None:
        self._values[node - self.first] = value

    def values(self) -> NDArray[np.float64]:
        """Return the value of every URL kept, (n_urls,), by number less `first`; a copy."""
        return np.array(self._values, dtype=np.float64)

    def replace_values(self, values: NDArray[np.float64]) -> None:
        """Give every URL kept a new value; (n_urls,) as `values` returns them."""
        self._values = values.tolist()

    def value_of(self, key: int) -> float:
        """Return the value of a URL by identity hash, 0 if it is not known."""
        node = self._ids.get(key)
        return 0.0 if node is None else self._values[node - self.first]

    def is_open(self, node: int) -> bool:
        """Say whether a URL was not fetched yet."""
        return self._kinds[node - self.first] == _OPEN

    def is_fetched(self, node: int) -> bool:
        """Say whether a usable page came back from a URL."""
        return self._kinds[node - self.first] == _FETCHED

    def arrive(self, page: PageObservation) -> Arrival:
        """Take in a fetch, and where it was redirected to; its links are taken in by `targets`."""
        asked, node = self._ids.get(page.requested), self._ids.get(page.key)
        is_seed = asked is None and node is None
        if node is None:
            reusable = asked is not None and not self.is_fetched(asked)
            node = asked if reusable and asked is not None else self._add(page.key)
        elif asked is not None and asked != node and not self.is_fetched(asked):
            self._move(asked, node)
        self._ids[page.requested] = self._ids[page.key] = node
        is_first = not page.failed and not self.is_fetched(node)
        if is_first or self.is_open(node):
            self._kinds[node - self.first] = _DEAD if page.failed else _FETCHED
        return Arrival(node, is_seed, is_first)

    def targets(self, page: PageObservation) -> list[int]:
        """Return the distinct URLs a page links to, in its order; not itself, nor URLs known to be dead."""
        own = self._ids[page.key]
        ids = self._ids
        found = dict.fromkeys(ids[key] if key in ids else self._add(key) for key in page.links.keys)
        found.pop(own, None)
        return [node for node in found if self._kinds[node - self.first] != _DEAD]

    def trim(self) -> float:
        """Forget what is beyond the bounds; return the sum of the values forgotten."""
        surplus = len(self) - self.max_urls
        lost = self._forget(surplus + self.max_urls // _SLACK) if surplus > 0 else 0.0
        while self.links > LINKS_PER_URL * self.max_urls:
            self._unlink(next(iter(self._out)))
        return lost

    def _forget(self, n: int) -> float:
        lost = left_sum(self._values[:n])
        self.first += n
        del self._kinds[:n], self._values[:n]
        self._ids = {key: node for key, node in self._ids.items() if node >= self.first}
        self.moved = {old: new for old, new in self.moved.items() if old >= self.first}
        for node in [node for node in self._out if node < self.first]:
            self._unlink(node)
        return lost

    def _unlink(self, node: int) -> None:
        self.links -= len(self._out.pop(node, ()))

    def _add(self, key: int) -> int:
        node = self._ids[key] = self.first + len(self)
        self._kinds.append(_OPEN)
        self._values.append(0.0)
        return node

    def _move(self, old: int, new: int) -> None:
        """Let a URL that redirects give its value to where it leads."""
        self.moved[old] = new
        self[new] += self[old]
        self[old] = 0.0
        self._kinds[old - self.first] = _FETCHED

    def link(self, node: int, targets: Sequence[int]) -> None:
        """Keep the out-links of a page, distinct and without itself; they replace those it had."""
        self._unlink(node)
        self._out[node] = np.array(targets, dtype=np.int64)
        self.links += len(targets)

    def out(self, node: int) -> list[int]:
        """Return what a page links to, as far as it is remembered, redirects followed."""
        found = self._out.get(node)
        targets = [] if found is None else found.tolist()
        if self.moved:
            targets = [to for to in dict.fromkeys(self.moved.get(t, t) for t in targets) if to != node]
        return [target for target in targets if target >= self.first]

    def edges(self) -> tuple[Ints, Ints]:
        """Return source and target of every link, both (n_links,), as numbers less `first`; cost O(n_links).

        Links to URLs that were forgotten are left out, redirects are followed.
        """
        if not self._out:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        sizes = np.fromiter(map(len, self._out.values()), dtype=np.int64)
        sources = np.repeat(np.fromiter(self._out, dtype=np.int64), sizes) - self.first
        targets = np.concatenate(list(self._out.values())) - self.first
        kept = targets >= 0
        sources, targets = sources[kept], targets[kept]
        return self._redirected(sources, targets) if self.moved else (sources, targets)

    def _redirected(self, sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
        n = len(self)
        lead = np.arange(n)
        lead[np.array(list(self.moved)) - self.first] = np.array(list(self.moved.values())) - self.first
        targets = lead[targets]
        kept = (targets >= 0) & (targets != sources)
        pairs = np.unique(sources[kept] * n + targets[kept])
        return pairs // n, pairs % n

    def after_load(self) -> None:
        """Refuse columns that differ in length, and numbers that stand for nothing."""
        n, known = len(self), [*self._ids.values(), *self.moved]
        known += [int(out.max()) for out in self._out.values() if len(out) and out.max() >= self.first]
        if len(self._kinds) != n:
            raise ValueError(f"{len(self._kinds)} kinds of {n} URLs")
        if self.links != sum(map(len, self._out.values())):
            raise ValueError(f"not {self.links} links")
        if strange := [node for node in known if not 0 <= node - self.first < n]:
            raise ValueError(f"number {strange[0]} is not in [{self.first}, {self.first + n})")
