"""What is remembered of each URL of a site: where it was seen, how deep, and what it turned out to be. Bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from linkscore_scoring.errors import CorruptState

NOT_FETCHED = -3
"""Cluster of a URL that was seen in links and not fetched."""

_DEPTH, _CLUSTER, _CONTEXTS = 0, 1, 2


class LinkMemory:
    """URLs of one site by identity hash, each with the ways it was seen: (source page, Apath), distinct by Apath.

    Parameters
    ----------
    max_links
        URLs remembered; beyond it the ones seen first are forgotten, which costs a context, never a link.
    max_contexts
        Ways kept per URL.

    Notes
    -----
    A record is the flat list [depth, cluster, source, Apath, source, Apath, ...]; about 250 bytes a URL.
    """

    def __init__(self, *, max_links: int = 200_000, max_contexts: int = 4) -> None:
        self.max_links = max_links
        self.max_contexts = max_contexts
        self.evicted = 0
        self._links: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._links)

    def see(self, source: int, depth: int, keys: Sequence[int], apaths: Sequence[int]) -> list[bool]:
        """Take in the links of a page and say which targets were never seen before, (n_links,).

        Cost O(n_links). `source` is the page's identity hash, `depth` that of its links.
        """
        links = self._links
        full = _CONTEXTS + 2 * self.max_contexts
        fresh = []
        for key, apath in zip(keys, apaths, strict=True):
            known = links.get(key)
            fresh.append(known is None)
            if known is None:
                links[key] = [depth, NOT_FETCHED, source, apath]
            elif len(known) < full and apath not in known[_CONTEXTS + 1 :: 2]:
                known += (source, apath)
        self._evict()
        return fresh

    def fetched(self, key: int, *, depth: int, cluster: int) -> bool:
        """Note a fetch and return whether the URL was fetched before."""
        known = self._links.get(key)
        if known is None:
            self._links[key] = [depth, cluster]
            self._evict()
            return False
        before = known[_CLUSTER] != NOT_FETCHED
        known[_CLUSTER] = cluster
        return before

    def relabel(self, clusters: Iterable[tuple[int, int]]) -> None:
        """Give fetched URLs the clusters of a new model: pairs (identity hash, cluster)."""
        for key, cluster in clusters:
            if key in self._links:
                self._links[key][_CLUSTER] = cluster

    def cluster(self, key: int) -> int:
        """Return the cluster of a fetched URL, `NOT_FETCHED` if it was not fetched or is forgotten."""
        known = self._links.get(key)
        return NOT_FETCHED if known is None else known[_CLUSTER]

    def depth(self, key: int) -> int | None:
        """Return the depth at which a URL was first seen, None if it is not known."""
        known = self._links.get(key)
        return None if known is None else known[_DEPTH]

    def contexts(self, key: int) -> list[tuple[int, int]]:
        """Return the ways a URL was seen, [(source page, Apath id)]; empty if it is not known."""
        known = self._links.get(key)
        return [] if known is None else list(zip(known[_CONTEXTS::2], known[_CONTEXTS + 1 :: 2], strict=True))

    def _evict(self) -> None:
        surplus = len(self._links) - self.max_links
        if surplus > 0:
            for key in list(islice(self._links, surplus)):
                del self._links[key]
            self.evicted += surplus

    def to_state(self) -> dict[str, Any]:
        """Return the memory as plain values, oldest first."""
        return {"evicted": self.evicted, "keys": list(self._links), "records": list(self._links.values())}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the memory of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        try:
            self.evicted = int(state["evicted"])
            self._links = dict(zip(state["keys"], map(list, state["records"]), strict=True))
        except (KeyError, TypeError, ValueError) as exc:
            raise CorruptState(f"link memory state: missing or malformed field {exc}") from exc
