"""The compiled reader of pages, chosen once, when a process starts; pages it cannot read, Python reads.

`KERNELS` is compiled where the distribution ``linkscore-native`` is installed, not turned off and of the
columns that are known here, and `PURE` elsewhere. Both give the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_log = logging.getLogger(__name__)

_COLUMNS = 21
"""The set of columns that is known here: a distribution with another one is passed over."""

Read = Callable[[bytes, bool], "dict[str, Any] | str"]
"""Takes a page of valid UTF-8, and whether a layout is asked for; gives its columns by name, or the reason
why it is left to Python: ``depth``, ``attributes`` or ``rel``. Any number of threads may call it."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Who reads pages: ``pure``, or ``native`` and its version with what makes a reader within bounds.

    Bounds go by the names in ``native/src/walk.rs``.
    """

    name: str
    reader: Callable[[Mapping[str, int | str]], Read] | None = None


PURE = Kernels("pure")


def choose() -> Kernels:
    """Return the compiled reader if it can be used, else `PURE`."""
    try:
        import linkscore_native as native
    except ImportError:
        return PURE
    if not native.ENABLED:
        return PURE
    if getattr(native, "COLUMNS", 0) != _COLUMNS:
        _log.warning("linkscore-native is of another linkscore, pages are read without it: run make native")
        return PURE
    return Kernels(f"native {native.__version__}", lambda bounds: native.Reader(dict(bounds)).read)


KERNELS = choose()
"""The reader of this process."""
