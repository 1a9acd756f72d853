"""What is remembered of each URL of a site: where seen, how deep, and what it turned out to be. Bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.state import Stateful, Stored, stored_as

NOT_FETCHED = -3
"""Cluster of a URL that was seen in links and not fetched."""

_DEPTH, _CLUSTER, _PATTERN, _CONTEXTS = 0, 1, 2, 3
"""Cells of a record; from the last on there are pairs of source page and Apath."""


@dataclass(slots=True)
class Sighting:
    """What the links of a page meant to the memory, per row.

    Attributes
    ----------
    patterns
        URL pattern each target had when it was first seen.
    fresh
        The target was never seen before this page.
    first_here
        The row is the first by which this page is a remembered source of an unfetched target.

    And for the page: `displaced`, the (source, Apath) in-links of unfetched targets that were given up for
    its own.
    """

    patterns: list[int] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)
    first_here: list[bool] = field(default_factory=list)
    displaced: list[tuple[int, int]] = field(default_factory=list)


class LinkMemory(Stateful):
    """URLs of one site by identity hash, each with its in-links: (source page, Apath), latest of each Apath.

    Parameters
    ----------
    max_links
        URLs remembered; beyond it the ones seen first are forgotten, which costs a context, never a link.
    max_contexts
        In-links kept per URL; the latest stay.

    Notes
    -----
    A record is the flat list [depth, cluster, pattern, source, Apath, source, Apath, ...]; about 250 bytes a
    URL.
    """

    evicted: Stored[int]
    _links: Annotated[dict[int, list[int]], stored_as("keys", "records")]

    def __init__(self, *, max_links: int = 200_000, max_contexts: int = 6) -> None:
        self.max_links = max_links
        self.max_contexts = max_contexts
        self.evicted = 0
        self._links = {}

    def __len__(self) -> int:
        return len(self._links)

    def unknown(self, keys: Sequence[int]) -> dict[int, int]:
        """Return the URLs among `keys` that were never seen, each with its first row."""
        links = self._links
        found: dict[int, int] = {}
        for row, key in enumerate(keys):
            if key not in links:
                found.setdefault(key, row)
        return found

    def see(
        self, source: int, depth: int, keys: Sequence[int], apaths: Sequence[int], patterns: Mapping[int, int]
    ) -> Sighting:
        """Take in the links of a page; cost O(n_links).

        Parameters
        ----------
        source, depth
            The page's identity hash, and the depth of its links.
        keys, apaths
            Targets and Apath ids, same length.
        patterns
            URL pattern of every target that is `unknown`.
        """
        links = self._links
        seen = Sighting()
        fresh, first_here, seen_patterns = seen.fresh, seen.first_here, seen.patterns
        for key, apath in zip(keys, apaths, strict=True):
            known = links.get(key)
            fresh.append(known is None)
            if known is None:
                known = links[key] = [depth, NOT_FETCHED, patterns[key], source, apath]
                first_here.append(True)
            elif known[_CLUSTER] == NOT_FETCHED:
                first_here.append(self._renew(known, source, apath, seen))
            else:
                first_here.append(False)
            seen_patterns.append(known[_PATTERN])
        self._evict()
        return seen

    def _renew(self, known: list[int], source: int, apath: int, seen: Sighting) -> bool:
        """Make (source, Apath) the latest in-link of a URL; say whether it is the first from this source."""
        sources, apaths = known[_CONTEXTS::2], known[_CONTEXTS + 1 :: 2]
        first = source not in sources
        old = apaths.index(apath) if apath in apaths else 0 if len(apaths) >= self.max_contexts else None
        if old is not None:
            if sources[old] == source:
                return first
            if sources.index(sources[old]) == old:
                seen.displaced.append((sources[old], apaths[old]))
            del known[_CONTEXTS + 2 * old : _CONTEXTS + 2 * old + 2]
        known += (source, apath)
        return first

    def fetched(self, key: int, *, depth: int, cluster: int, pattern: int) -> bool:
        """Note a fetch; return whether it is a repeated one. Depth and pattern count for unknown URLs."""
        known = self._links.get(key)
        if known is None:
            self._links[key] = [depth, cluster, pattern]
            self._evict()
            return False
        before = known[_CLUSTER] != NOT_FETCHED
        known[_CLUSTER] = cluster
        return before

    def is_fetched(self, key: int) -> bool:
        """Say whether a URL was fetched, as far as remembered."""
        known = self._links.get(key)
        return known is not None and known[_CLUSTER] != NOT_FETCHED

    def fetched_among(self, keys: Sequence[int]) -> set[int]:
        """Return the URLs among `keys` of which `is_fetched` says so."""
        records = zip(keys, map(self._links.get, keys), strict=True)
        return {key for key, known in records if known is not None and known[_CLUSTER] != NOT_FETCHED}

    def pattern(self, key: int) -> int | None:
        """Return the URL pattern a URL had when it was first seen, None if it is not known."""
        known = self._links.get(key)
        return None if known is None else known[_PATTERN]

    def patterns(self, keys: Sequence[int]) -> list[int | None]:
        """Return the `pattern` of each URL."""
        records = map(self._links.get, keys)
        return [None if known is None else known[_PATTERN] for known in records]

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
        """Return the in-links of a URL, [(source page, Apath id)]; empty if it is not known."""
        known = self._links.get(key)
        return [] if known is None else list(zip(known[_CONTEXTS::2], known[_CONTEXTS + 1 :: 2], strict=True))

    def sources(self, keys: Iterable[int]) -> list[list[int]]:
        """Return the source pages of the in-links of each URL; empty of one that is not known."""
        return [[source for source, _ in self.contexts(key)] for key in keys]

    def waiting(self) -> Counter[tuple[int, int]]:
        """Count the URLs found and not fetched by URL pattern and the earliest Apath kept; cost O(links)."""
        return Counter(
            (known[_PATTERN], known[_CONTEXTS + 1])
            for known in self._links.values()
            if known[_CLUSTER] == NOT_FETCHED
        )

    def waiting_group(self, key: int) -> tuple[int, int] | None:
        """Return pattern and earliest Apath of a URL that waits, as `waiting` counts it; else None."""
        known = self._links.get(key)
        if known is None or known[_CLUSTER] != NOT_FETCHED:
            return None
        return known[_PATTERN], known[_CONTEXTS + 1]

    def _evict(self) -> None:
        self.evicted += len(drop_oldest(self._links, self.max_links))
