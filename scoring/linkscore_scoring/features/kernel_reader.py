"""Features of pages that a kernel reads; it gives what `features.html` gives, or leaves a page to that."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from linkscore_scoring.features.layouts import layout_reader
from linkscore_scoring.features.types import Head, Links, PageFeatures, PathTrie
from linkscore_scoring.kernels import Kernels
from linkscore_scoring.urls.resolve import MAX_CACHED_URLS, UrlResolver


class KernelReader:
    """Reads pages as UTF-8; any number of threads may use one.

    Parameters
    ----------
    kernels
        Read them.
    bounds
        Bounds of extraction by name, as ``native/src/bounds.rs`` names them.
    on_left
        Called with the reason for each page that a compiled reader leaves to the pure one: ``depth``,
        ``attributes`` or ``rel``.
    max_urls
        Resolved hrefs that are remembered.
    """

    def __init__(
        self,
        kernels: Kernels,
        bounds: Mapping[str, int | str],
        on_left: Callable[[str], None],
        *,
        max_urls: int = MAX_CACHED_URLS,
    ) -> None:
        self._on_left = on_left
        self._reader = kernels.page_reader(bounds, max_urls)

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
        measured = layout_reader() if layout else None
        page = self._reader.read(markup, measured is not None)
        if isinstance(page, str):
            if page:
                self._on_left(page)
            return False
        if page.is_empty:
            features.notes.append("empty")
            return True
        resolver = resolver_of(Head(page.base, page.canonical, page.nofollow))
        rows = page.links(self._reader.urls, resolver)
        features.links = Links.of_columns(rows["columns"])
        features.paths = PathTrie(*page.paths())
        features.text_chars, features.anchor_chars = page.text_chars, page.anchor_chars
        features.block_hashes, features.block_chars = page.block_hashes, page.block_chars
        links_cut, link_paths_cut = rows["cuts"]
        cuts = {
            "elements_cut": page.elements_cut,
            "links_cut": links_cut,
            "apaths_cut": link_paths_cut,
            "depth_cut": page.depth_cut,
            "paths_cut": page.paths_cut,
        }
        features.notes += [note for note, cut in cuts.items() if cut]
        if measured is not None and (outline := page.outline()) is not None:
            features.layout = measured.of_outline(outline, features, rows["numbers"])
        return True
