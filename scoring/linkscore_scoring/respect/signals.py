"""What the headers and the head of a page reserve: uses of it, and that its links are followed.

Where two sources disagree, the one that reserves counts.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

import brotli
import zstandard

AI_INPUT, AI_TRAIN, SEARCH, TDM = "ai-input", "ai-train", "search", "tdm"
USES = (AI_INPUT, AI_TRAIN, SEARCH, TDM)
"""What a page may be used for: as of draft-romm-aipref-contentsignals-00, and text and data mining (W3C, TDM
Reservation Protocol)."""

RESERVED_TDM = frozenset({AI_TRAIN, TDM})
"""What a TDM reservation reserves: models are trained by mining (Regulation (EU) 2024/1689, article 53)."""

NOFOLLOW = "nofollow"
"""Told beside uses: that the links of a page are not to be followed."""

MAX_VALUE_CHARS = 8_192
"""Characters read of a header. Servers bound all headers of a request to this as a rule."""
HEAD_BYTES = 65_536
"""First bytes of a page in which its `<meta>` is looked for. Chosen; heads of pages have some kilobytes."""
_META_BYTES = 1_000  # of one `<meta>`: a bound
_ZSTD_CHUNK_BYTES = 256  # as of `features.body`
_ZSTD_WINDOW_BYTES = 1 << 23  # RFC 8878, section 3.1.1.1.2

_ROBOTS = {
    "noindex": {SEARCH},
    "none": {SEARCH, NOFOLLOW},
    "nofollow": {NOFOLLOW},
    "noai": {AI_TRAIN},  # as DeviantArt asks for it
}
# Directives with a value; any other word before a colon is a crawler's, what is no word is part of a date.
_VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
_CRAWLER = re.compile(r"[a-z*][a-z0-9_.*/-]*")
# Lengths are bounded, and names begin where no letter was: a search takes time of its text alone.
_SIGNAL = re.compile(r"(?<![a-z-])([a-z-]{1,20})\s{0,9}=\s{0,9}(yes|no|y|n)\b", re.IGNORECASE)
_PLACES = re.compile(rb"<!--|<(?:script|style|template|noscript|meta)(?=[\s>/])", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"""(?<![a-z-])([a-z-]{1,20})\s{0,9}=\s{0,9}(?:"([^"]{0,300})"|'([^']{0,300})'|([^\s>"']{1,300}))"""
)


def signals(value: str) -> dict[str, bool]:
    """Return what a value of `Content-Signal` says of each use that it names; of two answers no counts.

    Examples
    --------
    >>> signals("search=yes, ai-train=no")
    {'search': True, 'ai-train': False}
    """
    said: dict[str, bool] = {}
    for name, answer in _SIGNAL.findall(value):
        if (use := name.lower()) in USES:
            said[use] = said.get(use, True) and answer.lower().startswith("y")
    return said


def said_by_headers(headers: Iterable[tuple[str, str]]) -> set[str]:
    """Return the uses that the headers of a page reserve, and `NOFOLLOW`.

    Of `X-Robots-Tag` what is said to every crawler counts, not what is said to one by name.

    Examples
    --------
    >>> sorted(said_by_headers([("X-Robots-Tag", "noindex"), ("TDM-Reservation", "1")]))
    ['ai-train', 'search', 'tdm']
    >>> said_by_headers([("X-Robots-Tag", "otherbot: none")])
    set()
    """
    found: set[str] = set()
    for name, value in headers:
        found |= _said(name.strip().lower(), value[:MAX_VALUE_CHARS])
    return found


def _said(name: str, value: str) -> set[str]:
    if name == "x-robots-tag":
        return _robots(value)
    if name == "content-signal":
        return {use for use, allowed in signals(value).items() if not allowed}
    return set(RESERVED_TDM) if name == "tdm-reservation" and value.strip() == "1" else set()


def _robots(value: str) -> set[str]:
    """Return what directives reserve, up to the first that begins what is said to one crawler."""
    found: set[str] = set()
    for directive in value.lower().split(","):
        name, colon, _ = directive.strip().partition(":")
        if colon and name.strip() not in _VALUED and _CRAWLER.fullmatch(name.strip()):
            break
        for word in directive.split():
            found |= _ROBOTS.get(word, set())
    return found


def said_by_head(body: bytes, content_encoding: str) -> set[str]:
    """Return the uses that `<meta>` in the first bytes of a page reserve, and `NOFOLLOW`; O(`HEAD_BYTES`).

    Nothing of a body that is encoded twice, is broken, or is in UTF-16.
    """
    found: set[str] = set()
    for attributes in _metas(first_bytes(body, content_encoding, HEAD_BYTES)):
        name, content = attributes.get("name", "").strip().lower(), attributes.get("content", "")
        if name == "robots":
            found |= _robots(content.replace(" ", ","))
        elif name == "tdm-reservation" and content.strip() == "1":
            found |= RESERVED_TDM
    return found


def _metas(head: bytes) -> Iterator[dict[str, str]]:
    """Yield the attributes of each `<meta>` that is in no comment and no script."""
    head, at = head.lower(), 0
    while (place := _PLACES.search(head, at)) is not None:
        name = place.group().lstrip(b"<")
        if name != b"meta":
            end = head.find(b"-->" if name == b"!--" else b"</" + name, place.end())
            if end < 0:
                return
            at = end + 2
            continue
        begin = place.end()
        end = head.find(b">", begin, begin + _META_BYTES)
        at = end if end >= 0 else begin + _META_BYTES
        rows = _ATTRIBUTE.findall(head[begin:at])
        yield {
            key.decode("latin-1"): (double or single or bare).decode("latin-1")
            for key, double, single, bare in rows
        }


def first_bytes(body: bytes, content_encoding: str, most: int) -> bytes:
    """Return up to `most` first bytes of a body, decompressed; as they are where that cannot be done."""
    encoding = content_encoding.strip().lower()
    try:
        if encoding == "br":
            found: bytes = brotli.Decompressor().process(body[:most], output_buffer_limit=most)
            return found[:most]
        if encoding == "zstd":
            return _of_zstd(body, most)
        if encoding == "deflate" and body[:1] != b"\x78":  # without a head, as some servers send it
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[:most], most)
        if encoding in {"gzip", "x-gzip", "deflate"} or body.startswith(b"\x1f\x8b\x08"):
            return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body[:most], most)
    except (zlib.error, brotli.error, zstandard.ZstdError):
        pass  # undone already, or broken
    return body[:most]


def _of_zstd(body: bytes, most: int) -> bytes:
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
    data = bytearray()
    for at in range(0, min(len(body), most), _ZSTD_CHUNK_BYTES):
        data += stream.decompress(body[at : at + _ZSTD_CHUNK_BYTES])
        if len(data) >= most or stream.eof:
            break
    return bytes(data[:most])
