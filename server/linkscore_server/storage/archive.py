"""One crawl as one file: a tar of its folder in zstd, with a manifest of checksums that comes first.

It moves a crawl between data folders and machines. The secret of the tickets stays with its folder: where
another one is, tickets given out before count as none, and their links go by their URL.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

import zstandard

from linkscore_scoring.errors import AlreadyExists, CorruptState, NotFound
from linkscore_server.storage.check import problems_of_crawl
from linkscore_server.storage.disk import PRIVATE, PRIVATE_FOLDER, sync
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.formats import ARCHIVE, FORMATS

MANIFEST = "manifest.json"
"""Name of the first member: format, crawl, and size and BLAKE2b of every other."""

_MANIFEST_BYTES = 16 << 20  # a bound: 200 bytes a file, of which a crawl has a few thousand
_HEADER_BYTES = 64 << 10  # a bound, with what tar reads ahead: the headers of one of our members take 2 KiB
_NAME_CHARS = 512  # a bound: the longest of ours, visits of a day, have some 120
_PIECE = 1 << 20  # bytes copied at a time; chosen, not measured
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_PATH = re.compile(r"[A-Za-z0-9._@-]{1,255}(/[A-Za-z0-9._@-]{1,255}){0,7}")


def export_crawl(store: FileStore, crawl: str, file: Path) -> int:
    """Write a crawl into a new file; returns its bytes.

    Raises
    ------
    NotFound
        If the folder has no such crawl.
    AlreadyExists
        If the file exists.
    CorruptState
        If the crawl is damaged, naming file and place.
    """
    folder = store.crawl_folder(crawl)
    if crawl not in store.crawls():
        raise NotFound(f"crawl {crawl!r}: not among the {len(store.crawls())} crawls of {store.folder}")
    if file.exists():
        raise AlreadyExists(f"{file}: exists; name another file or delete it")
    if problem := next(problems_of_crawl(folder, crawl), ""):
        raise CorruptState(problem)
    members = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".tmp"]
    manifest = {
        "format": ARCHIVE.number,
        "crawl": crawl,
        "formats": {kind.name: kind.number for kind in FORMATS},
        "files": {path.relative_to(folder).as_posix(): _described(path) for path in members},
    }
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        with (
            _new(draft) as out,
            zstandard.ZstdCompressor().stream_writer(out) as packed,
        ):
            _write(packed, manifest, folder, members)
        sync(draft)
        draft.replace(file)
        sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)
    return file.stat().st_size


def import_crawl(store: FileStore, file: Path) -> str:
    """Add the crawl of a file to a data folder, as a whole or not at all; returns its name.

    Raises
    ------
    AlreadyExists
        If the folder has a crawl of that name.
    CorruptState
        If the file is damaged or no archive, or of another format, naming the member.
    OSError
        If the folder cannot be written, or has no room for what the manifest says.
    """
    doomed = store.folder / f"deleted-import-{secrets.token_hex(4)}"  # a crash leaves it to the next delete
    doomed.mkdir(PRIVATE_FOLDER)
    try:
        with _reading(file) as members:
            crawl, files = _manifest(members)
            if (target := store.crawl_folder(crawl)).exists():
                raise AlreadyExists(f"crawl {crawl!r}: {store.folder} has one of this name; delete it first")
            _check_room(files, store.folder)
            _extract(members, files, doomed)
        if problem := next(problems_of_crawl(doomed, crawl), ""):
            raise CorruptState(f"{file}: {problem}")
        for folder in [doomed, *(path for path in doomed.rglob("*") if path.is_dir())]:
            sync(folder)
        doomed.replace(target)
        sync(target.parent)
    finally:
        shutil.rmtree(doomed, ignore_errors=True)
    return str(crawl)


def _write(out: Any, manifest: dict[str, Any], folder: Path, members: list[Path]) -> None:
    with tarfile.open(fileobj=out, mode="w|") as tar:
        raw = json.dumps(manifest, indent=1).encode()
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(raw)
        tar.addfile(entry, io.BytesIO(raw))
        for path in members:
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            status = path.stat()
            entry.size, entry.mtime, entry.mode = status.st_size, status.st_mtime, PRIVATE
            with path.open("rb") as content:
                tar.addfile(entry, content)


class _Bounded:
    """A stream that gives no more bytes than it was told to: whatever an archive says of its sizes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = 0

    def allow(self, size: int) -> None:
        """Let so many more bytes be read, and the headers of one member."""
        self._left = size + _HEADER_BYTES

    def read(self, size: int) -> bytes:
        """Read as files do.

        Raises
        ------
        CorruptState
            If it is more than was allowed.
        """
        read: bytes = self._stream.read(min(size, self._left + 1))
        self._left -= len(read)
        if self._left < 0:
            raise CorruptState(f"headers of more than {_HEADER_BYTES:,} bytes")
        return read


class _Members:
    """The members of an archive, one after the other; none is read further than it is expected to be."""

    def __init__(self, plain: Any) -> None:
        self._bounded = _Bounded(plain)
        self._bounded.allow(0)
        self._tar = tarfile.open(fileobj=cast("BinaryIO", self._bounded), mode="r|")  # noqa: SIM115 - holds nothing

    def next(self) -> tarfile.TarInfo | None:
        """Return the header of the next member, None behind the last."""
        return self._tar.next()

    def content(self, member: tarfile.TarInfo) -> IO[bytes]:
        """Return what a member holds, once its size is known to be right; sparse ones are none of ours."""
        content = None if member.issparse() else self._tar.extractfile(member)
        if content is None:
            raise CorruptState(f"{_shown(member.name)}: is no file")
        self._bounded.allow(member.size)
        return content


@contextmanager
def _reading(file: Path) -> Iterator[_Members]:
    """Open an archive; whatever is wrong with its bytes is a CorruptState that names it."""
    try:
        with file.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as plain:
            yield _Members(plain)
    except (AlreadyExists, OSError):
        raise
    except CorruptState as exc:
        raise CorruptState(f"{file}: damaged, or no archive of linkscore: {exc}") from exc
    except Exception as exc:  # tarfile and json raise many kinds, RecursionError and OverflowError among them
        why = f"{type(exc).__name__}: {exc}"
        raise CorruptState(f"{file}: damaged, or no archive of linkscore: {why}") from exc


def _manifest(members: _Members) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the name of the crawl, and what the manifest says of each file."""
    entry = members.next()
    if entry is None or entry.name != MANIFEST or not entry.size <= _MANIFEST_BYTES:
        raise CorruptState(f"it does not begin with {MANIFEST} of at most {_MANIFEST_BYTES:,} bytes")
    manifest = json.loads(members.content(entry).read())
    if manifest["format"] != ARCHIVE.number:
        raise CorruptState(f"archive of format {_shown(manifest['format'])}, known is {ARCHIVE.number}")
    crawl, files = manifest["crawl"], manifest["files"]
    if not _NAME.fullmatch(crawl):
        raise CorruptState(f"{MANIFEST}: no name of a crawl: {_shown(crawl)}")
    for name, described in files.items():
        path = PurePosixPath(name)
        if not _PATH.fullmatch(name) or len(name) > _NAME_CHARS or {".", ".."} & {*path.parts}:
            raise CorruptState(f"{MANIFEST}: no name of a file: {_shown(name)}")
        if type(described["bytes"]) is not int or described["bytes"] < 0:
            raise CorruptState(f"{MANIFEST}: no size of {_shown(name)}: {_shown(described['bytes'])}")
    return crawl, files


def _check_room(files: dict[str, dict[str, Any]], folder: Path) -> None:
    """Refuse what the disk has no room for, before any of it is written."""
    needed, free = sum(described["bytes"] for described in files.values()), shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(errno.ENOSPC, f"the crawl takes {needed:,} bytes, {free:,} are free in {folder}")


def _extract(members: _Members, files: dict[str, dict[str, Any]], folder: Path) -> None:
    """Write the members that the manifest names below a folder, checked; nothing else may be there."""
    missing = dict(files)
    while (entry := members.next()) is not None:
        described = missing.pop(entry.name, None)
        if described is None:
            raise CorruptState(f"{_shown(entry.name)}: is not in the manifest, or there twice")
        if entry.size != described["bytes"]:
            raise CorruptState(
                f"{_shown(entry.name)}: has {entry.size:,} bytes, {described['bytes']:,} in the manifest"
            )
        target = folder / entry.name
        target.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        with _new(target) as out:
            shutil.copyfileobj(members.content(entry), out, _PIECE)
            out.flush()
            os.fsync(out.fileno())
        os.utime(target, (entry.mtime, entry.mtime))
        if _described(target) != described:
            raise CorruptState(f"{entry.name}: does not fit its checksum")
    if missing:
        raise CorruptState(f"{min(missing)}: is missing")


def _shown(value: object) -> str:
    """Return something an archive says, for a message: short, and printable whatever it is."""
    return f"{value!a:.100}"


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as content:
        return {"bytes": path.stat().st_size, "blake2b": hashlib.file_digest(content, "blake2b").hexdigest()}


def _new(path: Path) -> BinaryIO:
    """Open a private file that was not there before."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")
