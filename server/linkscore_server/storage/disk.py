"""Files and folders that are on the disk when a call returns."""

from __future__ import annotations

import os
from pathlib import Path

from linkscore_server.storage import failpoints

PRIVATE = 0o600
"""Mode of files: only the owner may read secrets, and what is known of people and sites."""
PRIVATE_FOLDER = 0o700
"""Mode of the folders they lie in."""


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


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`; one `os.write` may take less than it is given.

    Raises
    ------
    OSError
        If the disk takes no more; what it took stays.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def replace_file(path: Path, data: bytes, *, draft: Path) -> None:
    """Put a private file in the place of the one before, or of none; after a crash there is either, whole.

    Parameters
    ----------
    path
        The file.
    data
        What it shall hold.
    draft
        Passing name in the same folder; what a crash left there is overwritten.

    Raises
    ------
    OSError
        If it could not be made durable; the file before is still there.
    """
    draft.unlink(missing_ok=True)  # one that a crash left may be readable by others
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    failpoints.reached("file.drafted")
    draft.replace(path)
    failpoints.reached("file.renamed")
    sync(path.parent)


def ensure_folder(folder: Path) -> None:
    """Make a private folder and those above it, durably; one that is there is fine."""
    if not folder.exists():
        ensure_folder(folder.parent)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        sync(folder.parent)
