"""Where the visits of a shard are kept, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from linkscore_scoring.errors import CorruptState
from linkscore_server.browse_logs.settings import BrowseLogSettings
from linkscore_server.browse_logs.visits.base import VisitStore
from linkscore_server.browse_logs.visits.files import FileReader, FileVisits, check
from linkscore_server.browse_logs.visits.memory import MemoryVisits
from linkscore_server.browse_logs.visits.shared import SharedVisits, drop_left
from linkscore_server.browse_logs.visits.tables import DAY_S
from linkscore_server.storage.base import Store
from linkscore_server.storage.check import naming
from linkscore_server.storage.secret_files import read_secret

_FOLDER = "browse"


def visits_of(
    store: Store, shard: str, keep_days: int = BrowseLogSettings.browse_retention_days
) -> VisitStore:
    """Return what keeps the visits of a shard that exists; where others share them, for so many days."""
    files = store.shared_files(shard, keep_days * DAY_S)

    def kept(folder: Path | None) -> VisitStore:
        if folder is None:
            return MemoryVisits()
        return FileVisits(folder) if files is None else SharedVisits(folder, files)

    return store.beside(shard, _FOLDER, kept)


def drop_copies(store: Store, here: Collection[str], before_s: float) -> None:
    """Delete copies of visits of shards that are not here, and were not since a time (epoch seconds)."""
    drop_left(store.left_beside(_FOLDER, here), before_s)


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
