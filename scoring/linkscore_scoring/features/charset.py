"""Which encoding a browser would read a page in.

Order of trust (WHATWG HTML, 13.2.3 "determining the character encoding"): byte order mark, HTTP header,
``<meta>`` in the first bytes, UTF-8 if the bytes are valid UTF-8, else windows-1252. Labels mean what
browsers take them to mean (``latin1`` is windows-1252). A wrong or unknown label never raises: the next
source is asked.
"""

from __future__ import annotations

from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

PRESCAN_BYTES = 1024
_UTF16 = frozenset({"utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"})


def detect_charset(body: bytes, content_type: str = "") -> str:
    """Return the Python codec name a page is to be read in.

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
    declared = http_content_type_encoding(content_type) or _meta_charset(body)
    if declared and is_text_codec(declared):
        return str(declared)
    return "utf-8" if is_utf8(body) else "cp1252"


def to_utf8(body: bytes, charset: str) -> tuple[bytes, bool]:
    """Return `body` as valid UTF-8 without mark; the flag says that some bytes did not fit `charset`."""
    _, mark = read_bom(body)
    raw = body[len(mark) :] if mark else body
    try:
        text = raw.decode(charset)
    except UnicodeError:
        return to_unicode(raw, charset).encode("utf-8", "replace"), True
    return (raw if charset == "utf-8" else text.encode("utf-8", "replace")), False


def is_utf8(body: bytes) -> bool:
    """Say whether `body` is valid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_text_codec(name: str) -> bool:
    """Say whether `name` is a codec from bytes to text (``rot13`` and ``base64`` are none)."""
    try:
        b"".decode(name)
        b"a".decode(name, "replace")
    except (LookupError, ValueError):
        return False
    return True


def _meta_charset(body: bytes) -> str | None:
    declared: str | None = html_body_declared_encoding(body[:PRESCAN_BYTES])
    # A <meta> that can be read as ASCII and claims UTF-16 is wrong; browsers read UTF-8.
    return "utf-8" if declared in _UTF16 else declared
