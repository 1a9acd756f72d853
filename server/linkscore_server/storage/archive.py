"""One crawl as one file: a tar of its folder in zstd, with a manifest of checksums that comes first.

It moves a crawl between data folders and machines. The secret of the tickets stays with its folder: where
another one is, tickets given out before count as none, and their links go by their URL.
"""

from __future__ import annotations

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
from typing import Any, BinaryIO

import zstandard

from linkscore_scoring.errors import AlreadyExists, CorruptState, NotFound
from linkscore_server.storage.check import problems_of_crawl
from linkscore_server.storage.disk import PRIVATE, PRIVATE_FOLDER, sync
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.formats import ARCHIVE, FORMATS

MANIFEST = "manifest.json"
"""Name of the first member: format, crawl, and size and BLAKE2b of every other."""

_MANIFEST_BYTES = 64 << 20  # a bound: 200 bytes a file, of which a crawl has a few thousand
_PIECE = 1 << 20  # bytes copied at a time; chosen, not measured
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


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
    """
    doomed = store.folder / f"deleted-import-{secrets.token_hex(4)}"  # a crash leaves it to the next delete
    doomed.mkdir(PRIVATE_FOLDER)
    try:
        with _reading(file) as tar:
            manifest = _manifest(tar, file)
            crawl = manifest["crawl"]
            if (target := store.crawl_folder(crawl)).exists():
                raise AlreadyExists(f"crawl {crawl!r}: {store.folder} has one of this name; delete it first")
            _extract(tar, file, manifest["files"], doomed)
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


@contextmanager
def _reading(file: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive; whatever is wrong with its bytes is a CorruptState that names it."""
    try:
        with (
            file.open("rb") as raw,
            zstandard.ZstdDecompressor().stream_reader(raw) as plain,
            tarfile.open(fileobj=plain, mode="r|") as tar,
        ):
            yield tar
    except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, KeyError, TypeError) as exc:
        raise CorruptState(f"{file}: damaged, or no archive of linkscore: {exc}") from exc


def _manifest(tar: tarfile.TarFile, file: Path) -> dict[str, Any]:
    entry = tar.next()
    if entry is None or entry.name != MANIFEST or entry.size > _MANIFEST_BYTES:
        raise CorruptState(f"{file}: damaged, or no archive of linkscore: it does not begin with {MANIFEST}")
    content = tar.extractfile(entry)
    manifest: dict[str, Any] = json.loads(content.read() if content else b"")
    if manifest["format"] != ARCHIVE.number:
        raise CorruptState(f"{file}: archive of format {manifest['format']}, known is {ARCHIVE.number}")
    if not _NAME.fullmatch(manifest["crawl"]):
        raise CorruptState(f"{file}: {MANIFEST}: no name of a crawl: {manifest['crawl']!r}")
    return manifest


def _extract(tar: tarfile.TarFile, file: Path, files: dict[str, Any], folder: Path) -> None:
    """Write the members that the manifest names below a folder, checked; nothing else may be there."""
    missing = dict(files)
    while (entry := tar.next()) is not None:
        described, path = missing.pop(entry.name, None), PurePosixPath(entry.name)
        content = tar.extractfile(entry) if entry.isfile() else None
        if described is None or content is None or path.is_absolute() or ".." in path.parts:
            raise CorruptState(f"{file}: {entry.name}: is not in the manifest, or there twice, or no file")
        target = folder / path
        target.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        with _new(target) as out:
            shutil.copyfileobj(content, out, _PIECE)
            out.flush()
            os.fsync(out.fileno())
        os.utime(target, (entry.mtime, entry.mtime))
        if _described(target) != described:
            raise CorruptState(f"{file}: {entry.name}: does not fit its checksum")
    if missing:
        raise CorruptState(f"{file}: {min(missing)}: is missing")


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as content:
        return {"bytes": path.stat().st_size, "blake2b": hashlib.file_digest(content, "blake2b").hexdigest()}


def _new(path: Path) -> BinaryIO:
    """Open a private file that was not there before."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")
