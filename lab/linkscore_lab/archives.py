"""Stored sites as the lab reads them: WARC files and WACZ packages, in stored order.

An archive compressed by record has a gzip member or zstd frame a record, so one that is damaged costs itself
only. What cannot be read is told with its place and skipped.

Sources: ISO 28500:2017 (WARC 1.1); RFC 1952 (gzip members); IIPC, "Zstandard for WARC", 2020 (a first
skippable frame holds the dictionary); Webrecorder, "WACZ 1.1.1"; RFC 9112, section 7.1 (chunks).
"""

from __future__ import annotations

import gzip
import json
import mmap
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import zstandard
from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParser, StatusAndHeadersParserException

from linkscore_cli.files import LINE_CHARS
from linkscore_lab.datasets.site import Reply
from linkscore_scoring.errors import InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress, is_html
from linkscore_scoring.limits.respect import site_file

# A bound on memory: a record, and what is compressed in one piece, is held whole. Pages have a thousandth.
MAX_BYTES = 1 << 28
# A bound: heads have some hundred bytes.
_MAX_HEAD_BYTES = 1 << 16
# Compressed bytes read at a time: the densest zstd makes 128 MB of them. Chosen, not measured.
_BLOCK_BYTES = 1 << 12
_GZIP, _ZSTD, _ZSTD_DICTIONARY, _ZIP = (
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\x5d\x2a\x4d\x18",
    b"PK\x03\x04",
)
_SUFFIXES = (".warc.gz", ".warc.zst", ".warc", ".wacz", ".zip")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"(?:\d(?:\.\d)?\s+)?([1-5]\d\d)\b")
_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_WARC = StatusAndHeadersParser(["WARC/1.1", "WARC/1.0", "WARC/0.18", "WARC/0.17"])
_HTTP = StatusAndHeadersParser(["HTTP/"])
_AS_HTML = {"Content-Type": "text/html; charset=utf-8"}
# The body is decoded, so what described its coding is no longer true.
_STALE_HEADERS = frozenset({"Content-Encoding", "Transfer-Encoding", "Content-Length", "Connection"})


class ArchiveRecord(NamedTuple):
    """One stored answer: absolute http(s) URL, status, headers with names in title case, decoded body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_page(self) -> bool:
        """Whether it is HTML of status 200."""
        return self.status == 200 and is_html(self.body, self.headers.get("Content-Type", ""))


class Damage(NamedTuple):
    """What could not be read: file, byte where it begins, and why."""

    file: str
    offset: int
    reason: str


class BadRecord(Exception):
    """A record breaks a rule of its format; the message says which."""


class _Part(NamedTuple):
    """One file: where it says a crawl starts, if it does, and how its records are read."""

    entry: str | None
    read: Callable[[list[Damage]], Iterator[ArchiveRecord]]


class Archive:
    """The records of one site; made by `open_archive`."""

    def __init__(self, path: Path, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self.damage: list[Damage] = []
        self.name = next((path.name.removesuffix(s) for s in _SUFFIXES if path.name.endswith(s)), path.name)
        self.entry = self._first_page(path, parts[0].entry)

    def records(self) -> Iterator[ArchiveRecord]:
        """Yield the answers in stored order, path after path, one in memory at a time."""
        self.damage = []
        for part in self._parts:
            yield from part.read(self.damage)

    def told(self) -> str:
        """Say how much is damaged and the first reason; nothing if nothing is."""
        n = len(self.damage)
        return f" but {n:,} damaged; the first: {self.damage[0].reason}" if n else ""

    def _first_page(self, path: Path, wanted: str | None) -> str:
        """Return where a crawl starts: at the page that is wanted, at the first one if that is not here."""
        found = first = ""
        for record in self.records():
            if wanted and record.url == wanted.partition("#")[0]:
                return record.url
            if record.is_page and record.body.strip() and site_file(record.url) is None:
                found = found or record.url
                if not wanted:
                    return found
            first = first or record.url
        if not first:
            raise InvalidInput(
                f"{path}: needs at least one response record, got none{self.told()}", field="warc"
            )
        return found or first


def open_archive(paths: Sequence[Path]) -> Archive:
    """Open the stored pages of one site."""
    if not paths:
        raise InvalidInput("must name at least one archive, got none", field="warc")
    return Archive(paths[0], [_file(path) for path in paths])


def _file(path: Path) -> _Part:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_ZIP))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}", field="warc") from error
    if magic == _ZIP or path.suffix == ".wacz":
        return _package(path)

    def read(damage: list[Damage]) -> Iterator[ArchiveRecord]:
        with path.open("rb") as file:
            yield from _records(str(path), file, damage)

    trial: list[Damage] = []
    with path.open("rb") as file:
        one = next(_blocks(str(path), file, trial), None)
    if one is None and trial:
        raise InvalidInput(f"{path}: must be a WARC file, got {trial[0].reason}", field="warc")
    return _Part(None, read)


# WACZ packages.


def _package(path: Path) -> _Part:
    try:
        with zipfile.ZipFile(path) as package:
            names = [n for n in package.namelist() if n.startswith("archive/") and n.endswith(_SUFFIXES[:3])]
            pages = [
                page for page in _pages(package) if str(page.get("url")).startswith(("http://", "https://"))
            ]
    except zipfile.BadZipFile as error:
        raise InvalidInput(f"{path}: must be a WACZ package, got {error}", field="warc") from error
    if not names:
        raise InvalidInput(f"{path}: must hold archive/*.warc.gz, got none", field="warc")
    seeds = [page["url"] for page in pages if page.get("seed") is True] + [page["url"] for page in pages]

    def read(damage: list[Damage]) -> Iterator[ArchiveRecord]:
        for name in names:
            with TemporaryFile() as copy:
                try:
                    with zipfile.ZipFile(path) as package, package.open(name) as packed:
                        while block := packed.read(_BLOCK_BYTES):
                            copy.write(block)
                except (zipfile.BadZipFile, EOFError, OSError, ValueError, zlib.error) as error:
                    damage.append(Damage(f"{path}/{name}", copy.tell(), f"cannot be unpacked: {error}"))
                yield from _records(f"{path}/{name}", copy, damage)

    return _Part(next(iter(seeds), None), read)


def _pages(package: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    if "pages/pages.jsonl" not in package.namelist():
        return
    with package.open("pages/pages.jsonl") as lines:
        while line := lines.readline(LINE_CHARS):
            try:
                page = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(page, dict):
                yield page


# WARC files: pieces that decompress each by itself, the blocks in them, the answers in those.


class _Block(NamedTuple):
    """A raw record: where it begins, or the piece it is in, its head and what follows."""

    offset: int
    head: StatusAndHeaders
    data: bytes


def _records(name: str, file: IO[bytes], damage: list[Damage]) -> Iterator[ArchiveRecord]:
    for block in _blocks(name, file, damage):
        try:
            record = _record(block)
        except BadRecord as error:
            damage.append(Damage(name, block.offset, str(error)))
            continue
        if record is not None:
            yield record


def _blocks(name: str, file: IO[bytes], damage: list[Damage]) -> Iterator[_Block]:
    def damaged(offset: int, error: BadRecord) -> None:
        damage.append(Damage(name, offset, str(error)))

    if not file.seek(0, 2):
        return
    file.flush()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] in (_ZSTD, _ZSTD_DICTIONARY) or name.endswith(".zst"):
            dictionary, start = _dictionary(data)
            unpacker = zstandard.ZstdDecompressor(dictionary)
            pieces = _pieces(data, start, _ZSTD, unpacker.decompressobj, damaged)
        elif data[:3] == _GZIP or (name.endswith(".gz") and data[:5] != b"WARC/"):
            pieces = _pieces(data, 0, _GZIP, partial(zlib.decompressobj, wbits=31), damaged)
        else:
            yield from _split(data, damaged)
            return
        for offset, content in pieces:
            for block in _split(content, lambda _, error: damaged(offset, error)):  # noqa: B023 - at once
                yield block._replace(offset=offset)


def _pieces(
    data: mmap.mmap, at: int, magic: bytes, new: Callable[[], Any], damaged: Callable[[int, BadRecord], None]
) -> Iterator[tuple[int, bytes]]:
    """Yield where each gzip member or zstd frame begins and what it holds; those with damage are left out."""
    sound = True
    while 0 <= at < len(data):
        try:
            content, end = _unpacked(data, at, new())
        except BadRecord as error:
            if sound:  # what is tried in search of the next one is no second damage
                damaged(at, error)
            sound, end = False, data.find(magic, at + 1)
        else:
            sound = True
            yield at, content
        at = end


def _unpacked(data: mmap.mmap, start: int, stream: Any) -> tuple[bytes, int]:
    """Return what a piece holds and where it ends."""
    parts, size, at = [], 0, start
    while not stream.eof:
        block = data[at : at + _BLOCK_BYTES]
        if not block:
            raise BadRecord("compressed record is cut off")
        try:
            parts.append(stream.decompress(block))
        except (zlib.error, zstandard.ZstdError) as error:
            raise BadRecord(f"corrupt compressed record: {error}") from None
        size, at = size + len(parts[-1]), at + len(block)
        if size > MAX_BYTES:
            raise BadRecord(f"more than {MAX_BYTES} bytes compressed in one piece: compress record by record")
    end = at - len(stream.unused_data)
    if end == start:  # zstandard takes some corrupt frames for empty ones
        raise BadRecord("corrupt compressed record")
    return b"".join(parts), end


def _dictionary(data: mmap.mmap) -> tuple[zstandard.ZstdCompressionDict | None, int]:
    """Return the dictionary of a ``.warc.zst``, plain or itself compressed, and where records begin."""
    if data[:4] != _ZSTD_DICTIONARY:
        return None, 0
    end = 8 + int.from_bytes(data[4:8], "little")
    raw = data[8:end]
    try:
        if raw.startswith(_ZSTD):
            raw = zstandard.ZstdDecompressor().decompress(raw, max_output_size=MAX_BYTES)
        return zstandard.ZstdCompressionDict(raw), end
    except zstandard.ZstdError:
        return None, end


def _split(data: bytes | mmap.mmap, damaged: Callable[[int, BadRecord], None]) -> Iterator[_Block]:
    """Yield the records of plain bytes; after damage the next that begins with a version."""
    at = _next_text(data, 0)
    while 0 <= at < len(data):
        try:
            head, start, length = _head(data, at)
            end = start + length
            if end > len(data):
                raise BadRecord(f"record is cut off: Content-Length is {length}, the file ends before")
            after = _next_text(data, end)
            ends = data[end : end + 4] == b"\r\n\r\n" or data[after : after + 5] in (b"WARC/", b"")
            if not ends:
                raise BadRecord(f"Content-Length {length} does not lead to the end of the record")
        except BadRecord as error:
            damaged(at, error)
            at = data.find(b"WARC/1.", at + 1)
            continue
        yield _Block(at, head, data[start:end])
        at = after


def _next_text(data: bytes | mmap.mmap, at: int) -> int:
    while data[at : at + 1] in (b"\r", b"\n"):
        at += 1
    return at


def _head(data: bytes | mmap.mmap, at: int) -> tuple[StatusAndHeaders, int, int]:
    """Return head, place and length of a block."""
    match = _HEAD_END.search(data, at, at + _MAX_HEAD_BYTES)
    if match is None:
        raise BadRecord(f"record head does not end within {_MAX_HEAD_BYTES} bytes")
    head = data[at : match.end()]
    try:
        parsed = _WARC.parse(BytesIO(head))
    except StatusAndHeadersParserException:
        raise BadRecord(f"record must start with WARC/1.0 or WARC/1.1, got {head[:20]!r}") from None
    length = (parsed.get_header("Content-Length") or "").strip()
    if not (length.isascii() and length.isdigit()):
        raise BadRecord(f"Content-Length must be a number of bytes, got {length[:40]!r}")
    if len(length) > 18 or int(length) > MAX_BYTES:
        raise BadRecord(f"record must have at most {MAX_BYTES} bytes, got {length[:40]}")
    return parsed, match.end(), int(length)


def _record(block: _Block) -> ArchiveRecord | None:
    """Return the answer in a ``response``, the page in a ``resource`` of HTML, else None."""
    url, kind, content_type = (
        (block.head.get_header(name) or "").strip()
        for name in ("WARC-Target-URI", "WARC-Type", "Content-Type")
    )
    url = url.removeprefix("<").removesuffix(">")
    if not url.startswith(("http://", "https://")):
        return None
    if kind.lower() == "response":
        return _response(url, block.data)
    if kind.lower() == "resource" and content_type.lower().startswith(_HTML_TYPES):
        return ArchiveRecord(url, 200, {"Content-Type": content_type}, block.data)
    return None


def _response(url: str, data: bytes) -> ArchiveRecord:
    end = _HEAD_END.search(data)
    head, body = (data[: end.end()], data[end.end() :]) if end else (data, b"")
    try:
        parsed = _HTTP.parse(BytesIO(head))
    except (StatusAndHeadersParserException, EOFError):
        raise BadRecord(f"HTTP answer must start with HTTP/, got {head[:20]!r}") from None
    status = _STATUS.match(parsed.statusline)
    if status is None:
        raise BadRecord(f"HTTP status must be a number from 100 to 599, got {parsed.statusline[:40]!r}")
    headers = {name.strip().title(): value for name, value in parsed.headers}
    kept = {name: value for name, value in headers.items() if name not in _STALE_HEADERS}
    return ArchiveRecord(url, int(status[1]), kept, _decoded(body, headers))


def _decoded(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Undo chunks and content coding as far as the body goes; what was stored with them undone is left."""
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        body = _unchunked(body)
    coding = headers.get("Content-Encoding", "").strip()
    if not body or not coding:
        return body
    try:
        return decompress(body, coding, max_bytes=MAX_BYTES)
    except InvalidPage as error:
        if error.reason == "TRUNCATED_BODY":
            with suppress(zlib.error):
                return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, MAX_BYTES)  # gzip or zlib
        raise BadRecord(f"content coding {coding[:40]!r} cannot be undone: {error}") from None


def _unchunked(body: bytes) -> bytes:
    """Join the chunks there are; a body that does not begin with one was stored with its coding undone."""
    size = _CHUNK.match(body)
    if size is None:
        return body
    parts = []
    while size and (length := int(size[1], 16)):
        parts.append(body[size.end() : size.end() + length])
        size = _CHUNK.match(body, size.end() + length)
    return b"".join(parts)


def write_warc(path: Path, pages: Mapping[str, str | bytes | Reply]) -> Path:
    """Write answers by URL, or the HTML of pages, as a WARC file compressed by record; return `path`.

    The first page is where a crawl starts.
    """
    path.write_bytes(b"".join(gzip.compress(_raw_record(*row), mtime=0) for row in pages.items()))
    return path


def _raw_record(url: str, page: str | bytes | Reply) -> bytes:
    body = page.encode() if isinstance(page, str) else page
    reply = body if isinstance(body, Reply) else Reply(200, _AS_HTML, body)
    kept = [(name, text) for name, text in reply.headers.items() if name not in _STALE_HEADERS]
    sent = "".join(f"{name}: {text}\r\n" for name, text in kept)
    block = f"HTTP/1.1 {reply.status}\r\n{sent}\r\n".encode() + reply.body
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"
