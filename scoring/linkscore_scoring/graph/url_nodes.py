"""URLs of a site as numbers in the order they were found, each with one value. Bounded; see `UrlNodes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import PageObservation

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


class UrlNodes:
    """Numbers and values of URLs by identity hash.

    `max_urls`: most URLs kept; `trim` forgets the ones found first, a sixteenth of the bound at a time.
    `first`: lowest number kept. Numbers only grow: one below `first` is a URL that was forgotten.

    A page reached by a redirect has one number for both URLs; if both had one already, the URL asked for
    gives its value to the page (`moved`), so no credit is lost. Cost O(1) a link, about 150 bytes a URL.
    """

    def __init__(self) -> None:
        self.max_urls = 200_000
        self.first = 0
        self.moved: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._keys: list[int] = []
        self._kinds = bytearray()
        self._values: list[float] = []

    def __len__(self) -> int:
        return len(self._keys)

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

    def open_ones(self) -> NDArray[np.bool_]:
        """Return whether each URL kept `is_open`, (n_urls,), by number less `first`."""
        kinds = np.frombuffer(bytes(self._kinds), dtype=np.uint8)
        return np.asarray(kinds == _OPEN, dtype=np.bool_)

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

    def key(self, node: int) -> int:
        """Return the identity hash a URL was found by."""
        return self._keys[node - self.first]

    def arrive(self, page: PageObservation) -> Arrival:
        """Take in a fetch, and where it was redirected to; its links are taken in by `targets`."""
        asked, node = self._ids.get(page.requested), self._ids.get(page.key)
        is_seed = asked is None and node is None
        if node is None:
            reusable = asked is not None and not self.is_fetched(asked)
            node = asked if reusable and asked is not None else self._add(page.key, page.url)
        elif asked is not None and asked != node and not self.is_fetched(asked):
            self._move(asked, node)
        self._ids[page.requested] = self._ids[page.key] = node
        is_first = not page.failed and not self.is_fetched(node)
        if is_first or self.is_open(node):
            self._close(node, _DEAD if page.failed else _FETCHED)
        return Arrival(node, is_seed, is_first)

    def targets(self, page: PageObservation) -> list[int]:
        """Return the distinct URLs a page links to, in its order; not itself, nor URLs known to be dead."""
        own = self._ids[page.key]
        ids = self._ids
        found = dict.fromkeys(
            ids[key] if key in ids else self._add(key, url)
            for key, url in zip(page.links.keys, page.links.urls, strict=True)
        )
        found.pop(own, None)
        return [node for node in found if self._kinds[node - self.first] != _DEAD]

    def trim(self) -> float:
        """Forget what is beyond the bound; return the sum of the values forgotten."""
        if len(self._keys) <= self.max_urls:
            return 0.0
        surplus = len(self._keys) - self.max_urls + self.max_urls // _SLACK
        lost = left_sum(self._values[:surplus])
        self._forget(surplus)
        return lost

    def _forget(self, n: int) -> None:
        self.first += n
        del self._keys[:n], self._kinds[:n], self._values[:n]
        self._ids = {key: node for key, node in self._ids.items() if node >= self.first}
        self.moved = {old: new for old, new in self.moved.items() if old >= self.first}

    def _add(self, key: int, url: str) -> int:
        node = self.first + len(self._keys)
        self._ids[key] = node
        self._keys.append(key)
        self._kinds.append(_OPEN)
        self._values.append(0.0)
        return node

    def _close(self, node: int, kind: int) -> None:
        self._kinds[node - self.first] = kind

    def _move(self, old: int, new: int) -> None:
        """Let a URL that redirects give its value to where it leads."""
        self.moved[old] = new
        self[new] += self[old]
        self[old] = 0.0
        self._close(old, _FETCHED)

    def to_state(self) -> dict[str, Any]:
        """Return numbers and values as plain values."""
        kept = dict(zip(self._keys, range(self.first, self.first + len(self._keys)), strict=True))
        return {
            "first": self.first,
            "keys": self._keys,
            "kinds": bytes(self._kinds),
            "values": self._values,
            "aliases": sorted([key, node] for key, node in self._ids.items() if kept.get(key) != node),
            "moved": [[old, new] for old, new in self.moved.items()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the numbers and values of `to_state`.

        Raises CorruptState if a field is missing or malformed, or columns differ in length.
        """
        with reading_state("URL nodes"):
            self.first, self._kinds = int(state["first"]), bytearray(state["kinds"])
            self._keys, self._values = list(map(int, state["keys"])), list(map(float, state["values"]))
            self.moved = {int(old): int(new) for old, new in state["moved"]}
            aliases = {int(key): int(node) for key, node in state["aliases"]}
        self._check(aliases)
        numbered = enumerate(self._keys, start=self.first)
        self._ids = {key: node for node, key in numbered if node not in self.moved} | aliases

    def _check(self, aliases: dict[int, int]) -> None:
        n = len(self._keys)
        if not n == len(self._kinds) == len(self._values):
            raise CorruptState(f"URL nodes: {n} keys, {len(self._kinds)} kinds, {len(self._values)} values")
        strange = [node for node in [*aliases.values(), *self.moved] if not 0 <= node - self.first < n]
        if strange:
            raise CorruptState(f"URL nodes: number {strange[0]} is not in [{self.first}, {self.first + n})")
