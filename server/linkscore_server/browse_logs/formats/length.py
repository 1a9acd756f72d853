"""How many records a file has, about: what a progress bar needs to know."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import zstandard

from linkscore_server.browse_logs.formats.base import LogFile, compression
from linkscore_server.storage.visits.connection import text

_LOOK_BYTES = 1 << 20


def estimated_records(file: LogFile) -> int:
    """Return the records of a Parquet file; of a text file its lines, by the first MiB. At least 1."""
    if file.format == "parquet":
        with duckdb.connect() as con:
            row = con.execute(f"SELECT count(*) FROM read_parquet({text(str(file.path))})").fetchone()
        return max(row[0] if row else 0, 1)
    lines, taken = _first_bytes(file.path)
    return max(round(lines * file.path.stat().st_size / max(taken, 1)), 1)


def _first_bytes(path: Path) -> tuple[int, int]:
    """Return the lines of the beginning of a file, and the bytes of the file they were made of."""
    kind = compression(path)
    with path.open("rb") as raw:
        if kind == "none":
            data = raw.read(_LOOK_BYTES)
            return data.count(b"\n"), len(data)
        if kind == "gzip":
            with gzip.GzipFile(fileobj=raw) as opened:
                return opened.read(_LOOK_BYTES).count(b"\n"), raw.tell()
        with zstandard.ZstdDecompressor().stream_reader(raw, closefd=False) as stream:
            return stream.read(_LOOK_BYTES).count(b"\n"), raw.tell()
