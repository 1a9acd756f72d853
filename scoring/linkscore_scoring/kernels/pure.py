"""The kernels by Python alone: the specification of the compiled ones, and what a fresh clone runs.

Pages, questions and templates have no pure kernel, for `features`, the server and `clustering` do that work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.kernels.protocol import (
    NOT_FETCHED,
    Kernels,
    LinkReader,
    LinkTable,
    PackedLinks,
    PageReader,
    ReadPage,
    TemplateSpace,
)

_DEPTH, _CLUSTER, _PATTERN, _CONTEXTS = 0, 1, 2, 3
"""Cells of a record; from the last on there are pairs of source page and link path."""


class _NoPages:
    urls = None

    def read(self, markup: bytes, layout: bool, /) -> ReadPage | str:
        return ""


class _NoQuestions:
    def read(
        self, raw: bytes, max_chars: int, identify: Callable[[str], str | None], /
    ) -> PackedLinks | None:
        return None


class _NoTemplates:
    def __len__(self) -> int:
        return 0

    def distances(
        self, steps: tuple[list[int], list[str], list[str]], leaves: list[int]
    ) -> list[float] | None:
        return None


class PureLinkTable:
    """URLs as flat lists [depth, cluster, pattern, source, link path, source, ...], some 250 bytes each.

    Parameters
    ----------
    max_links, max_contexts
        URLs that are kept, and in-links of each.
    """

    def __init__(self, max_links: int, max_contexts: int) -> None:
        self._max_links = max_links
        self._max_contexts = max_contexts
        self._links: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._links)

    def unknown(self, keys: Sequence[int]) -> dict[int, int]:
        """See `LinkTable.unknown`."""
        links = self._links
        found: dict[int, int] = {}
        for row, key in enumerate(keys):
            if key not in links:
                found.setdefault(key, row)
        return found

    def see(
        self,
        source: int,
        depth: int,
        keys: Sequence[int],
        link_paths: Sequence[int],
        patterns: Mapping[int, int],
    ) -> tuple[list[int], list[bool], list[bool], list[tuple[int, int]]]:
        """See `LinkTable.see`."""
        links = self._links
        seen_patterns, fresh, first_here = list[int](), list[bool](), list[bool]()
        displaced: list[tuple[int, int]] = []
        for key, link_path in zip(keys, link_paths, strict=True):
            known = links.get(key)
            fresh.append(known is None)
            if known is None:
                known = links[key] = [depth, NOT_FETCHED, patterns[key], source, link_path]
                first_here.append(True)
            elif known[_CLUSTER] == NOT_FETCHED:
                first_here.append(self._renew(known, source, link_path, displaced))
            else:
                first_here.append(False)
            seen_patterns.append(known[_PATTERN])
        return seen_patterns, fresh, first_here, displaced

    def _renew(self, known: list[int], source: int, link_path: int, displaced: list[tuple[int, int]]) -> bool:
        """Make (source, link path) the latest in-link of a URL; say whether its source is a new one."""
        sources, link_paths = known[_CONTEXTS::2], known[_CONTEXTS + 1 :: 2]
        first = source not in sources
        old = (
            link_paths.index(link_path)
            if link_path in link_paths
            else 0
            if len(link_paths) >= self._max_contexts
            else None
        )
        if old is not None:
            if sources[old] == source:
                return first
            if sources.index(sources[old]) == old:
                displaced.append((sources[old], link_paths[old]))
            del known[_CONTEXTS + 2 * old : _CONTEXTS + 2 * old + 2]
        known += (source, link_path)
        return first

    def fetched(self, key: int, depth: int, cluster: int, pattern: int) -> bool:
        """See `LinkTable.fetched`."""
        known = self._links.get(key)
        if known is None:
            self._links[key] = [depth, cluster, pattern]
            return False
        before = known[_CLUSTER] != NOT_FETCHED
        known[_CLUSTER] = cluster
        return before

    def evict(self) -> int:
        """See `LinkTable.evict`."""
        return len(drop_oldest(self._links, self._max_links))

    def relabel(self, key: int, cluster: int) -> None:
        """See `LinkTable.relabel`."""
        if key in self._links:
            self._links[key][_CLUSTER] = cluster

    def depth(self, key: int) -> int | None:
        """See `LinkTable.depth`."""
        known = self._links.get(key)
        return None if known is None else known[_DEPTH]

    def cluster(self, key: int) -> int:
        """See `LinkTable.cluster`."""
        known = self._links.get(key)
        return NOT_FETCHED if known is None else known[_CLUSTER]

    def pattern(self, key: int) -> int | None:
        """See `LinkTable.pattern`."""
        known = self._links.get(key)
        return None if known is None else known[_PATTERN]

    def patterns(self, keys: Sequence[int]) -> list[int | None]:
        """See `LinkTable.patterns`."""
        records = map(self._links.get, keys)
        return [None if known is None else known[_PATTERN] for known in records]

    def fetched_among(self, keys: Sequence[int]) -> list[int]:
        """See `LinkTable.fetched_among`."""
        records = zip(keys, map(self._links.get, keys), strict=True)
        return [key for key, known in records if known is not None and known[_CLUSTER] != NOT_FETCHED]

    def contexts(self, key: int) -> list[tuple[int, int]]:
        """See `LinkTable.contexts`."""
        known = self._links.get(key)
        return [] if known is None else list(zip(known[_CONTEXTS::2], known[_CONTEXTS + 1 :: 2], strict=True))

    def sources(self, keys: Sequence[int]) -> list[list[int]]:
        """See `LinkTable.sources`."""
        records = map(self._links.get, keys)
        return [[] if known is None else known[_CONTEXTS::2] for known in records]

    def waiting(self) -> dict[tuple[int, int], int]:
        """See `LinkTable.waiting`."""
        return Counter(
            (known[_PATTERN], known[_CONTEXTS + 1])
            for known in self._links.values()
            if known[_CLUSTER] == NOT_FETCHED
        )

    def waiting_group(self, key: int) -> tuple[int, int] | None:
        """See `LinkTable.waiting_group`."""
        known = self._links.get(key)
        if known is None or known[_CLUSTER] != NOT_FETCHED:
            return None
        return known[_PATTERN], known[_CONTEXTS + 1]

    def plain(self) -> dict[int, list[int]]:
        """See `LinkTable.plain`."""
        return self._links

    def load(self, plain: dict[int, list[int]]) -> None:
        """See `LinkTable.load`; records are taken as they are."""
        self._links = plain


class PureKernels:
    """See `Kernels`."""

    name = "pure"
    reads_in_threads = False

    def page_reader(self, bounds: Mapping[str, int | str], max_urls: int) -> PageReader:
        """See `Kernels.page_reader`: it leaves all pages to `features.html`."""
        return _NoPages()

    def link_table(self, max_links: int, max_contexts: int) -> LinkTable:
        """See `Kernels.link_table`."""
        return PureLinkTable(max_links, max_contexts)

    def link_reader(self, max_urls: int) -> LinkReader:
        """See `Kernels.link_reader`: it leaves all questions to who asks."""
        return _NoQuestions()

    def template_space(
        self, idf: bytes, means: bytes, weights: bytes, texts: tuple[Iterable[str], ...]
    ) -> TemplateSpace:
        """See `Kernels.template_space`: it leaves all pages to `clustering.cosine_linkage`."""
        return _NoTemplates()


PURE: Kernels = PureKernels()
"""The pure kernels."""
