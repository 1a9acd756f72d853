"""The title of a page as a number that changes with it: a page whose title changed has changed.

Numbers in it say nothing, as everywhere, nor whether there are any: titles count what is unread, or name the
minute of a build.
"""

from __future__ import annotations

import re
import zlib

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress

FACT = "title"
"""Name of the fact of a page, see `Companion.read`."""
_MAX_BYTES = 64 * 1024 * 1024
"""A bound: larger bodies are refused before."""
_MOST_BYTES = 1_024
"""A bound: bytes of a title."""
_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{1,%d})" % _MOST_BYTES, re.IGNORECASE)
_WORDS = re.compile(rb"[a-zA-Z\x80-\xff]+")


def unpacked(body: bytes, content_encoding: str) -> bytes:
    """Return a body as it was before it was compressed, nothing of a broken one."""
    if not content_encoding and body[:2] != b"\x1f\x8b":
        return body
    try:
        return decompress(body, content_encoding, max_bytes=_MAX_BYTES)
    except InvalidPage:
        return b""


def title_mark(body: bytes) -> int:
    """Return 16 bits that tell one title from another, 0 if there is none.

    Examples
    --------
    >>> one, other = title_mark(b"<title>News (3)</title>"), title_mark(b"<title>Old news</title>")
    >>> one == title_mark(b"<TITLE lang=en> News\\n(12)</TITLE>"), one == other, title_mark(b"<p>")
    (True, False, 0)
    """
    found = _TITLE.search(body)
    title = b" ".join(_WORDS.findall(found[1])) if found else b""
    return zlib.crc32(title) % 0xFFFF + 1 if title else 0
