"""Where the visits of a shard are kept, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linkscore_scoring.errors import CorruptState
from linkscore_server.browse_logs.visits.base import VisitStore
from linkscore_server.browse_logs.visits.files import FileReader, FileVisits, check
from linkscore_server.browse_logs.visits.memory import MemoryVisits
from linkscore_server.storage.base import Store
from linkscore_server.storage.check import naming
from linkscore_server.storage.secret_files import read_secret

_FOLDER = "browse"


def visits_of(store: Store, shard: str) -> VisitStore:
    """Return what keeps the visits of a shard that exists."""
    return store.beside(
        shard, _FOLDER, lambda folder: MemoryVisits() if folder is None else FileVisits(folder)
    )


def problems_of_visits(shard: Path) -> Iterator[str]:
    """Yield what is wrong with the visits below the folder of a shard, one line a file."""
    browse = shard / _FOLDER
    salt = browse / "salt"
    try:
        if salt.exists():
            read_secret(salt)
    except CorruptState as exc:
        yield str(exc)
    parts: list[Path] = []
    try:
        with naming(browse):
            staged = sorted(browse.glob("staged/*/*.parquet"))
            parts = [*staged, *FileReader(browse / "days").parts(-(1 << 31), 1 << 31)]
    except CorruptState as exc:
        yield str(exc)
    for part in parts:
        try:
            with naming(part):
                check([part])
        except CorruptState as exc:
            yield str(exc)
