"""The compiled kernels, where the distribution ``linkscore-native`` is installed and not turned off.

Who has a kernel for its work asks it first, and does it in Python without one; both give the same.
"""

from __future__ import annotations

from types import ModuleType

_KERNELS = 15
"""The set of kernels that is known here: a distribution with another one is passed over."""

kernels: ModuleType | None = None
"""The module of compiled kernels, None if Python does it all."""

try:
    import linkscore_native
except ImportError:
    pass
else:
    if linkscore_native.ENABLED and getattr(linkscore_native, "KERNELS", 0) == _KERNELS:
        kernels = linkscore_native
