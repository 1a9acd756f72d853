"""The page reader of linkscore, compiled: `linkscore_scoring.kernels` takes it if it is installed.

``LINKSCORE_NATIVE=0`` in the environment turns it off: `ENABLED` is false, and pure Python reads all pages.
"""

import os

from linkscore_native._native import Reader, __version__

ENABLED = os.environ.get("LINKSCORE_NATIVE", "1") != "0"

COLUMNS = 21
"""Number of the set of columns that is read: linkscore takes the one it was made with, and no other."""

__all__ = ["COLUMNS", "ENABLED", "Reader", "__version__"]
