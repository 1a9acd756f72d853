"""A log file as the user names it: its format, from its first lines, and about how many records it has."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import duckdb
import zstandard

from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.formats import POSITIONS, LogFile, access_format_of, compression, is_header
from linkscore_server.browse_logs.visits import text

_LOOK_LINES = 50
"""Lines that a format is told by: enough to pass over a few that are damaged."""

_LOOK_BYTES = 1 << 20
"""Bytes of a text file, decompressed, by which it is told what it is; reading them takes milliseconds."""

_DELIMITERS = {"csv": ",", "tsv": "\t"}


def log_file(
    path: Path,
    *,
    format: str = "",
    columns: Mapping[str, str] | None = None,
    names: tuple[str, ...] = (),
    host: str = "",
) -> LogFile:
    """Return how to read a file; what is not given is found out.

    Parameters
    ----------
    path
        The file, compressed or not.
    format
        Name of a format; empty looks at the file.
    columns
        Column by field, see `LogFile.columns`.
    names
        Columns in order, for a file without a header.
    host
        Host in front of paths, with or without a scheme (then http).

    Raises
    ------
    InvalidInput
        If the file has no record to go by, is of no known format, or lacks a column.
    OSError
        If it cannot be read.
    """
    lines = [] if _is_parquet(path) else _first_lines(path)
    kind = format or ("parquet" if _is_parquet(path) else _kind(lines, path))
    header, has_header = _names(path, kind, lines)
    base = host if not host or "://" in host else f"http://{host}"
    given = columns or {}
    return LogFile(path, kind, given, names or header, has_header and not names, base.rstrip("/"))


def estimated_records(file: LogFile) -> int:
    """Return the records of a Parquet file; of a text file its lines, by the first MiB. At least 1."""
    if file.format == "parquet":
        with duckdb.connect() as con:
            row = con.execute(f"SELECT count(*) FROM read_parquet({text(str(file.path))})").fetchone()
        return max(row[0] if row else 0, 1)
    lines, taken = _first_bytes(file.path)
    return max(round(lines * file.path.stat().st_size / max(taken, 1)), 1)


def _kind(lines: list[str], path: Path) -> str:
    for line in lines:
        if line.startswith("{"):
            return "json"
        if access := access_format_of(line):
            return access
        for kind, delimiter in _DELIMITERS.items():
            if line.count(delimiter) >= 2 and ("://" in line or is_header(line.split(delimiter))):
                return kind
    raise InvalidInput(f"{path.name}: no known format in its first lines, say which it is", field="format")


def _names(path: Path, kind: str, lines: list[str]) -> tuple[tuple[str, ...], bool]:
    """Return the columns of a file and whether its first line names them."""
    if kind == "parquet":
        with duckdb.connect() as con:
            rows = con.execute(f"DESCRIBE SELECT * FROM read_parquet({text(str(path))})").fetchall()
        return tuple(row[0] for row in rows), False
    if kind == "json":
        return tuple({key: None for line in lines for key in _keys(line)}), False
    if kind in _DELIMITERS:
        cells = [cell.strip().strip('"') for cell in (lines or [""])[0].split(_DELIMITERS[kind])]
        return (tuple(cells), True) if is_header(cells) else (POSITIONS[: len(cells)], False)
    return (), False


def _keys(line: str) -> list[str]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(found) if isinstance(found, dict) else []


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _first_lines(path: Path) -> list[str]:
    """Return the first lines of a file, whole ones only, as far as a look at it goes."""
    with _unpacking(path), _opened(path) as file:
        looked = file.read(_LOOK_BYTES)
        if len(looked) == _LOOK_BYTES:
            looked, newline, _ = looked.rpartition(b"\n")
            if not newline:
                raise InvalidInput(f"{path.name}: its first line is longer than {_LOOK_BYTES:,} bytes")
    lines = looked.decode("utf-8", errors="replace").split("\n")[:_LOOK_LINES]
    return [stripped for line in lines if (stripped := line.rstrip("\r"))]


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """Name a file that cannot be unpacked."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as exc:
        raise InvalidInput(f"{path.name}: damaged, it cannot be unpacked: {exc}") from exc


def _opened(path: Path) -> IO[bytes]:
    match compression(path):
        case "gzip":
            return gzip.open(path, "rb")  # type: ignore[return-value]
        case "zstd":
            return zstandard.open(path, "rb")  # type: ignore[no-any-return]
    return path.open("rb")


def _first_bytes(path: Path) -> tuple[int, int]:
    """Return the lines of the beginning of a file, and the bytes of the file they were made of."""
    kind = compression(path)
    with _unpacking(path), path.open("rb") as raw:
        if kind == "none":
            data = raw.read(_LOOK_BYTES)
            return data.count(b"\n"), len(data)
        if kind == "gzip":
            with gzip.GzipFile(fileobj=raw) as opened:
                return opened.read(_LOOK_BYTES).count(b"\n"), raw.tell()
        with zstandard.ZstdDecompressor().stream_reader(raw, closefd=False) as stream:
            return stream.read(_LOOK_BYTES).count(b"\n"), raw.tell()
