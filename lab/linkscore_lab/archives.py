"""Stored sites as the lab reads them: WARC files and WACZ packages, in stored order.

What cannot be read is told with its file: a record that breaks a rule costs itself, damage of the file the
rest of it.

Sources: ISO 28500:2017 (WARC 1.1); Webrecorder, "WACZ 1.1.1"; RFC 9112, section 7.1 (chunks).
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

from fastwarc import ArchiveIterator, WarcRecord, WarcRecordType

from linkscore_lab.datasets.site import Reply
from linkscore_scoring.errors import InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress, is_html
from linkscore_scoring.limits.respect import site_file

# A bound on memory: a record is held whole. Pages have a thousandth.
MAX_BYTES = 1 << 28
_LINE_CHARS = 1 << 20  # of a list of pages: a bound, a URL has at most 2,083
_ZIP = b"PK\x03\x04"
# RuntimeError is what zipfile has for a file that is encrypted or packed in a way it does not know.
_UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
_SUFFIXES = (".warc.gz", ".warc.zst", ".warc", ".wacz", ".zip")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
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
    """What could not be read: the file it is in, and why."""

    file: str
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
                f"{path}: needs at least one response record, got none{told(self.damage)}", field="warc"
            )
        return found or first


def told(damage: Sequence[Damage]) -> str:
    """Say how much is damaged, and of the first where and why; nothing if nothing is."""
    return f" but {len(damage):,} damaged; the first: {damage[0].file}: {damage[0].reason}" if damage else ""


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

    entries, trial = partial(_entries, str(path), lambda: path.open("rb")), list[Damage]()
    is_archive = next((True for _ in entries(trial)), False)
    if trial and not is_archive:
        raise InvalidInput(f"{path}: must be a WARC file, got {trial[0].reason}", field="warc")
    return _Part(None, lambda damage: filter(None, entries(damage)))


def _package(path: Path) -> _Part:
    try:
        with zipfile.ZipFile(path) as package:
            names = [n for n in package.namelist() if n.startswith("archive/") and n.endswith(_SUFFIXES[:3])]
            pages = [
                page for page in _pages(package) if str(page.get("url")).startswith(("http://", "https://"))
            ]
    except _UNREADABLE as error:
        raise InvalidInput(f"{path}: must be a WACZ package, got {error}", field="warc") from error
    if not names:
        raise InvalidInput(f"{path}: must hold archive/*.warc.gz, got none", field="warc")
    seeds = [page["url"] for page in pages if page.get("seed") is True] + [page["url"] for page in pages]

    def read(damage: list[Damage]) -> Iterator[ArchiveRecord]:
        with zipfile.ZipFile(path) as package:
            for name in names:
                yield from filter(None, _entries(f"{path}/{name}", partial(package.open, name), damage))

    return _Part(next(iter(seeds), None), read)


def _pages(package: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    if "pages/pages.jsonl" not in package.namelist():
        return
    with package.open("pages/pages.jsonl") as lines:
        while line := lines.readline(_LINE_CHARS):
            try:
                page = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(page, dict):
                yield page


def _entries(name: str, opened: Callable[[], IO[bytes]], bad: list[Damage]) -> Iterator[ArchiveRecord | None]:
    """Yield the answer in each record, None for one without."""
    try:
        with opened() as file:
            for record in ArchiveIterator(cast(BinaryIO, file), parse_http=False):
                try:
                    found = _record(record)
                except BadRecord as error:
                    bad.append(Damage(name, str(error)))
                else:
                    yield found
    except _UNREADABLE as error:
        bad.append(Damage(name, f"{error}; what follows is left out"))


def _record(record: WarcRecord) -> ArchiveRecord | None:
    """Return the answer in a ``response``, the page in a ``resource`` of HTML, else None."""
    if record.content_length > MAX_BYTES:
        raise BadRecord(f"record must have at most {MAX_BYTES} bytes, got {record.content_length}")
    if record.record_type not in (WarcRecordType.response, WarcRecordType.resource):
        return None
    if record.record_type == WarcRecordType.response:
        record.is_http = True  # whatever its content type, which some leave out
        record.parse_http(quirks_mode=True, max_header_len=MAX_BYTES)  # some servers end lines by LF alone
    length, body = record.content_length, record.reader.read()
    if len(body) < length:
        raise BadRecord(f"record is cut off: {length} bytes are told of, {len(body)} are there")
    url = (record.headers.get("WARC-Target-URI") or "").strip().removeprefix("<").removesuffix(">")
    content_type = (record.headers.get("Content-Type") or "").strip()
    if not url.startswith(("http://", "https://")):
        return None
    if record.record_type == WarcRecordType.resource:
        is_page = content_type.lower().startswith(_HTML_TYPES)
        return ArchiveRecord(url, 200, {"Content-Type": content_type}, body) if is_page else None
    status = record.http_headers.status_code
    if status is None or not 100 <= status <= 599:
        line = record.http_headers.status_line or ""
        raise BadRecord(f"record must hold an HTTP answer with a status from 100 to 599, got {line[:40]!r}")
    headers = {name.strip().title(): value for name, value in record.http_headers.items()}
    kept = {name: value for name, value in headers.items() if name not in _STALE_HEADERS}
    return ArchiveRecord(url, status, kept, _decoded(body, headers))


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
