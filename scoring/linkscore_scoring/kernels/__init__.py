"""The work that compiled code may do in place of Python: one object, chosen once, when a process starts.

`KERNELS` is compiled where the distribution ``linkscore-native`` is installed, not turned off and of the set
that is known here, and `PURE` elsewhere. Nobody else asks which: both answer the same, and a kernel that has
no answer says so, as the pure ones do.
"""

from linkscore_scoring.kernels.protocol import Kernels
from linkscore_scoring.kernels.pure import PURE


def choose() -> Kernels:
    """Return the compiled kernels if they can be used, else the pure ones."""
    try:
        from linkscore_scoring.kernels import native
    except ImportError:
        return PURE
    return native.NATIVE if native.is_usable() else PURE


KERNELS = choose()
"""The kernels of this process."""

__all__ = ["KERNELS", "PURE", "Kernels", "choose"]
