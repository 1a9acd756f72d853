"""WARC files: from bytes to raw records, from records to the HTTP answers in them.

A record that cannot be read is told to whoever asks, and reading goes on at the next.

Sources: ISO 28500:2017 (WARC 1.1), sections 4 and 5 (1.0 differs in nothing read here); RFC 9112, sections
4 and 7.1 (chunks); RFC 9110, section 8.4 (content coding).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from linkscore_lab.archives.frames import ArchiveFrame, ByteSource, frames
from linkscore_lab.archives.record import ArchiveRecord, BadRecord, BrokenFrame, Damage, ReadTally
from linkscore_scoring.errors import InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress


class _Window:
    """A queue of bytes over an iterator of chunks.

    Attributes
    ----------
    taken
        Bytes that have left the queue.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._data = bytearray()
        self.taken = 0

    def fill(self, size: int) -> bool:
        """Read until `size` bytes are there; False when there are fewer."""
        while len(self._data) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._data += chunk
        return True

    def peek(self, start: int, end: int) -> bytes:
        """Return bytes `start` to `end` from the first, as far as they were read."""
        return bytes(memoryview(self._data)[start:end])

    def drop(self, size: int) -> None:
        """Take `size` bytes and forget them."""
        del self._data[:size]
        self.taken += size

    def search(self, pattern: re.Pattern[bytes], start: int, limit: int) -> int:
        """Return where the first match from `start` on ends, looking at `limit` bytes at most, or -1."""
        size = min(4096, limit)
        while True:
            more = self.fill(size)
            match = pattern.search(self._data, start, limit)
            if match:
                return match.end()
            if not more or size >= limit:
                return -1
            size = min(max(size * 2, len(self._data)), limit)

    def drop_until(self, pattern: re.Pattern[bytes], start: int, overlap: int) -> bool:
        """Drop bytes up to the next match from `start` on; a match needs at most `overlap` bytes."""
        while True:
            more = self.fill(start + overlap + 1)
            match = pattern.search(self._data, start)
            if match:
                self.drop(match.start())
                return True
            self.drop(max(start, len(self._data) - overlap))
            start = 0
            if not more:
                return False


# A bound on memory: a record is held whole. Pages have less than a thousandth of it.
MAX_BLOCK_BYTES = 1 << 28
# A bound: WARC heads have some hundred bytes; a longer one is no head.
_MAX_HEAD_BYTES = 1 << 16
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_RECORD_START = re.compile(rb"WARC/1\.[01]\r?\n[A-Za-z]")
# What `_RECORD_START` matches at most.
_RECORD_START_BYTES = 11
# Two line ends close a record; with fewer, the next one or the end of the frame must be there.
_AFTER = re.compile(rb"(?:\r?\n){2}|(?:\r?\n)?(?:WARC/|\Z)")
# What `_AFTER` looks at most: three line ends and more than the start of a name.
_AFTER_BYTES = 8
_LENGTH = re.compile(rb"\nContent-Length: *(\d{1,18})\r\n", re.IGNORECASE)
_PARSER = StatusAndHeadersParser(["WARC/1.1", "WARC/1.0", "WARC/0.18", "WARC/0.17"])


class Head(NamedTuple):
    """The head of a record or of an answer: what stands behind the protocol, and the headers as they come."""

    status: str
    headers: list[tuple[str, str]]

    def get(self, name: str) -> str:
        """Return the first header of a name, however it is written; empty if there is none."""
        wanted = name.lower()
        return next((value for found, value in self.headers if found.lower() == wanted), "")


class Block(NamedTuple):
    """One raw record: where it begins, its head and its block."""

    offset: int
    head: Head
    data: bytes


def read_blocks(frame: ArchiveFrame, damaged: Callable[[int, str], None]) -> Iterator[Block]:
    """Yield the records of a frame; `damaged` is told offset and reason of each that cannot be read.

    A record counts only when the bytes after it are sound, so a bad checksum of its member is its damage too.
    """
    window, offset = _Window(frame.chunks), frame.offset
    try:
        while _skip_empty_lines(window):
            offset = frame.offset_of(window.taken)
            try:
                block = _take_block(window, offset)
            except BadRecord as error:
                damaged(offset, str(error))
                if not window.drop_until(_RECORD_START, 1, _RECORD_START_BYTES + 1):
                    return
                continue
            window.fill(1)
            yield block
    except BrokenFrame as error:
        damaged(offset, str(error))


def _skip_empty_lines(window: _Window) -> bool:
    while window.fill(1):
        if window.peek(0, 1) not in b"\r\n":
            return True
        window.drop(1)
    return False


def _take_block(window: _Window, offset: int) -> Block:
    size = window.search(_HEAD_END, 0, _MAX_HEAD_BYTES)
    if size < 0:
        raise BadRecord(f"record head does not end within {_MAX_HEAD_BYTES} bytes")
    head = _parse_head(window.peek(0, size))
    length = _content_length(head)
    if not window.fill(size + length):
        raise BadRecord(f"record is cut off: Content-Length is {length}, the file ends before")
    window.fill(size + length + _AFTER_BYTES)
    data = window.peek(size, size + length)
    after = window.peek(size + length, size + length + _AFTER_BYTES)
    if not _AFTER.match(after) or _cuts_a_record(data):
        raise BadRecord(f"Content-Length {length} does not lead to the end of the record")
    window.drop(size + length)
    return Block(offset, head, data)


def _cuts_a_record(data: bytes) -> bool:
    """Whether a length too long leads, by chance, to an empty line inside the next record."""
    start = data.rfind(b"\r\n\r\nWARC/1.") + 4
    if start < 4:
        return False
    end = data.find(b"\r\n\r\n", start) + 4
    length = _LENGTH.search(data, start, end)
    return end < 4 or (length is not None and end + int(length[1]) > len(data))


def _parse_head(head: bytes) -> Head:
    try:
        return read_head(head, _PARSER)
    except StatusAndHeadersParserException:
        raise BadRecord(f"record must start with WARC/1.0 or WARC/1.1, got {head[:20]!r}") from None


def read_head(head: bytes, parser: StatusAndHeadersParser) -> Head:
    """Return what warcio's parser makes of a head, or raise what it raises."""
    plain = _plain_head(head, parser.statuslist)
    if plain is not None:
        return plain
    parsed = parser.parse(BytesIO(head))
    return Head(parsed.statusline, parsed.headers)


def _plain_head(head: bytes, protocols: list[str]) -> Head | None:
    """Return a head of ASCII with a line for each header, at a sixth of warcio's time; None of any other."""
    if not head.isascii() or b"\n " in head or b"\n\t" in head:
        return None
    lines = iter(head.decode("ascii").split("\n"))
    first = next(lines).rstrip()
    protocol = next((one for one in protocols if first.upper().startswith(one)), None)
    if protocol is None:
        return None
    headers = []
    for line in lines:
        name, colon, value = line.rstrip().partition(":")
        if colon:
            headers.append((name.rstrip(" \t"), value.lstrip()))
        elif not name:
            break
    return Head(first[len(protocol) :].strip(), headers)


def _content_length(head: Head) -> int:
    text = head.get("Content-Length").strip()
    if not (text.isascii() and text.isdigit()):
        raise BadRecord(f"Content-Length must be a number of bytes, got {text[:40]!r}")
    if len(text) > 18 or int(text) > MAX_BLOCK_BYTES:
        raise BadRecord(f"record must have at most {MAX_BLOCK_BYTES} bytes, got {text[:40]}")
    return int(text)


HTML_TYPES = ("text/html", "application/xhtml+xml")
_STATUS = re.compile(r"(?:\d(?:\.\d)?\s+)?([1-5]\d\d)\b")
_CHUNK_SIZE = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_HTTP = StatusAndHeadersParser(["HTTP/"])
# The body is decoded, so what described its coding is no longer true.
_STALE_HEADERS = frozenset({"Content-Encoding", "Transfer-Encoding", "Content-Length", "Connection"})


def to_record(block: Block) -> ArchiveRecord | None:
    """Return the answer in a ``response`` record, or the page in a ``resource`` record of HTML; else None.

    Raises
    ------
    BadRecord
        If it is such a record, but its HTTP head or its coding cannot be read.
    """
    url = block.head.get("WARC-Target-URI").strip().removeprefix("<").removesuffix(">")
    if not url.startswith(("http://", "https://")):
        return None
    kind = record_type(block)
    content_type = block.head.get("Content-Type").lower()
    if kind == "response":
        return _response(url, block.data)
    if kind == "resource" and content_type.startswith(HTML_TYPES):
        return ArchiveRecord(url, 200, {"Content-Type": content_type}, block.data)
    return None


def record_type(block: Block) -> str:
    """Return ``WARC-Type`` in lower case."""
    return block.head.get("WARC-Type").strip().lower()


def _response(url: str, data: bytes) -> ArchiveRecord:
    end = _HEAD_END.search(data)
    head, body = (data[: end.end()], data[end.end() :]) if end else (data, b"")
    try:
        parsed = read_head(head, _HTTP)
    except (StatusAndHeadersParserException, EOFError):
        raise BadRecord(f"HTTP answer must start with HTTP/, got {head[:20]!r}") from None
    headers = {name.strip().title(): value for name, value in parsed.headers}
    kept = {name: value for name, value in headers.items() if name not in _STALE_HEADERS}
    return ArchiveRecord(url, _status(parsed), kept, _decode(body, headers))


def _status(head: Head) -> int:
    match = _STATUS.match(head.status)
    if match is None:
        raise BadRecord(f"HTTP status must be a number from 100 to 599, got {head.status[:40]!r}")
    return int(match[1])


def _decode(body: bytes, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        body = _unchunk(body)
    coding = headers.get("Content-Encoding", "").strip()
    if not body or coding.lower() in {"", "identity", "none"}:
        return body
    try:
        return decompress(body, coding, max_bytes=MAX_BLOCK_BYTES)
    except InvalidPage as error:
        raise BadRecord(f"content coding {coding[:40]!r} cannot be undone: {error}") from None


def _unchunk(body: bytes) -> bytes:
    """Join the chunks; a body that does not begin with a chunk was stored with its coding undone."""
    size = _CHUNK_SIZE.match(body)
    if size is None:
        return body
    parts = []
    while size and (length := int(size[1], 16)):
        start = size.end()
        if start + length > len(body):
            raise BadRecord("chunked body is cut off")
        parts.append(body[start : start + length])
        size = _CHUNK_SIZE.match(body, start + length)
    if size is None:
        raise BadRecord("chunked body lacks its last chunk")
    return b"".join(parts)


class WarcFile:
    """A WARC file on disk.

    Attributes
    ----------
    entry
        None: it is the first response record.

    Raises
    ------
    InvalidInput
        Field ``warc``: the file has no record of any type, but is not empty.
    """

    entry: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        tally = ReadTally()
        with path.open("rb") as file:
            one = next(_blocks_of(ByteSource(str(path), file), tally), None)
        if one is None and tally.damage:
            raise InvalidInput(f"{path}: must be a WARC file, got {tally.damage[0].reason}", field="warc")

    def records(self, tally: ReadTally) -> Iterator[ArchiveRecord]:
        """Yield the answers in stored order; `tally` is told of everything else."""
        with self.path.open("rb") as file:
            yield from read_warc(ByteSource(str(self.path), file), tally)


def read_warc(source: ByteSource, tally: ReadTally) -> Iterator[ArchiveRecord]:
    """Yield the answers of a WARC file in stored order; bad records are skipped and told to `tally`."""
    for block in _blocks_of(source, tally):
        tally.revisits += record_type(block) == "revisit"
        try:
            record = to_record(block)
        except BadRecord as error:
            tally.damage.append(Damage(source.name, block.offset, str(error)))
            continue
        if record is not None:
            yield record


def _blocks_of(source: ByteSource, tally: ReadTally) -> Iterator[Block]:
    def damaged(offset: int, reason: str) -> None:
        tally.damage.append(Damage(source.name, offset, reason))

    for frame in frames(source):
        yield from read_blocks(frame, damaged)


def write_warc(path: Path, pages: Mapping[str, str | bytes]) -> Path:
    """Write HTML pages by URL as a WARC file, compressed by record, and return `path`.

    For examples and tests: answers are all 200 and carry no headers but their type. The first page is where a
    crawl starts.
    """
    path.write_bytes(b"".join(gzip.compress(_raw_record(url, body), mtime=0) for url, body in pages.items()))
    return path


def _raw_record(url: str, body: str | bytes) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + data
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"
