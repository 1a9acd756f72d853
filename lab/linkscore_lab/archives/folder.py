"""A folder of HTML files with a list of their URLs."""

from __future__ import annotations

import csv
import mimetypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from linkscore_cli.files import lines_of
from linkscore_lab.archives.record import ArchiveRecord, BadRecord, Damage, ReadTally
from linkscore_lab.archives.warc import MAX_BLOCK_BYTES
from linkscore_scoring.errors import InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress

_COLUMNS = {"path", "url"}
_CSV: dict[str, Any] = {"delimiter": ","}
_TSV: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}


class _Row(NamedTuple):
    line: int
    path: str
    url: str


class Folder:
    """Pages in files.

    Parameters
    ----------
    path
        The folder.
    url_list
        Table with the columns ``path`` (below the folder) and ``url`` (absolute) named in its first line;
        commas in a ``.csv`` file, tabs in any other. Its order is the order of the records.

    Attributes
    ----------
    entry
        URL of the first row.

    Raises
    ------
    InvalidInput
        Field ``url_list``: cannot be read, lacks a column, or has no row with an http(s) URL.
    """

    def __init__(self, path: Path, url_list: Path) -> None:
        self.path, self._list = path, url_list
        rows = (row for row in self._rows() if _is_url(row.url))
        first = next(rows, None)
        if first is None:
            raise InvalidInput(f"{url_list}: needs a row with an http(s) URL, got none", field="url_list")
        self.entry = first.url

    def records(self, tally: ReadTally) -> Iterator[ArchiveRecord]:
        """Yield the pages in the order of the list, status 200; a bad row is skipped and told to `tally`."""
        root = self.path.resolve()
        for row in self._rows():
            try:
                record = _read(root, row)
            except BadRecord as error:
                tally.damage.append(Damage(str(self._list), row.line, str(error)))
                continue
            yield record

    def _rows(self) -> Iterator[_Row]:
        form = _CSV if self._list.suffix == ".csv" else _TSV
        try:
            with self._list.open(encoding="utf-8-sig", newline="") as file:
                table = csv.DictReader(lines_of(file), **form)
                missing = _COLUMNS - set(table.fieldnames or ())
                if missing:
                    names = ", ".join(sorted(missing))
                    rule = f"{self._list}: column {names} missing, got {table.fieldnames}"
                    raise InvalidInput(rule, field="url_list")
                for row in table:
                    yield _Row(table.line_num, (row["path"] or "").strip(), (row["url"] or "").strip())
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InvalidInput(
                f"{self._list}: must be a UTF-8 table, got {error}", field="url_list"
            ) from error


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _read(root: Path, row: _Row) -> ArchiveRecord:
    if not _is_url(row.url):
        raise BadRecord(f"url must be absolute http(s), got {row.url[:100]!r}")
    file = (root / row.path).resolve()
    if not file.is_relative_to(root):
        raise BadRecord(f"path must lie in the folder, got {row.path[:100]!r}")
    try:
        body = decompress(file.read_bytes(), max_bytes=MAX_BLOCK_BYTES)
    except OSError as error:
        raise BadRecord(f"{row.path}: cannot be read: {error.strerror}") from None
    except InvalidPage as error:
        raise BadRecord(f"{row.path}: {error}") from None
    return ArchiveRecord(row.url, 200, {"Content-Type": _content_type(file)}, body)


def _content_type(file: Path) -> str:
    """Tell from the name: only what is surely something else is not taken for HTML."""
    kind = mimetypes.guess_type(file.name)[0]
    return kind if kind and not kind.startswith("application/x-") else "text/html"
