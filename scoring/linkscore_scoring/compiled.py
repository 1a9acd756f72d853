"""The compiled kernels, where the distribution ``linkscore-native`` is installed and not turned off.

Who has a kernel for its work asks it first, and does it in Python without one; both give the same.
"""

from __future__ import annotations

from types import ModuleType

kernels: ModuleType | None
"""The module of compiled kernels, None if Python does it all."""

try:
    import linkscore_native
except ImportError:
    kernels = None
else:
    kernels = linkscore_native if linkscore_native.ENABLED else None
