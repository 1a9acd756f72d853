"""A stored site, whatever it is stored in: one entry, one pass over its records, and what was damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from linkscore_lab.archives.folder import Folder
from linkscore_lab.archives.record import ArchiveRecord, Damage, ReadTally
from linkscore_lab.archives.wacz import WaczFile
from linkscore_lab.archives.warc import WarcFile
from linkscore_scoring.errors import InvalidInput

_ZIP_MAGIC = b"PK\x03\x04"
_SUFFIXES = (".warc.gz", ".warc.zst", ".warc", ".wacz", ".zip")


class Part(Protocol):
    """One file or folder of an archive; `entry` is where it says a crawl starts, None when it does not."""

    path: Path

    @property
    def entry(self) -> str | None: ...

    def records(self, tally: ReadTally) -> Iterator[ArchiveRecord]:
        """Yield its answers in stored order."""
        ...


class Archive:
    """The records of one site; made by `open_archive`.

    Attributes
    ----------
    name
        File name of the first path without its suffixes.
    entry
        URL where a crawl starts: what the first path says, else its first answer.
    damage
        Records the last pass could not read, in stored order; filled while reading.
    revisits
        Revisit records the last pass met; they resolve to nothing.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self._tally = ReadTally()
        self.name = _name(self._parts[0].path)
        self.entry = self._parts[0].entry or self._first_url()

    @property
    def damage(self) -> list[Damage]:
        return self._tally.damage

    @property
    def revisits(self) -> int:
        return self._tally.revisits

    def records(self) -> Iterator[ArchiveRecord]:
        """Yield the answers in stored order, path after path; starts the counts anew.

        Memory does not depend on the size of the archive: one record is held at a time.
        """
        self._tally = ReadTally()
        return self._read(self._tally)

    def _read(self, tally: ReadTally) -> Iterator[ArchiveRecord]:
        for part in self._parts:
            yield from part.records(tally)

    def _first_url(self) -> str:
        for record in self._read(ReadTally()):
            return record.url
        path = self._parts[0].path
        raise InvalidInput(f"{path}: needs at least one response record, got none", field="warc")


def open_archive(paths: Sequence[Path], *, url_list: Path | None = None) -> Archive:
    """Open the stored pages of one site.

    Parameters
    ----------
    paths
        In the order they are to be read: WARC files (1.0 or 1.1; plain, gzip or zstd) and WACZ packages; or
        one folder of pages.
    url_list
        Which file of the folder has which URL: see `Folder`. Needed for a folder, refused for anything else.

    Raises
    ------
    InvalidInput
        Field ``warc``: no path, a path that is not there, is no archive, or holds no answer; field
        ``url_list``: missing, not wanted, or not usable.
    """
    if not paths:
        raise InvalidInput("must name at least one archive, got none", field="warc")
    if any(path.is_dir() for path in paths):
        return Archive([_folder(paths, url_list)])
    if url_list is not None:
        raise InvalidInput(f"{url_list}: must come with a folder, got {paths[0]}", field="url_list")
    return Archive([_part(path) for path in paths])


def _folder(paths: Sequence[Path], url_list: Path | None) -> Folder:
    if len(paths) > 1:
        raise InvalidInput(f"a folder must be the only archive, got {len(paths)} paths", field="warc")
    if url_list is None:
        raise InvalidInput(f"{paths[0]}: a folder needs a list of its URLs, got none", field="url_list")
    return Folder(paths[0], url_list)


def _part(path: Path) -> Part:
    try:
        with path.open("rb") as file:
            head = file.read(len(_ZIP_MAGIC))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", field="warc") from error
    if head == _ZIP_MAGIC or path.suffix == ".wacz":
        return WaczFile(path)
    return WarcFile(path)


def _name(path: Path) -> str:
    return next((path.name.removesuffix(end) for end in _SUFFIXES if path.name.endswith(end)), path.name)
