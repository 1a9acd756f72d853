"""A WACZ package, as Browsertrix writes it: WARC files and a list of pages in one zip.

Source: Webrecorder, "WACZ 1.1.1" (``archive/``, ``pages/pages.jsonl``).
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from linkscore_lab.archives.frames import ByteSource
from linkscore_lab.archives.record import ArchiveRecord, Damage, ReadTally
from linkscore_lab.archives.warc import read_warc
from linkscore_scoring.errors import InvalidInput

_PAGES = "pages/pages.jsonl"
_LINE_BYTES = 1 << 20  # a bound of one line of the list of pages, which holds a URL and a title
_WARC_SUFFIXES = (".warc.gz", ".warc.zst", ".warc")
# Fixed part of a local file header (PKWARE APPNOTE, section 4.3.7).
_LOCAL_HEAD_BYTES = 30


class WaczFile:
    """A WACZ package on disk.

    Attributes
    ----------
    entry
        First page of the list that is marked as a seed, else the first page; None without a list.

    Raises
    ------
    InvalidInput
        Field ``warc``: no zip file, or none that holds WARC files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as package:
                self._warcs = [info for info in package.infolist() if _is_warc(info.filename)]
                self.entry = _entry(package)
        except zipfile.BadZipFile as error:
            raise InvalidInput(f"{path}: must be a WACZ package, got {error}", field="warc") from error
        if not self._warcs:
            raise InvalidInput(f"{path}: must hold archive/*.warc.gz, got none", field="warc")

    def records(self, tally: ReadTally) -> Iterator[ArchiveRecord]:
        """Yield the answers of its WARC files in the order of the package."""
        with self.path.open("rb") as file:
            for info in self._warcs:
                name = f"{self.path}/{info.filename}"
                if info.compress_type == zipfile.ZIP_STORED:
                    yield from read_warc(ByteSource(name, file, _start(file, info), info.file_size), tally)
                else:
                    yield from self._unpacked(info, name, tally)

    def _unpacked(self, info: zipfile.ZipInfo, name: str, tally: ReadTally) -> Iterator[ArchiveRecord]:
        """Read a WARC file that the zip compressed, against the format's advice, from a temporary copy."""
        with TemporaryFile() as copy:
            try:
                with zipfile.ZipFile(self.path) as package, package.open(info) as packed:
                    copyfileobj(packed, copy)
            except (zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
                tally.damage.append(Damage(name, 0, f"cannot be unpacked: {error}"))
            yield from read_warc(ByteSource(name, cast(BinaryIO, copy)), tally)


class _Page(NamedTuple):
    url: str
    seed: bool


def _is_warc(name: str) -> bool:
    return name.startswith("archive/") and name.endswith(_WARC_SUFFIXES)


def _start(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Return where the data of a member begins; the lengths in its own head count, not the directory's."""
    file.seek(info.header_offset)
    head = file.read(_LOCAL_HEAD_BYTES)
    lengths = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    return info.header_offset + _LOCAL_HEAD_BYTES + lengths


def _entry(package: zipfile.ZipFile) -> str | None:
    """Return the first seed, or the first page; the list may be long, so it is read only as far as needed."""
    first: str | None = None
    for page in _pages(package):
        if page.seed:
            return page.url
        first = first or page.url
    return first


def _pages(package: zipfile.ZipFile) -> Iterator[_Page]:
    if _PAGES not in package.namelist():
        return
    with package.open(_PAGES) as lines:
        while line := lines.readline(_LINE_BYTES):  # a longer one is none of ours, nor are its pieces
            page = _parse(line)
            url = page.get("url")
            if isinstance(url, str) and url.startswith(("http://", "https://")):
                yield _Page(url, page.get("seed") is True)


def _parse(line: bytes) -> dict[str, Any]:
    try:
        page = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return page if isinstance(page, dict) else {}
