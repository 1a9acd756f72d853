"""What kernels give; whoever has another way to an answer takes it where a kernel has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

NOT_FETCHED = -3
"""Cluster of a URL that was seen in links and not fetched."""


class ReadPage(Protocol):
    """What was read of a page, by the names of `features.types.PageFeatures`."""

    is_empty: bool
    base: str
    canonical: str
    nofollow: bool
    text_chars: int
    anchor_chars: int
    block_hashes: list[int]
    block_chars: list[int]
    elements_cut: bool
    depth_cut: bool
    paths_cut: bool

    def paths(self) -> tuple[list[int], list[str], list[str], list[int]]:
        """Return the columns of its `PathTrie`."""

    def outline(self) -> dict[str, Any] | None:
        """Return the columns of its `PageTree`, None if no layout was asked for."""

    def links(self, urls: Any, resolver: Any) -> Any:
        """Return the columns of its `Links`, the numbers of its anchors, and what was cut."""


class PageReader(Protocol):
    """Reads pages; any number of threads may use one.

    Attributes
    ----------
    urls
        What it remembers of the hrefs it resolved, for `ReadPage.links`.
    """

    urls: Any

    def read(self, markup: bytes, layout: bool, /) -> ReadPage | str:
        """Return what is in a page of valid UTF-8, or why it is left to Python; empty if all are."""


class LinkTable(Protocol):
    """URLs by identity hash, in the order in which they were first seen: see `site.memory.LinkMemory`."""

    def __len__(self) -> int:
        """Return the number of URLs."""

    def unknown(self, keys: Sequence[int]) -> dict[int, int]:
        """See `LinkMemory.unknown`."""

    def see(
        self,
        source: int,
        depth: int,
        keys: Sequence[int],
        link_paths: Sequence[int],
        patterns: Mapping[int, int],
    ) -> tuple[list[int], list[bool], list[bool], list[tuple[int, int]]]:
        """Return the fields of a `Sighting`."""

    def fetched(self, key: int, depth: int, cluster: int, pattern: int) -> bool:
        """See `LinkMemory.fetched`."""

    def evict(self) -> int:
        """Forget the URLs seen first beyond the bound, and return how many."""

    def relabel(self, key: int, cluster: int) -> None:
        """Give a URL another cluster, if it is known."""

    def depth(self, key: int) -> int | None:
        """See `LinkMemory.depth`."""

    def cluster(self, key: int) -> int:
        """See `LinkMemory.cluster`."""

    def pattern(self, key: int) -> int | None:
        """See `LinkMemory.pattern`."""

    def patterns(self, keys: Sequence[int]) -> list[int | None]:
        """See `LinkMemory.patterns`."""

    def fetched_among(self, keys: Sequence[int]) -> list[int]:
        """Return those of some URLs that were fetched."""

    def contexts(self, key: int) -> list[tuple[int, int]]:
        """See `LinkMemory.contexts`."""

    def sources(self, keys: Sequence[int]) -> list[list[int]]:
        """See `LinkMemory.sources`."""

    def waiting(self) -> dict[tuple[int, int], int]:
        """See `LinkMemory.waiting`."""

    def waiting_group(self, key: int) -> tuple[int, int] | None:
        """See `LinkMemory.waiting_group`."""

    def plain(self) -> dict[int, list[int]]:
        """Return the records by URL: depth, cluster, pattern, source, link path, source, link path, ..."""

    def load(self, plain: dict[int, list[int]]) -> None:
        """Take over what `plain` gave in place of all there is; ValueError if it is no such thing."""


class PackedLinks(Protocol):
    """Links of a question; columns of them are made when they are asked for."""

    def __len__(self) -> int:
        """Return the number of links."""

    def urls(self) -> list[str]:
        """Return the URLs."""

    def keys(self) -> list[str]:
        """Return the identities."""

    def hashes(self) -> list[int]:
        """Return the hashes of the identities."""

    def anchors(self) -> list[str]:
        """Return the anchor texts."""

    def doubtful(self) -> list[str]:
        """Return URLs and identities in which there may be a session id of a name that all sites know."""

    def tickets(self) -> tuple[list[bytes], bytes]:
        """Return the distinct tickets, and for each link the place of its own, int64."""

    def groups(
        self, table: Any, link_paths: Sequence[int], pattern_of: Callable[[str], int]
    ) -> tuple[list[tuple[int, int]], bytes]:
        """Return the distinct pairs of URL pattern and link path, and the place of each link's own, int64.

        Parameters
        ----------
        table
            The `LinkTable` of the site.
        link_paths
            Of each distinct ticket.
        pattern_of
            Gives the pattern of an identity that the table does not know.
        """


class LinkReader(Protocol):
    """Reads the links of questions."""

    def read(
        self, raw: bytes, max_chars: int, identify: Callable[[str], str | None], /
    ) -> PackedLinks | None:
        """Return the links of a `ScoreLinksRequest`; None if Python has to read it."""


class TemplateSpace(Protocol):
    """Mean vectors of the templates of a site, and which steps of tag paths lead where."""

    def __len__(self) -> int:
        """Return the number of steps that are remembered."""

    def distances(
        self, steps: tuple[list[int], list[str], list[str]], leaves: list[int]
    ) -> list[float] | None:
        """Return the distance of a page to each template, None if Python has to say it."""


class Kernels(Protocol):
    """A set of kernels.

    Attributes
    ----------
    name
        ``pure``, or ``native`` and its version.
    reads_in_threads
        Whether pages are read without Python's lock.
    """

    name: str
    reads_in_threads: bool

    def page_reader(self, bounds: Mapping[str, int | str], max_urls: int) -> PageReader:
        """Return a reader of pages.

        Parameters
        ----------
        bounds
            Bounds of extraction, by the names in ``native/src/bounds.rs``.
        max_urls
            Resolved hrefs that are remembered.
        """

    def link_table(self, max_links: int, max_contexts: int) -> LinkTable:
        """Return an empty table of URLs that keeps so many of them, and so many in-links of each."""

    def link_reader(self, max_urls: int) -> LinkReader:
        """Return a reader of questions that remembers so many URLs."""

    def template_space(
        self, idf: bytes, means: bytes, weights: bytes, texts: tuple[Iterable[str], ...]
    ) -> TemplateSpace:
        """Return the templates of a site.

        Parameters
        ----------
        idf, means, weights
            Inverse document frequencies, (n_columns,); means, (n_columns, n_templates); weight of each
            number of leaves, (n,); float64.
        texts
            Tokens that keep their digits, tokens rarest first, known paths, and the path of each column.
        """
