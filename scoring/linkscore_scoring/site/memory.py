"""What is remembered of each URL of a site: where seen, how deep, and what it turned out to be. Bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from linkscore_scoring.kernels import KERNELS, Kernels
from linkscore_scoring.kernels.protocol import NOT_FETCHED
from linkscore_scoring.state import State, Stateful, Stored, stored_as


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

    And for the page: `displaced`, the (source, link path) in-links of unfetched targets that were given up
    for its own.
    """

    patterns: list[int] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)
    first_here: list[bool] = field(default_factory=list)
    displaced: list[tuple[int, int]] = field(default_factory=list)


class LinkMemory(Stateful):
    """URLs of one site by identity hash, each with its in-links: source page and link path, the latest.

    Parameters
    ----------
    max_links
        URLs remembered; beyond it the ones seen first are forgotten, which costs a context, never a link.
    max_contexts
        In-links kept per URL; the latest stay.
    kernels
        Make the table of URLs; its state is the same whoever made it.
    """

    evicted: Stored[int]
    _links: Annotated[dict[int, list[int]], stored_as("keys", "records")]

    def __init__(
        self, *, max_links: int = 200_000, max_contexts: int = 6, kernels: Kernels = KERNELS
    ) -> None:
        self.table = kernels.link_table(max_links, max_contexts)
        self.evicted = 0
        self._links = {}

    def __len__(self) -> int:
        return len(self.table)

    def unknown(self, keys: Sequence[int]) -> dict[int, int]:
        """Return the URLs among `keys` that were never seen, each with its first row."""
        return self.table.unknown(keys)

    def see(
        self,
        source: int,
        depth: int,
        keys: Sequence[int],
        link_paths: Sequence[int],
        patterns: Mapping[int, int],
    ) -> Sighting:
        """Take in the links of a page; cost O(n_links).

        Parameters
        ----------
        source, depth
            The page's identity hash, and the depth of its links.
        keys, link_paths
            Targets and link path ids, same length.
        patterns
            URL pattern of every target that is `unknown`.
        """
        seen = Sighting(*self.table.see(source, depth, keys, link_paths, patterns))
        self._evict()
        return seen

    def fetched(self, key: int, *, depth: int, cluster: int, pattern: int) -> bool:
        """Note a fetch; return whether it is a repeated one. Depth and pattern count for unknown URLs."""
        before = self.table.fetched(key, depth, cluster, pattern)
        self._evict()
        return before

    def is_fetched(self, key: int) -> bool:
        """Say whether a URL was fetched, as far as remembered."""
        return self.cluster(key) != NOT_FETCHED

    def fetched_among(self, keys: Sequence[int]) -> set[int]:
        """Return the URLs among `keys` of which `is_fetched` says so."""
        return set(self.table.fetched_among(keys))

    def pattern(self, key: int) -> int | None:
        """Return the URL pattern a URL had when it was first seen, None if it is not known."""
        return self.table.pattern(key)

    def patterns(self, keys: Sequence[int]) -> list[int | None]:
        """Return the `pattern` of each URL."""
        return self.table.patterns(keys)

    def relabel(self, clusters: Iterable[tuple[int, int]]) -> None:
        """Give fetched URLs the clusters of a new model: pairs (identity hash, cluster)."""
        for key, cluster in clusters:
            self.table.relabel(key, cluster)

    def cluster(self, key: int) -> int:
        """Return the cluster of a fetched URL, `NOT_FETCHED` if it was not fetched or is forgotten."""
        return self.table.cluster(key)

    def depth(self, key: int) -> int | None:
        """Return the depth at which a URL was first seen, None if it is not known."""
        return self.table.depth(key)

    def contexts(self, key: int) -> list[tuple[int, int]]:
        """Return the in-links of a URL, [(source page, link path id)]; empty if it is not known."""
        return self.table.contexts(key)

    def sources(self, keys: Iterable[int]) -> list[list[int]]:
        """Return the source pages of the in-links of each URL; empty of one that is not known."""
        return self.table.sources(list(keys))

    def waiting(self) -> Counter[tuple[int, int]]:
        """Count the URLs found and not fetched by URL pattern and earliest link path kept; cost O(links)."""
        return Counter(self.table.waiting())

    def waiting_group(self, key: int) -> tuple[int, int] | None:
        """Return pattern and earliest link path of a URL that waits, as `waiting` counts it; else None."""
        return self.table.waiting_group(key)

    def to_state(self) -> State:
        """See `Stateful.to_state`."""
        self._links = self.table.plain()
        state = super().to_state()
        self._links = {}
        return state

    def after_load(self) -> None:
        """Let the table take over what was loaded, and raise ValueError if it is not of a memory."""
        self.table.load(self._links)
        self._links = {}

    def _evict(self) -> None:
        self.evicted += self.table.evict()
