"""Where the compiled reader of pages takes the place of the pure one.

It is taken if the distribution ``linkscore-native`` is installed and not turned off, and gives what the pure
reader gives. A page it cannot answer equally for goes to the pure reader, and is counted by the reason.
"""

from __future__ import annotations

from collections.abc import Callable

from linkscore_scoring.compiled import kernels
from linkscore_scoring.features.layout.signals import page_layout
from linkscore_scoring.features.layout.tree import PageTree
from linkscore_scoring.features.types import Head, Links, PageFeatures, PathTrie
from linkscore_scoring.urls.resolve import MAX_CACHED_URLS, UrlResolver

NATIVE_VERSION: str = kernels.__version__ if kernels else ""
"""Version of the compiled reader, empty if pages are read by pure Python alone."""


class NativeReader:
    """Reads pages as UTF-8; any number of threads may use one.

    Parameters
    ----------
    bounds
        Bounds of extraction by name, as ``native/src/bounds.rs`` names them.

    on_left
        Told the reason for each page that is left to the pure reader: ``depth``, ``attributes`` or
        ``rel``.
    """

    def __init__(self, bounds: dict[str, int | str], on_left: Callable[[str], None]) -> None:
        import linkscore_native  # not above: pure Python does without

        self._on_left = on_left
        self._reader = linkscore_native.Reader(bounds)
        self._urls = linkscore_native.UrlTable(MAX_CACHED_URLS)

    def read(
        self,
        markup: bytes,
        features: PageFeatures,
        resolver_of: Callable[[Head], UrlResolver],
        *,
        layout: bool,
    ) -> bool:
        """Fill `features` from a page, or say that this has to be done elsewhere.

        Parameters
        ----------
        markup
            The page, valid UTF-8.
        resolver_of
            Takes what the head of the page says and gives what resolves its links.
        layout
            Whether a layout is asked for, of which what is where is read here, and its signals by Python.
        """
        page = self._reader.read(markup, layout)
        if isinstance(page, str):
            self._on_left(page)
            return False
        if page.is_empty:
            features.notes.append("empty")
            return True
        resolver = resolver_of(Head(page.base, page.canonical, page.nofollow))
        rows = page.links(self._urls, resolver)
        features.links = Links(**rows["columns"])
        features.paths = PathTrie(*page.paths())
        features.text_chars, features.anchor_chars = page.text_chars, page.anchor_chars
        features.block_hashes, features.block_chars = page.block_hashes, page.block_chars
        links_cut, apaths_cut = rows["cuts"]
        cuts = {
            "elements_cut": page.elements_cut,
            "links_cut": links_cut,
            "apaths_cut": apaths_cut,
            "depth_cut": page.depth_cut,
            "paths_cut": page.paths_cut,
        }
        features.notes += [note for note, cut in cuts.items() if cut]
        if (outline := page.outline()) is not None:
            features.layout = page_layout(PageTree.of(**outline), features, rows["numbers"])
        return True


def reader_name() -> str:
    """Return which reader reads the pages of this process: ``pure``, or ``native`` with its version."""
    return f"native {NATIVE_VERSION}" if NATIVE_VERSION else "pure"
