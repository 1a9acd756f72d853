"""Pages, the URLs they link to, and the links between them. Bounded; see `LinkGraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.graph.url_nodes import UrlNodes
from linkscore_scoring.state import pack_array, unpack_array

Ints = NDArray[np.int64]

LINKS_PER_URL = 20
"""Links kept for each URL of the bound; a bound of memory, 8 bytes a link; chosen, not measured."""


class LinkGraph(UrlNodes):
    """`UrlNodes` that also keep the out-links of fetched pages, and the URLs of those not fetched yet.

    At most `LINKS_PER_URL` x `max_urls` links are kept; beyond that the pages fetched first lose theirs and
    count as pages without links. Cost 8 bytes a link, the text of each unfetched URL.
    """

    def __init__(self) -> None:
        super().__init__()
        self.links = 0
        self._urls: list[str] = []
        self._out: dict[int, Ints] = {}

    def url(self, node: int) -> str:
        """Return an unfetched URL; empty once it is fetched."""
        return self._urls[node - self.first]

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

    def trim(self) -> float:
        """Forget what is beyond the bounds; return the sum of the values forgotten."""
        lost = super().trim()
        most = LINKS_PER_URL * self.max_urls
        while self.links > most:
            self._unlink(next(iter(self._out)))
        return lost

    def _forget(self, n: int) -> None:
        super()._forget(n)
        del self._urls[:n]
        for node in [node for node in self._out if node < self.first]:
            self._unlink(node)

    def _unlink(self, node: int) -> None:
        self.links -= len(self._out.pop(node, ()))

    def _add(self, key: int, url: str) -> int:
        self._urls.append(url)
        return super()._add(key, url)

    def _close(self, node: int, kind: int) -> None:
        super()._close(node, kind)
        self._urls[node - self.first] = ""

    def to_state(self) -> dict[str, Any]:
        """Return the graph as plain values."""
        targets = np.concatenate([np.zeros(0, dtype=np.int64), *self._out.values()])
        return {
            **super().to_state(),
            "urls": self._urls,
            "pages": list(self._out),
            "sizes": [len(out) for out in self._out.values()],
            "targets": pack_array(targets),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the graph of `to_state`.

        Raises CorruptState if a field is missing or malformed, or columns differ in length.
        """
        super().load_state(state)
        with reading_state("link graph"):
            self._urls = list(map(str, state["urls"]))
            pages, sizes = list(map(int, state["pages"])), np.array(state["sizes"], dtype=np.int64)
            targets = unpack_array(state["targets"])
        if len(self._urls) != len(self) or len(pages) != len(sizes) or sizes.sum() != len(targets):
            raise CorruptState("link graph: urls, pages, sizes and targets disagree in length")
        if len(targets) and targets.max() >= self.first + len(self):
            raise CorruptState(f"link graph: a link to number {targets.max()}, there are {len(self)} URLs")
        self.links = len(targets)
        self._out = dict(zip(pages, np.split(targets, np.cumsum(sizes)[:-1]), strict=True)) if pages else {}
