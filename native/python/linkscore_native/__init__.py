"""The page reader of linkscore, compiled: `linkscore_scoring.features.native` takes it if it is installed.

``LINKSCORE_NATIVE=0`` in the environment turns it off: `ENABLED` is false, and pure Python reads all pages.
"""

import os

from linkscore_native._native import (
    AskedLinks,
    LinkReader,
    LinkTable,
    Page,
    Reader,
    TemplateSpace,
    UrlTable,
    __version__,
)

ENABLED = os.environ.get("LINKSCORE_NATIVE", "1") != "0"

KERNELS = 16
"""Number of the set of kernels: linkscore takes the one it was made with, and does without any other."""

__all__ = [
    "ENABLED",
    "KERNELS",
    "AskedLinks",
    "LinkReader",
    "LinkTable",
    "Page",
    "Reader",
    "TemplateSpace",
    "UrlTable",
    "__version__",
]
