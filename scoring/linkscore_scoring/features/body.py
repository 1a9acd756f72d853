"""From the bytes a crawler sends to the text of an HTML page: decompression within bounds, type, charset."""

from __future__ import annotations

import codecs
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple

import brotli
import webencodings
import zstandard

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.urls.identity import chars_of_bytes

MAX_ATTRIBUTES = 1_000
"""Attributes of a tag, from which on it loses all: libxml2 appends them to a linked list, so that many take
quadratic time. Chosen, not measured."""

MAX_OPEN = 500
"""Elements within each other that are kept of a page too deep for libxml2; browsers keep 512."""

CROWDED_BYTES = 49_152
"""Pages smaller than this, as most are, are not searched for crowded tags: 16,000 attributes take 190 ms."""


def _compiled(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Compile a pattern whose white space is that of HTML, which has no vertical tab."""
    return re.compile(pattern.replace(rb"\s", rb"\t\n\f\r "), flags)


_ATTRIBUTE = rb"[\s/]*+[^\s/>][^\s/>=]*+(?:[\s]*+=[\s]*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?+)?+"
# Whole tags, one after the other and never one inside of another, so that each byte is read once. What has no
# tags in it (comments, scripts) is passed over as a tokenizer does.
_TEXT = (
    rb"!--(?:-?>|.*?(?:-->|--!>|\Z))"
    rb"|(?P<raw>script|style|title|textarea|xmp|iframe|noembed|noframes)(?=[\s/>])(?:"
    + _ATTRIBUTE
    + rb")*+.*?(?:</(?P=raw)|\Z)"
)
_FLAGS = re.DOTALL | re.IGNORECASE
_TAG = _compiled(rb"<(?:" + _TEXT + rb"|[a-zA-Z][^\s/>]*+(?:" + _ATTRIBUTE + rb")*+)", _FLAGS)
_TAG_OR_END = _compiled(
    rb"<(?:" + _TEXT + rb"|(/?[a-zA-Z][^\s/>]*+)(?:" + _ATTRIBUTE + rb")*+[\s/]*+>?|[!?/][^>]*+)", _FLAGS
)
_NAME = _compiled(rb"</?([a-zA-Z][^\s/>]*)")
_ONE_ATTRIBUTE = _compiled(
    rb"[\s/]*+([^\s/>][^\s/>=]*+)(?:[\s]*+=[\s]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+))?+)?+"
)
_CROWDED_TAG = _compiled(rb"<([a-zA-Z][^\s/>]*+)((?:" + _ATTRIBUTE + rb"){%d,}+)" % MAX_ATTRIBUTES, re.DOTALL)
_SELF_CLOSED_OR_TAG = _compiled(
    rb"(<([a-zA-Z][^\s/>]*+)(?:" + _ATTRIBUTE + rb")*+)[\s/]*/>|" + _TAG_OR_END.pattern, _FLAGS
)
_NEVER_EMPTY = frozenset(
    b"script style title textarea template xmp iframe noembed noframes noscript plaintext".split()
)
# A class for each of their first two letters takes a third of the time that the names take.
_MAY_BE_NEVER_EMPTY = _compiled(
    rb"<([sStTxXiInNpP][cCtTiIeEmMfFoOlL][a-zA-Z]++)(?=[\s/>])(?:" + _ATTRIBUTE + rb")*+(?:[\s/]*(/>))?"
)
# A name and what separates it from the next: so long is the shortest tag that is crowded, at least.
_CROWDED_TAG_BYTES = 2 * MAX_ATTRIBUTES
_QUOTED_TAG_END = _compiled(rb"=[\s]*+(?:\"[^\">]*+>|'[^'>]*+>)")
_TAG_START = _compiled(rb"<[a-zA-Z]")
# A head that is open where an element follows that none has.
_OPEN_HEAD = _compiled(
    rb"(?:[\s]++|<!--(?:-?>|.*?(?:-->|--!>|\Z))|<[!?/][^>]*+>"
    rb"|<(?:html|head|base|basefont|bgsound|link|meta)(?=[\s/>])(?:" + _ATTRIBUTE + rb")*+[\s/]*+>"
    rb"|<(script|style|title|noscript|noframes|template)(?=[\s/>])(?:"
    + _ATTRIBUTE
    + rb")*+(?:[^<]++|<(?!/\1))*+</\1[^>]*+>)*+(?=<(?!(?:body|frameset)[\s/>])[a-zA-Z])",
    _FLAGS,
)
LAST_ENDS = _compiled(rb"</(?:body|html)(?=[\s/>])[^>]*+(?:>|\Z)", re.IGNORECASE)
"""What follows these belongs to the body, as browsers have it (WHATWG HTML, 13.2.6.4.19 and following)."""
# Empty elements, and those that are links or that the head is read from.
_KEPT_AT_ANY_DEPTH = frozenset(
    b"a /a area base br col embed frame hr img input link meta param source track wbr".split()
)


def tags_in(markup: bytes, name: bytes, *, having: bytes) -> Iterator[bytes]:
    """Yield the start tags of a name, without ``>``, as far as `having` stands behind the first of them."""
    lower = markup.lower()
    at = lower.find(b"<" + name)
    if at < 0 or lower.find(having, at) < 0:
        return
    for tag in _TAG.finditer(markup):
        if at < tag.start() and (at := lower.find(b"<" + name, tag.start())) < 0:
            return
        found = _NAME.match(tag[0])
        if found is not None and found[1].lower() == name:
            yield tag[0]


def attributes_of_tag(tag: bytes) -> dict[str, str]:
    """Return the attributes of a start tag: names in lower case, of several of one name the first.

    Examples
    --------
    >>> attributes_of_tag(b"<meta CHARSET=utf-8 content='a &amp; b'")
    {'charset': 'utf-8', 'content': 'a & b'}
    """
    name = _NAME.match(tag)
    found: dict[str, str] = {}
    for key, *values in _ONE_ATTRIBUTE.findall(tag, name.end() if name else 0):
        value = next(filter(None, values), b"").decode("latin-1")
        found.setdefault(key.decode("latin-1").lower(), unescape(value))
    return found


def flattened(markup: bytes, max_tags: int) -> bytes:
    """Return a page without the tags that open elements below `MAX_OPEN` others, and without their ends; cut
    behind `max_tags`.

    What stands in them is kept, one level higher: as browsers do with what is too deep for them.
    """
    parts: list[bytes] = []
    names: list[bytes] = []
    n_open: Counter[bytes] = Counter()
    done = 0
    for number, token in enumerate(_TAG_OR_END.finditer(markup)):
        if number == max_tags:
            markup = markup[: token.start()]
            break
        name = token[2]
        if name is None or (name := name.lower()) in _KEPT_AT_ANY_DEPTH:
            continue
        if name[:1] == b"/":
            name = name[1:]
            is_dropped = not n_open[name] or len(names) > MAX_OPEN
            while n_open[name]:
                n_open[last := names.pop()] -= 1
                if last == name:
                    break
        elif token[0][-2:] == b"/>":
            continue
        else:
            names.append(name)
            n_open[name] += 1
            is_dropped = len(names) > MAX_OPEN
        if is_dropped:
            parts.append(markup[done : token.start()])
            done = token.end()
    return b"".join([*parts, markup[done:]])


def opened(markup: bytes, *, is_xml: bool = False) -> bytes:
    """Return a page where ``<script/>`` and its like, which are empty in SVG, MathML and XML, are open in
    HTML, as browsers have it, and have an end tag in XML.
    """
    found = _MAY_BE_NEVER_EMPTY.findall(markup)
    if not any(end and name.lower() in _NEVER_EMPTY for name, end in found):
        return markup
    parts, done, at, is_foreign = [], 0, 0, False
    while token := _SELF_CLOSED_OR_TAG.search(markup, at):
        at, is_closed = token.end(), token[1] is not None
        name = (token[2] or token[3] or token[4] or b"").lower()
        if name.lstrip(b"/") in (b"svg", b"math"):
            is_foreign = name[:1] != b"/" and not is_closed
        elif is_closed and name in _NEVER_EMPTY and not is_foreign:
            parts.append(markup[done : token.end(1)] + (b"></" + name if is_xml else b""))
            done = at - 1
            if not is_xml and (whole := _TAG_OR_END.match(markup, token.start())):
                at = whole.end()  # with the text in it
        if name == b"plaintext" and not (is_closed and is_foreign):
            break
    return b"".join([*parts, markup[done:]])


def with_body(markup: bytes) -> bytes:
    """Return a page with ``<body>`` before what no head has: in an open one libxml2 goes on with ``main``."""
    head = _OPEN_HEAD.match(markup)
    return markup if head is None else head[0] + b"<body>" + markup[head.end() :]


def without_crowds(markup: bytes) -> bytes:
    """Return a page whose tags of `MAX_ATTRIBUTES` and more have none."""
    if not _may_be_crowded(markup):
        return markup
    parts, done = [], 0
    for tag in _TAG.finditer(markup):
        start, end = tag.span()
        if end - start > _CROWDED_TAG_BYTES and (crowded := _CROWDED_TAG.match(markup, start)):
            parts += [markup[done : crowded.start(2)]]
            done = crowded.end()
    return b"".join([*parts, markup[done:]]) if parts else markup


def _may_be_crowded(markup: bytes) -> bool:
    """Say whether a page may have a crowded tag, at a fifth of the cost of looking at each of its tags.

    Such a tag is long, and ``>`` stands in it within quotes only. Pages with such quotes are not judged here;
    in all others there must be as many bytes without ``>`` behind the start of a tag.
    """
    if _QUOTED_TAG_END.search(markup):
        return True
    at = 0
    while at + _CROWDED_TAG_BYTES <= len(markup):
        # The last ">" of the window, not the first: what begins before it ends there, or is too short.
        found = markup.rfind(b">", at, at + _CROWDED_TAG_BYTES)
        if found < 0:
            found = markup.find(b">", at + _CROWDED_TAG_BYTES)
            found = len(markup) if found < 0 else found
            if _TAG_START.search(markup, at, found - _CROWDED_TAG_BYTES + 2):
                return True
        at = found + 1
    return False


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
_SNIFF_BYTES = 1_445
"""First bytes looked at for the type (WHATWG MIME Sniffing, 5.2)."""
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/xhtml", "text/xhtml"})
_XML_TYPES = frozenset({"text/xml", "application/xml"})
_UNKNOWN_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "application/octet-stream"})
_BINARY_MAGIC = (
    b"%PDF-", b"%!PS-Adobe-", b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"BM", b"PK\x03\x04",
    b"Rar!", b"OggS", b"ID3", b"\x7fELF", b"\x00\x00\x01\x00", b"II*\x00", b"MM\x00*", b"wOFF", b"wOF2",
    b"RIFF",
)  # fmt: skip
_BINARY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
"""No byte of text (WHATWG MIME Sniffing, 3)."""
_MARKUP = re.compile(rb"<(?:[a-zA-Z]|!doctype html|!--)", re.IGNORECASE)
_FIRST_TAG = _compiled(rb"<([a-zA-Z][^\s/>]*)")
_UTF8_MARKS = re.compile(rb"(?:\xef\xbb\xbf)++")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decompress(body: bytes, content_encoding: str = "", *, max_bytes: int) -> bytes:
    """Undo the content encodings of a body, last applied first.

    `body`: bytes as they came over the wire. `content_encoding`: HTTP ``Content-Encoding``: ``gzip``, ``br``,
    ``zstd``, ``deflate``, or several by commas. What is no coding, or was undone already, leaves the body as
    it is; a gzip body without coding is recognised by its first bytes. `max_bytes`: bound of the result and
    of every step; reading stops there, so a bomb costs no memory.

    Raises `InvalidPage`: field ``body``, reason ``BODY_TOO_LARGE``, ``TRUNCATED_BODY`` or ``CORRUPT_BODY``;
    field ``content_encoding``, reason ``UNSUPPORTED_ENCODING`` for more than `MAX_ENCODINGS`.
    """
    encodings = [name.strip().lower() for name in content_encoding[:MAX_HEADER_CHARS].split(",")]
    if len(encodings) > MAX_ENCODINGS or len(content_encoding) > MAX_HEADER_CHARS:
        rule = f"must name at most {MAX_ENCODINGS} encodings, got {content_encoding[:100]!r}"
        raise InvalidPage(rule, field="content_encoding", reason="UNSUPPORTED_ENCODING")
    for decoder in filter(None, map(_DECODERS.get, reversed(encodings))):
        try:
            body = decoder(body, max_bytes)
        except InvalidPage as exc:
            head = body[:_SNIFF_BYTES]  # text (WHATWG MIME Sniffing, 7.2) was undone already
            is_text = head.startswith((*_WIDE_MARKS, codecs.BOM_UTF8)) or not _BINARY_BYTE.search(head)
            if not is_text or exc.reason == "BODY_TOO_LARGE":
                raise
    if body.startswith(_GZIP_MAGIC):
        body = _gunzip(body, max_bytes)
    if len(body) > max_bytes:
        raise too_large(max_bytes)
    return body


_BODY_BYTES = 64 * 1024 * 1024
"""A bound of a body when unpacked: larger ones are refused before."""


def first_bytes(body: bytes, content_encoding: str, most: int = _BODY_BYTES) -> bytes:
    """Return up to `most` first bytes of a body, decompressed; as they are where that cannot be done."""
    try:
        return decompress(body, content_encoding, max_bytes=_BODY_BYTES)[:most]
    except InvalidPage:
        return body[:most]


def is_html(body: bytes, content_type: str = "") -> bool:
    """Say whether a page is to be parsed: HTML or XHTML by header, or by its first bytes when the header is
    no help or says XML.

    Bodies with the first bytes of a known binary format are not, unless the header says HTML and there is
    markup in them; nor are those with NUL bytes, UTF-16 aside. Source: WHATWG MIME Sniffing 7.1, with any
    start tag counted as a sign of HTML.
    """
    head, kind = body[:_SNIFF_BYTES], media_type(content_type).essence
    plain = head.replace(b"\x00", b"")
    has_markup = _MARKUP.search(plain) is not None
    if head.startswith(_BINARY_MAGIC) and not (kind in _HTML_TYPES and has_markup):
        return False
    has_zeros = not head.startswith(_WIDE_MARKS) and head.count(0) > len(head) // 100
    if has_zeros and b"<\x00" not in head and b"\x00<" not in head:  # as UTF-16 without a mark would have
        return False
    if kind in _XML_TYPES:
        first = _FIRST_TAG.search(plain)
        return first is not None and first[1].lower() == b"html"
    return kind in _HTML_TYPES or (kind in _UNKNOWN_TYPES and (has_markup or not head.strip()))


def _gunzip(body: bytes, max_bytes: int) -> bytes:
    """Inflate all gzip members; a body that is no gzip any more (the crawler undid it) passes through."""
    if not body.startswith(_GZIP_MAGIC[:2]):
        return body
    data = bytearray()
    at = members = 0
    while body.startswith(_GZIP_MAGIC[:2], at):
        members += 1
        if members > MAX_MEMBERS:
            raise _corrupt("gzip", f"must have at most {MAX_MEMBERS} members")
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
    pending, found = body, b"."
    try:
        while found and not stream.is_finished():
            found = stream.process(pending, output_buffer_limit=_BROTLI_OUTPUT_BYTES)
            data += found
            if len(data) > max_bytes:
                raise too_large(max_bytes)
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
                raise _corrupt("zstd", f"must have at most {MAX_MEMBERS} frames")
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


def _truncated(name: str) -> InvalidPage:
    return InvalidPage(f"truncated {name} body", field="body", reason="TRUNCATED_BODY")


def _corrupt(name: str, error: Exception | str) -> InvalidPage:
    return InvalidPage(f"corrupt {name} body: {error}", field="body", reason="CORRUPT_BODY")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}


class MediaType(NamedTuple):
    """A media type as ``text/html``, in lower case, and the codec of its charset; empty if there is none."""

    essence: str
    codec: str


_VALUES = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+(?:"|\Z))++')
_ESSENCE = re.compile(r"[\t\n\r ]*+([!#$%&'*+.^_`|~\w-]+/[!#$%&'*+.^_`|~\w-]+)[\t\n\r ]*+(?=;|\Z)", re.ASCII)
_PARAMETER = re.compile(r';[\t\n\r ]*+([^;=]*+)(?:=(?:"((?:[^"\\]|\\.)*+)[^;]*+|([^;]*+)))?')


# The pages of a crawl have few headers between them.
@lru_cache(maxsize=256)
def media_type(header: str) -> MediaType:
    """Return what a ``Content-Type`` says; of several the last that can be read, as browsers have it.

    Source: WHATWG Fetch, "extract a MIME type".

    Examples
    --------
    >>> media_type("text/html; charset=koi8-r, text/html, nonsense")
    MediaType(essence='text/html', codec='koi8-r')
    """
    essence = charset = ""
    for value in _VALUES.findall(header[:MAX_HEADER_CHARS]):
        found = _ESSENCE.match(value)
        if found is None or found[1] == "*/*":
            continue
        parameters = {
            name.lower(): re.sub(r"\\(.)", r"\1", quoted) or bare
            for name, quoted, bare in reversed(_PARAMETER.findall(value, found.end()))
            if quoted or bare
        }
        given = parameters.get("charset", "")
        charset = given if given or found[1].lower() != essence else charset
        essence = found[1].lower()
    return MediaType(essence, codec_of(charset))


_WIDE_XML = {b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}
"""First bytes of markup in UTF-16 without a mark."""
_XML_ENCODING = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([^\"'>]+)")
_CHARSET = re.compile(
    r"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\f\r ;\"']+))", re.IGNORECASE
)
_HIGH = bytes(range(128, 256))
_REPLACEMENT = "replacement"


def detect_charset(body: bytes, content_type: str = "") -> str:
    """Return the Python codec name a page is to be read in: the encoding a browser would take.

    Order of trust: byte order mark, HTTP header, the first ``<meta>`` or the XML declaration that names one,
    UTF-8 if most bytes outside of ASCII are, else windows-1252. Labels mean what browsers take them to mean
    (``latin1`` is windows-1252). A wrong or unknown label never raises: the next source is asked.

    `body`: decompressed bytes of the page. `content_type`: value of the HTTP ``Content-Type`` header, empty
    if unknown.

    Source: WHATWG HTML 13.2.3 and Encoding 4.2. Differences: a ``<meta>`` counts at any offset, as it does in
    browsers once their parser meets it; the content of a page is not used to guess between legacy encodings.
    """
    declared = _marked(body) or media_type(content_type).codec or _declared_within(body)
    return declared or ("utf-8" if _is_mostly_utf8(body) else "cp1252")


def detect_xml_charset(body: bytes) -> str:
    """Return the Python codec name to read XML in; an encoding that nobody knows counts as none."""
    declared = _marked(body) or _declared_by_xml(body)
    return declared or ("utf-8" if _is_mostly_utf8(body) else "cp1252")


def codec_of(label: str) -> str:
    """Return the codec of a label of the Encoding Standard; empty if it is none.

    Examples
    --------
    >>> codec_of("Latin1"), codec_of("gb2312"), codec_of("utf-7")
    ('cp1252', 'gbk', '')
    """
    found = webencodings.lookup(label) if label.isascii() else None
    return "" if found is None else str(found.codec_info.name)


def _marked(body: bytes) -> str:
    """Return the codec that a byte order mark names."""
    if body.startswith(codecs.BOM_UTF8):
        return "utf-8"
    return {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(body[:2], "")


def to_utf8(body: bytes, charset: str) -> tuple[bytes, bool]:
    """Return `body` as valid UTF-8 without mark; the flag says that some bytes did not fit `charset`.

    Of several marks one goes, as the standard has it. A body of marks alone is empty, as libxml2 has it.
    """
    raw = body
    if _marked(body) == charset:
        raw = body[3:] if charset == "utf-8" else body[2:]
    if charset == "utf-8" and raw.isascii():
        return raw, False
    try:
        text = _decoder(charset)(raw, "strict")[0]
    except UnicodeError:
        return _unmarked(_decoder(charset)(raw, "replace")[0].encode("utf-8", "replace")), True
    markup = raw if charset == "utf-8" else text.encode("utf-8", "replace")
    return _unmarked(markup), markup is not raw and "\ufffd" in text


def _decoder(charset: str) -> Callable[[bytes, str], tuple[str, int]]:
    if charset in {_REPLACEMENT, "x-user-defined"}:  # Python has no codecs of these
        decode: Callable[[bytes, str], tuple[str, int]] = webencodings.lookup(charset).codec_info.decode
        return decode
    if chars := chars_of_bytes(charset):
        return lambda body, errors: codecs.charmap_decode(body, errors, chars)
    return codecs.getdecoder("gb18030" if charset == "gbk" else charset)  # GBK is read as its superset


def _unmarked(markup: bytes) -> bytes:
    return b"" if _UTF8_MARKS.fullmatch(markup) else markup


def _is_mostly_utf8(body: bytes) -> bool:
    """Say whether most bytes outside of ASCII are UTF-8: text of other encodings is so by chance only."""
    try:
        body.decode()
    except UnicodeDecodeError:
        n_ascii = len(body.translate(None, _HIGH))
        n_fitting = len(body.decode("utf-8", "ignore").encode()) - n_ascii
        return 2 * n_fitting > len(body) - n_ascii
    return True


def _declared_within(body: bytes) -> str:
    """Return the codec that a page names itself, by its first ``<meta>`` that does or its XML declaration."""
    for tag in tags_in(body, b"meta", having=b"charset"):
        attributes = attributes_of_tag(tag)
        label = attributes.get("charset", "")
        if not label and attributes.get("http-equiv", "").lower() == "content-type":
            found = _CHARSET.search(attributes.get("content", ""))
            label = next(filter(None, found.groups()), "") if found else ""
        if codec := codec_of(label):
            return _as_declared_within(codec)
    return _declared_by_xml(body) if body.lstrip().startswith((b"<?xml", *_WIDE_XML)) else ""


def _declared_by_xml(body: bytes) -> str:
    if body[:4].count(0) == 2 and (wide := _WIDE_XML.get(body[:2])):
        return wide
    found = _XML_ENCODING.search(body, 0, _SNIFF_BYTES)
    return _as_declared_within(codec_of(found[1].decode("latin-1"))) if found else ""


def _as_declared_within(codec: str) -> str:
    """Return what a label means that can be read as ASCII, and so is not UTF-16 (WHATWG HTML, 13.2.3.2)."""
    return {"utf-16-le": "utf-8", "utf-16-be": "utf-8", "x-user-defined": "cp1252"}.get(codec, codec)
