"""From the bytes a crawler sends to the text of an HTML page: decompression within bounds, type, charset."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import lru_cache

import brotli
import zstandard
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

from linkscore_scoring.errors import InvalidPage

_GZIP_MAGIC = b"\x1f\x8b\x08"
# Output of one call of the decoder, which is checked against the bound in between; a usual buffer size.
_BROTLI_OUTPUT_BYTES = 65_536
# Four bytes of zstd may stand for 128 KB, and a call cannot be bounded: 256 bytes at a time are 8 MB at most.
_ZSTD_CHUNK_BYTES = 256
# The window that RFC 8878, section 3.1.1.1.2, recommends every decoder to support.
_ZSTD_WINDOW_BYTES = 1 << 23
MAX_MEMBERS = 1_000
"""Members of a gzip body and frames of a zstd body: each costs microseconds whatever it holds. Tools that
write several put 64 KB or more in each (bgzip), so that the largest body has 153. Chosen, not measured."""

MAX_ENCODINGS = 4
"""Content encodings of one body: each may take the time of a body of the largest size. More than two are not
met; chosen, not measured."""

MAX_HEADER_CHARS = 1_000
"""Characters read of ``Content-Type`` and ``Content-Encoding``; chosen, not measured."""

# Compressed bytes given to zlib at a time: it copies what is left of them at the end of each member.
_ZLIB_CHUNK_BYTES = 16_384
# First bytes looked at for the type; WHATWG MIME Sniffing 5.2 reads 1,445 at most.
_SNIFF_BYTES = 1024
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/xhtml", "text/xhtml"})
_UNKNOWN_TYPES = frozenset({"", "*/*", "unknown/unknown", "application/unknown", "application/octet-stream"})
_BINARY_MAGIC = (
    b"%PDF-", b"%!PS-Adobe-", b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"BM", b"PK\x03\x04",
    b"Rar!", b"OggS", b"ID3", b"\x7fELF", b"\x00\x00\x01\x00", b"II*\x00", b"MM\x00*", b"wOFF", b"wOF2",
    b"RIFF",
)  # fmt: skip
_MARKUP = re.compile(rb"<(?:[a-zA-Z]|!doctype html|!--)", re.IGNORECASE)
_UTF8_MARKS = re.compile(rb"(?:\xef\xbb\xbf)++")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def decompress(body: bytes, content_encoding: str = "", *, max_bytes: int) -> bytes:
    """Undo the content encodings of a body, last applied first.

    Parameters
    ----------
    body
        Bytes as they came over the wire.
    content_encoding
        HTTP ``Content-Encoding``: ``gzip``, ``br``, ``zstd``, ``deflate``, ``identity``, or several by
        commas. A gzip body without (or sent with an already undone) encoding is recognised by its first
        bytes.
    max_bytes
        Bound of the result and of every step; reading stops there, so a bomb costs no memory.

    Raises
    ------
    InvalidPage
        Field ``body``, reason ``BODY_TOO_LARGE``, ``TRUNCATED_BODY``, ``CORRUPT_BODY`` or
        ``UNSUPPORTED_ENCODING`` (field ``content_encoding``).
    """
    encodings = [name.strip().lower() for name in content_encoding[:MAX_HEADER_CHARS].split(",")]
    if len(encodings) > MAX_ENCODINGS or len(content_encoding) > MAX_HEADER_CHARS:
        raise _unsupported(f"must name at most {MAX_ENCODINGS} encodings", content_encoding)
    for name in reversed(encodings):
        body = _decoder(name)(body, max_bytes)
    if body.startswith(_GZIP_MAGIC):
        body = _gunzip(body, max_bytes)
    return _identity(body, max_bytes)


def is_html(body: bytes, content_type: str = "") -> bool:
    """Say whether a page is to be parsed: HTML or XHTML by header, or by its first bytes when the header is
    no help.

    Bodies with the first bytes of a known binary format, or with NUL bytes (UTF-16 aside), are never parsed.
    Source: WHATWG MIME Sniffing 7.1, with any start tag counted as a sign of HTML.
    """
    head = body[:_SNIFF_BYTES]
    if _is_binary(head):
        return False
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _HTML_TYPES:
        return True
    known = kind not in _UNKNOWN_TYPES and "/" in kind
    return not known and (not head.strip() or _MARKUP.search(head.replace(b"\x00", b"")) is not None)


def _is_binary(head: bytes) -> bool:
    if head.startswith(_UTF16_MARKS):
        return False
    if head.startswith(_BINARY_MAGIC):
        return True
    if head.count(0) <= len(head) // 100:
        return False
    return not (b"<\x00" in head or b"\x00<" in head)  # as UTF-16 without a mark would have


def _decoder(name: str) -> Callable[[bytes, int], bytes]:
    try:
        return _DECODERS[name]
    except KeyError:
        raise _unsupported("must be one of gzip, br, zstd, deflate, identity", name) from None


def _identity(body: bytes, max_bytes: int) -> bytes:
    if len(body) > max_bytes:
        raise too_large(max_bytes)
    return body


def _gunzip(body: bytes, max_bytes: int) -> bytes:
    """Inflate all gzip members; a body that is no gzip any more (the crawler undid it) passes through."""
    if not body.startswith(_GZIP_MAGIC[:2]):
        return body
    data = bytearray()
    at = members = 0
    while body.startswith(_GZIP_MAGIC[:2], at):
        members += 1
        if members > MAX_MEMBERS:
            raise _too_many("gzip", "members")
        at = _inflate(body, at, data, zlib.MAX_WBITS | 16, max_bytes, "gzip")
    return bytes(data)


def _undeflate(body: bytes, max_bytes: int) -> bytes:
    """Inflate zlib data, or raw deflate data as some servers send it."""
    if not body:
        return body
    zlib_header = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    wbits = zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS
    data = bytearray()
    _inflate(body, 0, data, wbits, max_bytes, "deflate")
    return bytes(data)


def _inflate(body: bytes, start: int, data: bytearray, wbits: int, max_bytes: int, name: str) -> int:
    """Append the stream that begins at `start` to `data`, and return where it ends."""
    stream = zlib.decompressobj(wbits)
    for at in range(start, len(body), _ZLIB_CHUNK_BYTES):
        end = min(at + _ZLIB_CHUNK_BYTES, len(body))
        try:
            data += stream.decompress(body[at:end], max_bytes + 1 - len(data))
        except zlib.error as error:
            raise _corrupt(name, error) from None
        if len(data) > max_bytes:
            raise too_large(max_bytes)
        if stream.eof:
            return end - len(stream.unused_data)
    raise _truncated(name)


def _unbrotli(body: bytes, max_bytes: int) -> bytes:
    stream = brotli.Decompressor()
    data = bytearray()
    pending = body
    try:
        while True:
            data += stream.process(pending, output_buffer_limit=_BROTLI_OUTPUT_BYTES)
            if len(data) > max_bytes:
                raise too_large(max_bytes)
            if stream.is_finished() or stream.can_accept_more_data():
                break
            pending = b""
    except brotli.error as error:
        raise _corrupt("br", error) from None
    if not stream.is_finished():
        raise _truncated("br")
    return bytes(data)


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    """Decompress all frames; a decompressor is made per call, since one shared between threads crashes."""
    data = bytearray()
    at = frames = 0
    try:
        while at < len(body):
            frames += 1
            if frames > MAX_MEMBERS:
                raise _too_many("zstd", "frames")
            at = _unzstd_frame(body, at, data, max_bytes)
    except zstandard.ZstdError as error:
        raise _corrupt("zstd", error) from None
    return bytes(data)


def _unzstd_frame(body: bytes, first: int, data: bytearray, max_bytes: int) -> int:
    """Append the frame that begins at `first` to `data`, and return where it ends."""
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
    for start in range(first, len(body), _ZSTD_CHUNK_BYTES):
        end = min(start + _ZSTD_CHUNK_BYTES, len(body))
        data += stream.decompress(body[start:end])
        if len(data) > max_bytes:
            raise too_large(max_bytes)
        if stream.eof:
            return end - len(stream.unused_data)
    raise _truncated("zstd")


def too_large(max_bytes: int) -> InvalidPage:
    """Return the refusal of a body with more bytes."""
    rule = f"decompressed body must have at most {max_bytes} bytes"
    return InvalidPage(rule, field="body", reason="BODY_TOO_LARGE")


def _too_many(name: str, parts: str) -> InvalidPage:
    rule = f"{name} body must have at most {MAX_MEMBERS} {parts}"
    return InvalidPage(rule, field="body", reason="CORRUPT_BODY")


def _unsupported(rule: str, value: str) -> InvalidPage:
    got = f"{rule}, got {value[:100]!r}"
    return InvalidPage(got, field="content_encoding", reason="UNSUPPORTED_ENCODING")


def _truncated(name: str) -> InvalidPage:
    return InvalidPage(f"truncated {name} body", field="body", reason="TRUNCATED_BODY")


def _corrupt(name: str, error: Exception) -> InvalidPage:
    return InvalidPage(f"corrupt {name} body: {error}", field="body", reason="CORRUPT_BODY")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "": _identity,
    "identity": _identity,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}


PRESCAN_BYTES = 1024
"""First bytes in which ``<meta>`` may declare a charset (WHATWG HTML, 13.2.3.2)."""

_WEB_CODECS = frozenset(
    [
        *(
            "utf-8",
            "utf-16",
            "utf-16-le",
            "utf-16-be",
            "cp866",
            "koi8-r",
            "koi8-u",
            "mac-roman",
            "mac-cyrillic",
        ),
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *("cp874", *(f"cp{page}" for page in range(1250, 1259))),
        *("gb18030", "big5hkscs", "big5", "euc_jp", "iso2022_jp", "cp932", "cp949"),
    ]
)
"""Codecs of the encodings of the web (WHATWG Encoding, section 4.2). Python has 60 more, of which some take
quadratic time (``punycode``), raise in spite of ``errors="replace"`` (``idna``), or write markup in letters
(``utf-7``, ``hz``); browsers read none of them."""

_UTF16 = frozenset({"utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"})


# The pages of a crawl have few headers between them.
_header_charset = lru_cache(maxsize=256)(http_content_type_encoding)


def detect_charset(body: bytes, content_type: str = "") -> str:
    """Return the Python codec name a page is to be read in: the encoding a browser would take.

    Order of trust: byte order mark, HTTP header, ``<meta>`` in the first bytes, UTF-8 if the bytes are valid
    UTF-8, else windows-1252. Labels mean what browsers take them to mean (``latin1`` is windows-1252). A
    wrong or unknown label never raises: the next source is asked. Only the encodings browsers know count.

    Parameters
    ----------
    body
        Decompressed bytes of the page.
    content_type
        Value of the HTTP ``Content-Type`` header, empty if unknown.

    Notes
    -----
    Source: WHATWG HTML 13.2.3 and Encoding 4.2. Differences: the content of the page is not used to guess
    between legacy encodings; an undeclared page is UTF-8 when it decodes, windows-1252 when not.
    """
    bom, _ = read_bom(body)
    if bom:
        return str(bom)
    declared = _header_charset(content_type[:MAX_HEADER_CHARS]) or _meta_charset(body)
    if declared in _WEB_CODECS:
        return str(declared)
    return "utf-8" if is_utf8(body) else "cp1252"


def to_utf8(body: bytes, charset: str) -> tuple[bytes, bool]:
    """Return `body` as valid UTF-8 without mark; the flag says that some bytes did not fit `charset`.

    Of several marks one goes, as the standard has it. A body of marks alone is empty, as libxml2 has it.
    """
    _, mark = read_bom(body)
    raw = body[len(mark) :] if mark else body
    if charset == "utf-8" and raw.isascii():
        return raw, False
    try:
        text = raw.decode(charset)
    except UnicodeError:
        return _unmarked(to_unicode(raw, charset).encode("utf-8", "replace")), True
    return _unmarked(raw if charset == "utf-8" else text.encode("utf-8", "replace")), False


def _unmarked(markup: bytes) -> bytes:
    return b"" if _UTF8_MARKS.fullmatch(markup) else markup


def is_utf8(body: bytes) -> bool:
    """Say whether `body` is valid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _meta_charset(body: bytes) -> str | None:
    declared: str | None = html_body_declared_encoding(body[:PRESCAN_BYTES])
    # A <meta> that can be read as ASCII and claims UTF-16 is wrong; browsers read UTF-8.
    return "utf-8" if declared in _UTF16 else declared
