"""From a raw WARC record to the HTTP answer in it, transfer and content coding undone.

Source: RFC 9112, sections 4 and 7.1 (chunks); RFC 9110, section 8.4 (content coding).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from linkscore_lab.archives.blocks import MAX_BLOCK_BYTES, Block
from linkscore_lab.archives.record import BadRecord, Record
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress

HTML_TYPES = ("text/html", "application/xhtml+xml")
_STATUS = re.compile(r"(?:\d(?:\.\d)?\s+)?([1-5]\d\d)\b")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_HTTP = StatusAndHeadersParser(["HTTP/"])
# The body is decoded, so what described its coding is no longer true.
_STALE_HEADERS = frozenset({"Content-Encoding", "Transfer-Encoding", "Content-Length", "Connection"})


def to_record(block: Block) -> Record | None:
    """Return the answer in a ``response`` record, or the page in a ``resource`` record of HTML; else None.

    Raises
    ------
    BadRecord
        If it is such a record, but its HTTP head or its coding cannot be read.
    """
    url = (block.headers.get_header("WARC-Target-URI") or "").strip().removeprefix("<").removesuffix(">")
    if not url.startswith(("http://", "https://")):
        return None
    kind = record_type(block)
    content_type = (block.headers.get_header("Content-Type") or "").lower()
    if kind == "response":
        return _response(url, block.data)
    if kind == "resource" and content_type.startswith(HTML_TYPES):
        return Record(url, 200, {"Content-Type": content_type}, block.data)
    return None


def record_type(block: Block) -> str:
    """Return ``WARC-Type`` in lower case."""
    return (block.headers.get_header("WARC-Type") or "").strip().lower()


def _response(url: str, data: bytes) -> Record:
    end = _HEAD_END.search(data)
    head, body = (data[: end.end()], data[end.end() :]) if end else (data, b"")
    try:
        parsed = _HTTP.parse(BytesIO(head))
    except (StatusAndHeadersParserException, EOFError):
        raise BadRecord(f"HTTP answer must start with HTTP/, got {head[:20]!r}") from None
    headers = {name.strip().title(): value for name, value in parsed.headers}
    kept = {name: value for name, value in headers.items() if name not in _STALE_HEADERS}
    return Record(url, _status(parsed), kept, _decode(body, headers))


def _status(parsed: Any) -> int:
    match = _STATUS.match(parsed.statusline)
    if match is None:
        raise BadRecord(f"HTTP status must be a number from 100 to 599, got {parsed.statusline[:40]!r}")
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
