"""Files and folders that are on the disk when a call returns."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are on the disk.

    Raises
    ------
    OSError
        If the path cannot be opened or written through.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
