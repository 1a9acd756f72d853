"""`LinkMemory` in the packed table of the compiled kernels, where they are installed: half of its bytes.

It answers and stores what `LinkMemory` does, which says what it means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

from linkscore_scoring.compiled import kernels
from linkscore_scoring.site.memory import NOT_FETCHED, LinkMemory, Sighting
from linkscore_scoring.state import State


class PackedLinkMemory(LinkMemory):
    """The same memory, whose records are no objects of Python.

    Parameters
    ----------
    made_by
        The kernels.
    max_links, max_contexts
        As of `LinkMemory`.
    """

    def __init__(self, made_by: ModuleType, *, max_links: int = 200_000, max_contexts: int = 6) -> None:
        super().__init__(max_links=max_links, max_contexts=max_contexts)
        self.table = made_by.LinkTable(max_links, max_contexts)

    def __len__(self) -> int:
        return len(self.table)

    def unknown(self, keys: Sequence[int]) -> dict[int, int]:
        """See `LinkMemory.unknown`."""
        found: dict[int, int] = self.table.unknown(keys)
        return found

    def see(
        self, source: int, depth: int, keys: Sequence[int], apaths: Sequence[int], patterns: Mapping[int, int]
    ) -> Sighting:
        """See `LinkMemory.see`."""
        seen = Sighting(*self.table.see(source, depth, keys, apaths, patterns))
        self._evict()
        return seen

    def fetched(self, key: int, *, depth: int, cluster: int, pattern: int) -> bool:
        """See `LinkMemory.fetched`."""
        before: bool = self.table.fetched(key, depth, cluster, pattern)
        self._evict()
        return before

    def is_fetched(self, key: int) -> bool:
        """See `LinkMemory.is_fetched`."""
        return self.cluster(key) != NOT_FETCHED

    def fetched_among(self, keys: Sequence[int]) -> set[int]:
        """See `LinkMemory.fetched_among`."""
        return set(self.table.fetched_among(keys))

    def pattern(self, key: int) -> int | None:
        """See `LinkMemory.pattern`."""
        known: int | None = self.table.pattern(key)
        return known

    def patterns(self, keys: Sequence[int]) -> list[int | None]:
        """See `LinkMemory.patterns`."""
        known: list[int | None] = self.table.patterns(keys)
        return known

    def relabel(self, clusters: Iterable[tuple[int, int]]) -> None:
        """See `LinkMemory.relabel`."""
        for key, cluster in clusters:
            self.table.relabel(key, cluster)

    def cluster(self, key: int) -> int:
        """See `LinkMemory.cluster`."""
        known: int = self.table.cluster(key)
        return known

    def depth(self, key: int) -> int | None:
        """See `LinkMemory.depth`."""
        known: int | None = self.table.depth(key)
        return known

    def contexts(self, key: int) -> list[tuple[int, int]]:
        """See `LinkMemory.contexts`."""
        known: list[tuple[int, int]] = self.table.contexts(key)
        return known

    def sources(self, keys: Iterable[int]) -> list[list[int]]:
        """See `LinkMemory.sources`."""
        known: list[list[int]] = self.table.sources(list(keys))
        return known

    def waiting(self) -> Counter[tuple[int, int]]:
        """See `LinkMemory.waiting`."""
        return Counter(self.table.waiting())

    def waiting_group(self, key: int) -> tuple[int, int] | None:
        """See `LinkMemory.waiting_group`."""
        known: tuple[int, int] | None = self.table.waiting_group(key)
        return known

    def to_state(self) -> State:
        """See `Stateful.to_state`: as `LinkMemory` writes it."""
        self._links = self.table.plain()
        state = super().to_state()
        self._links = {}
        return state

    def after_load(self) -> None:
        """Pack what was loaded, and raise ValueError if it is not of a memory."""
        self.table.load(self._links)
        self._links = {}

    def _evict(self) -> None:
        self.evicted += self.table.evict()


def link_memory(*, max_links: int, max_contexts: int) -> LinkMemory:
    """Return an empty memory of URLs: packed where the kernels are there."""
    if kernels is None:
        return LinkMemory(max_links=max_links, max_contexts=max_contexts)
    return PackedLinkMemory(kernels, max_links=max_links, max_contexts=max_contexts)
