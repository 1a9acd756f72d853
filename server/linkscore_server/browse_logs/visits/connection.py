"""A DuckDB of one's own: bounded memory, spilling to a folder, no network, times in UTC."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


DEFAULT_MEMORY_MB = 1_024
"""Memory of DuckDB, MiB, where no setting says it. Chosen, not measured; more than that goes to the disk."""

WORK = "browse-work-"
"""How the names of folders begin that a crash may leave behind."""

_SESSION = "SET TimeZone = 'UTC'; SET enable_progress_bar = false"


@contextmanager
def workspace(
    *, memory_mb: int = DEFAULT_MEMORY_MB, threads: int = 0, below: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB whose tables lie compressed in a folder that is deleted on leaving.

    Parameters
    ----------
    memory_mb
        Most memory of DuckDB in MiB; what does not fit goes to the folder.
    threads
        Threads of a query; 0 takes one a core.
    below
        Where the folder is made; None: where the system keeps what is passing.

    Raises
    ------
    OSError
        If the disk has no room for the folder.
    """
    import duckdb  # slow to import: only where there are logs

    try:
        with (
            TemporaryDirectory(prefix=WORK, dir=below) as folder,
            duckdb.connect(f"{folder}/work.duckdb", config=_config(memory_mb, threads, folder)) as con,
        ):
            con.execute(_SESSION)
            yield con
    except duckdb.IOException as exc:
        if is_full(exc):
            raise OSError(errno.ENOSPC, f"browse logs: {exc}") from exc
        raise


def is_full(error: duckdb.IOException) -> bool:
    """Say whether DuckDB found no room on the disk; the number of the error is in its text alone."""
    return os.strerror(errno.ENOSPC) in str(error)


def in_memory(*, memory_mb: int = DEFAULT_MEMORY_MB, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB that touches no disk; fails with `duckdb.OutOfMemoryException` beyond `memory_mb`."""
    import duckdb

    con = duckdb.connect(config=_config(memory_mb, threads, ""))
    con.execute(_SESSION)
    return con


def text(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def _config(memory_mb: int, threads: int, folder: str) -> dict[str, str | bool | int | float | list[str]]:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_mb}MiB",
        "temp_directory": folder,
        "autoinstall_known_extensions": False,
    }
    if threads:
        config["threads"] = threads
    return config
