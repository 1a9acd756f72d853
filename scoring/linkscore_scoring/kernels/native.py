"""The compiled kernels; the one module that imports ``linkscore_native``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import linkscore_native
from linkscore_scoring.kernels.protocol import Kernels, LinkReader, LinkTable, PageReader, TemplateSpace

_SET = 16
"""The set of kernels that is known here: a distribution with another one is passed over."""


def is_usable() -> bool:
    """Say whether the distribution is not turned off, and has the kernels that are known here."""
    return linkscore_native.ENABLED and getattr(linkscore_native, "KERNELS", 0) == _SET


class _NativePages:
    """A reader of pages, and the URLs it resolved."""

    def __init__(self, bounds: Mapping[str, int | str], max_urls: int) -> None:
        self.read = linkscore_native.Reader(dict(bounds)).read
        self.urls = linkscore_native.UrlTable(max_urls)


class NativeKernels:
    """See `Kernels`."""

    name = f"native {linkscore_native.__version__}"
    reads_in_threads = True

    def page_reader(self, bounds: Mapping[str, int | str], max_urls: int) -> PageReader:
        """See `Kernels.page_reader`."""
        return _NativePages(bounds, max_urls)

    def link_table(self, max_links: int, max_contexts: int) -> LinkTable:
        """See `Kernels.link_table`."""
        return linkscore_native.LinkTable(max_links, max_contexts)

    def link_reader(self, max_urls: int) -> LinkReader:
        """See `Kernels.link_reader`."""
        return linkscore_native.LinkReader(max_urls)

    def template_space(
        self, idf: bytes, means: bytes, weights: bytes, texts: tuple[Iterable[str], ...]
    ) -> TemplateSpace:
        """See `Kernels.template_space`."""
        return linkscore_native.TemplateSpace(idf, means, weights, texts)


NATIVE: Kernels = NativeKernels()
"""The compiled kernels."""
