"""What is wrong with the visits of a shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkscore_scoring.errors import CorruptState
from linkscore_server.browse_logs.visits.files import FileReader, check, salt_in


def problems_of_visits(browse: Path) -> Iterator[str]:
    """Yield what is wrong with the visits below their folder, one line a file."""
    try:
        if (salt := browse / "salt").exists():
            salt_in(salt)
    except CorruptState as exc:
        yield str(exc)
    parts: list[Path] = []
    try:
        with _naming(browse):
            staged = sorted(browse.glob("staged/*/*.parquet"))
            parts = [*staged, *FileReader(browse / "days").parts(-(1 << 31), 1 << 31)]
    except CorruptState as exc:
        yield str(exc)
    for part in parts:
        try:
            with _naming(part):
                check([part])
        except CorruptState as exc:
            yield str(exc)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name what cannot be read: a file that fits its checksum may still hold anything."""
    try:
        yield
    except (CorruptState, OSError):
        raise
    except Exception as exc:  # of every library that reads here
        raise CorruptState(f"{path}: cannot be read: {type(exc).__name__}: {exc}") from exc
