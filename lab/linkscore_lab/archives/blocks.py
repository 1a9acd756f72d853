"""From frames to raw WARC records: head and block, or what is wrong and where the next record begins.

Source: ISO 28500:2017 (WARC 1.1), sections 4 and 5; 1.0 differs in nothing read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, NamedTuple

from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from linkscore_lab.archives.frames import Frame
from linkscore_lab.archives.record import BadRecord, BrokenFrame
from linkscore_lab.archives.window import Window

MAX_BLOCK_BYTES = 1 << 28
_MAX_HEAD_BYTES = 1 << 16
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_RECORD_START = re.compile(rb"WARC/1\.[01]\r?\n[A-Za-z]")
_RECORD_START_BYTES = 11
# Two line ends close a record; with fewer, the next one or the end of the frame must be there.
_AFTER = re.compile(rb"(?:\r?\n){2}|(?:\r?\n)?(?:WARC/|\Z)")
_AFTER_BYTES = 8
_LENGTH = re.compile(rb"\nContent-Length: *(\d{1,18})\r\n", re.IGNORECASE)
_PARSER = StatusAndHeadersParser(["WARC/1.1", "WARC/1.0", "WARC/0.18", "WARC/0.17"])


class Block(NamedTuple):
    """One raw record: where it begins, its WARC headers (warcio's) and its block."""

    offset: int
    headers: Any
    data: bytes


def read_blocks(frame: Frame, damaged: Callable[[int, str], None]) -> Iterator[Block]:
    """Yield the records of a frame; `damaged` is told offset and reason of each that cannot be read.

    A record counts only when the bytes after it are sound, so a bad checksum of its member is its damage too.
    """
    window, offset = Window(frame.chunks), frame.offset
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


def _skip_empty_lines(window: Window) -> bool:
    while window.fill(1):
        if window.peek(0, 1) not in b"\r\n":
            return True
        window.drop(1)
    return False


def _take_block(window: Window, offset: int) -> Block:
    size = window.search(_HEAD_END, 0, _MAX_HEAD_BYTES)
    if size < 0:
        raise BadRecord(f"record head does not end within {_MAX_HEAD_BYTES} bytes")
    headers = _parse_head(window.peek(0, size))
    length = _content_length(headers)
    if not window.fill(size + length):
        raise BadRecord(f"record is cut off: Content-Length is {length}, the file ends before")
    window.fill(size + length + _AFTER_BYTES)
    data = window.peek(size, size + length)
    after = window.peek(size + length, size + length + _AFTER_BYTES)
    if not _AFTER.match(after) or _cuts_a_record(data):
        raise BadRecord(f"Content-Length {length} does not lead to the end of the record")
    window.drop(size + length)
    return Block(offset, headers, data)


def _cuts_a_record(data: bytes) -> bool:
    """Whether a length too long leads, by chance, to an empty line inside the next record."""
    start = data.rfind(b"\r\n\r\nWARC/1.") + 4
    if start < 4:
        return False
    end = data.find(b"\r\n\r\n", start) + 4
    length = _LENGTH.search(data, start, end)
    return end < 4 or (length is not None and end + int(length[1]) > len(data))


def _parse_head(head: bytes) -> Any:
    try:
        return _PARSER.parse(BytesIO(head))
    except StatusAndHeadersParserException:
        raise BadRecord(f"record must start with WARC/1.0 or WARC/1.1, got {head[:20]!r}") from None


def _content_length(headers: Any) -> int:
    text = (headers.get_header("Content-Length") or "").strip()
    if not (text.isascii() and text.isdigit()):
        raise BadRecord(f"Content-Length must be a number of bytes, got {text[:40]!r}")
    if len(text) > 18 or int(text) > MAX_BLOCK_BYTES:
        raise BadRecord(f"record must have at most {MAX_BLOCK_BYTES} bytes, got {text[:40]}")
    return int(text)
