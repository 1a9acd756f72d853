"""The data folder of a server: locked, so that no second one opens it, with what lies beside the store."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
"""Modes of files and folders: only the owner may read secrets, and what is known of people and sites."""


class DataFolder:
    """A folder that this process has, or none: then nothing is kept on a disk.

    `lock` is its descriptor if one that holds it started this process: it holds as long as either does.
    """

    def __init__(self, path: Path | None, *, lock: int | None = None) -> None:
        self.path = path
        self.lock = -1 if lock is None else lock
        if path is None or lock is not None:
            return
        ensure_folder(path)
        self.lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, PRIVATE)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(self.lock)
            raise OSError(
                f"{path}: in use by another linkscore process; stop it first, or name another folder"
            ) from exc

    def beside(self, key: str, name: str) -> Path | None:
        """Return the folder of what is kept under a name for a shard; it need not be there."""
        return self.path / name / key if self.path is not None else None

    def erase_beside(self, key: str) -> None:
        """Erase all folders of a shard."""
        if self.path is not None:
            for folder in self.path.glob(f"*/{key}"):
                gone = folder.with_name(f"{key}.gone")
                shutil.rmtree(gone, ignore_errors=True)
                folder.rename(gone)  # a mining that still reads there makes no more files in it
                shutil.rmtree(gone)

    def close(self) -> None:
        """Let another server have it."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def ensure_folder(folder: Path) -> None:
    """Make a private folder and those above it, durably; one that is there is fine."""
    if not folder.exists():
        if str(folder).startswith("~"):
            raise OSError(f"{folder}: only a shell knows what ~ is, write the whole path")
        ensure_folder(folder.parent)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        sync(folder.parent)
