"""Sitemaps and feeds: lists of pages, read as far as they can be read, within hard bounds.

Read are sitemaps and indexes of them (sitemaps.org; XML or one URL a line), RSS and Atom. Nothing outside the
body is fetched; a document type and what it declares is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone  # noqa: TID251 - reads texts, no clock
from email.utils import parsedate_tz
from functools import lru_cache
from html.entities import html5
from itertools import islice
from typing import NamedTuple

from lxml import etree

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress, detect_xml_charset, to_utf8
from linkscore_scoring.features.given_links import ExtractedLink, with_links
from linkscore_scoring.features.types import Limits, PageFeatures
from linkscore_scoring.urls.identity import UrlResolver, validate_url

MAX_ENTRIES, MAX_BYTES = 50_000, 50 * 1024 * 1024
"""Bounds of a sitemap, as sitemaps.org has them: URLs, and bytes when unpacked."""
MAX_URLS_CHARS = 10_000_000
"""A bound: characters of all URLs of a listing; relative ones could have the path of its own in each."""
FACT = "lastmods"
"""Name of the fact of a page: when each of its links changed last, in seconds since the epoch, or 0."""
_MAX_CHARS = 4_096
"""A bound: characters of a URL or date; longer ones are cut, and no URL."""
MAX_MENDED, MAX_TAGS, MAX_ELEMENTS = 500_000, 30 * MAX_ENTRIES, 2 * MAX_ENTRIES
"""Bounds of time and memory, some microseconds or 115 bytes each: places that are mended, tags (30 of an
entry, opening and closing), and elements that may name a page, or parts of one."""
_CHUNK_BYTES = 65_536
"""Bytes given to the parser at a time, so that what was read can be let go of; a usual buffer size."""

_ATOM, _ATOM_03 = "http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"
_DC, _DCTERMS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"
_NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
_RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ENTRIES = ("url", "sitemap", "item", "entry")
_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "rdf", "feed"})
_DATES = (
    "lastmod",
    "updated",
    "modified",
    "pubdate",
    "published",
    "issued",
    "date",
    "publication_date",
    "created",
)
"""Elements of dates, the best first: those that move with changes before those that do not."""
_DATES_OF = {
    _ATOM: frozenset({"updated", "published"}),
    _ATOM_03: frozenset({"modified", "issued", "created"}),
    _DC: frozenset({"date"}),
    _DCTERMS: frozenset({"modified", "issued", "date", "created"}),
    _NEWS: frozenset({"publication_date"}),
}
_PREFIXES = {"atom": _ATOM, "dc": _DC, "dcterms": _DCTERMS, "news": _NEWS}
"""What prefixes mean that a listing uses and does not declare."""
_START = re.compile(
    rb"<(?:\?xml\s|!doctype\s|(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|rdf|feed)[\s>/])", re.IGNORECASE
)
"""Where XML begins; what stands before are errors that the site's programs print."""
_CONTROLS = bytes({*range(32)} - {9, 10, 13})
_MENDED = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|(<\?xml\s[^>]*+(?:>|\Z))"
    rb"|(<!DOCTYPE[^\[>]*+(?:(\[).*?(?:\]\s*+>|\Z)|>|\Z))"
    rb"|&([a-zA-Z][a-zA-Z0-9]*+);(?-i:(?<!&amp;)(?<!&lt;)(?<!&gt;)(?<!&quot;)(?<!&apos;))"
    rb"|(?:&(?!#[0-9]+;|#x[0-9a-fA-F]+;|[a-zA-Z][a-zA-Z0-9]*;))+"
    rb"|(</?(?:a|abbr|b|br|center|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|s|small|span|strong|sub|sup|u|ul)"
    rb"(?=[\s/>])[^<>]*+>)|(?:<(?![a-zA-Z_:/!?]))+|</(?![a-zA-Z_:])",
    re.DOTALL | re.IGNORECASE,
)
"""What XML has no room for: a document type, names of characters that only HTML has, a bare ``&`` or ``<``;
tags of text, which need not be closed in HTML; and declarations, which begin each of several documents."""
_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;"}


class Entry(NamedTuple):
    """One listed page: its URL, when it changed last in seconds since the epoch (0: unknown), its place."""

    url: str
    lastmod_s: int
    tag_path: str


class Listing(NamedTuple):
    """What a listing holds, and what was repaired to read it: ``decode_errors``, ``xml_errors``."""

    entries: list[Entry]
    notes: list[str]


def listing_page(body: bytes, *, url: str, content_encoding: str, limits: Limits) -> PageFeatures:
    """Return the features of a listing: its links, without any text, and their dates as a fact.

    `body`, `content_encoding`: as fetched; gzip is unpacked whether it is the coding or the file.
    `url`: absolute, after redirects.
    `limits`: bounds of extraction. Links are bounded by `MAX_ENTRIES` and `MAX_URLS_CHARS` in their place.

    Raises InvalidPage as `read_listing`, or if the body cannot be unpacked.
    """
    plain = decompress(body, content_encoding, max_bytes=MAX_BYTES)
    if plain[:2] == b"\x1f\x8b":
        plain = decompress(plain, "gzip", max_bytes=MAX_BYTES)
    entries, notes = read_listing(plain, url)
    page = PageFeatures(url, validate_url(url, "url", max_chars=limits.url_chars, error=InvalidPage))
    links = [ExtractedLink(each.url, "", each.tag_path) for each in entries]
    limits = replace(limits, links=MAX_ENTRIES)
    page = with_links(page, links, limits=limits, max_chars=MAX_URLS_CHARS)
    dates = [each.lastmod_s for each in entries[: len(page.links.urls)]]
    return replace(page, notes=notes + page.notes, facts={FACT: dates} if any(dates) else page.facts)


def read_listing(body: bytes, url: str) -> Listing:
    """Return what a sitemap, an index of sitemaps, or a feed lists, the first `MAX_ENTRIES`; O(bytes).

    `body`: as unpacked, at most `MAX_BYTES`.
    `url`: absolute, its own: what a relative ``xml:base`` is relative to.

    Raises InvalidPage if it is too long, or neither XML of a listing nor lines of URLs.
    """
    if len(body) > MAX_BYTES:
        raise _refused(f"must have at most {MAX_BYTES} bytes, got {len(body)}", "BODY_TOO_LARGE")
    text, broken = to_utf8(body, detect_xml_charset(body))
    notes = ["decode_errors"] if broken else []
    first = _START.search(text)
    start = first.start() if first else text.find(b"<")
    if start < 0:
        return Listing(_lines(text), notes)
    markup = text[start:]
    if markup.count(b"<") > MAX_TAGS:
        markup = b"<".join(markup.split(b"<", MAX_TAGS)[:-1])
    markup, mended = _mended(markup)
    reader = _Reader(markup, url)
    entries = list(islice(filter(None, islice(reader.entries(), MAX_ELEMENTS)), MAX_ENTRIES))
    if not entries and reader.root not in _ROOTS:
        if start and (lines := _lines(text)):
            return Listing(lines, notes)
        raise _refused(f"must be a sitemap or a feed, got <{reader.root or '?'}>", "CORRUPT_BODY")
    if mended or reader.has_errors or text[:start].strip():
        notes.append("xml_errors")
    return Listing(entries, notes)


def _lines(text: bytes) -> list[Entry]:
    """Return the URLs of a sitemap of text, one a line; other lines are passed over."""
    lines = islice(_LINE.finditer(text.decode().replace("\r", "\n")), MAX_ENTRIES)
    found = [Entry(line[1][:_MAX_CHARS], 0, "text/url") for line in lines]
    if not found:
        raise _refused("must be a sitemap or a feed: XML, or lines of URLs", "CORRUPT_BODY")
    return found


_LINE = re.compile(r"^[^\S\n]*+(https?://\S++)[^\S\n]*+$", re.IGNORECASE | re.MULTILINE)
_ABSOLUTE = re.compile(r"https?://\S+\Z", re.IGNORECASE)


def _mended(markup: bytes) -> tuple[bytes, bool]:
    """Return a listing that XML has room for, and whether anything had to be changed for it."""
    declares = changed = False

    def mend(found: re.Match[bytes]) -> bytes:
        nonlocal declares, changed
        whole, declaration, doctype, subset, name, tag = found[0], *found.groups()
        if declaration or tag:
            return b""
        if doctype:
            declares = declares or subset is not None
            changed = True
            return b""
        if whole.startswith(b"<!"):
            return whole
        changed = True
        if whole.startswith(b"<"):
            return whole.replace(b"<", b"&lt;")
        if name is None:
            return b"&amp;" * len(whole)
        if char := html5.get(f"{name.decode()};"):
            return char.translate(_ESCAPES).encode()
        return b"" if declares else b"&amp;" + whole[1:]

    plain = markup.translate(None, _CONTROLS)
    mended = _MENDED.sub(mend, plain, MAX_MENDED)
    return mended, changed or len(plain) < len(markup)


class _Reader:
    """Reads XML entry by entry, and lets go of what was read."""

    def __init__(self, markup: bytes, url: str) -> None:
        self.root = ""
        self.has_errors = False
        self._markup = markup
        self._url = url
        self._has_bases = b"xml:base" in markup
        names = [form for name in _ENTRIES for form in (name, name.upper(), name.title())]
        self._parser = etree.XMLPullParser(
            events=("end",),
            tag=[f"{{*}}{name}" for name in names],
            base_url=url,
            encoding="utf-8",
            recover=True,
            huge_tree=True,
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            remove_comments=True,
            remove_pis=True,
        )

    def entries(self) -> Iterator[Entry | None]:
        """Yield what is listed, None for nothing; one that the end of the body may have cut is left out."""
        self._parser.feed(b"<all>")  # a file may hold several documents, one after the other
        for start in range(0, len(self._markup), _CHUNK_BYTES):
            self._parser.feed(self._markup[start : start + _CHUNK_BYTES])
            yield from self._closed()
        if self._markup.rstrip().endswith(b">"):
            self._parser.feed(b"</all>")
        try:
            root = self._parser.close()
        except etree.XMLSyntaxError:
            return
        self.root = next((_name(each.tag)[1] for each in root), "")
        self.has_errors = len(self._parser.feed_error_log) > 0
        ended_by_end = self._closed()
        if not self._markup.rstrip().endswith(b">"):
            next(filter(None, ended_by_end), None)
        yield from ended_by_end

    def _closed(self) -> Iterator[Entry | None]:
        for _, element in self._parser.read_events():
            yield self._entry(element)
            above = element.getparent()
            element.clear()
            if above is not None:
                above.remove(element)

    def _entry(self, element: etree._Element) -> Entry | None:
        """Return what an element lists, None if it names no page.

        HTML that somebody forgot to escape takes in what follows it: then the elements below are read too.
        """
        return self._read(element, islice(element, MAX_ELEMENTS)) or self._read(
            element, islice(element.iterdescendants(), MAX_ELEMENTS)
        )

    def _read(self, element: etree._Element, parts: Iterable[etree._Element]) -> Entry | None:
        namespace, _ = _name(element.tag)
        links: dict[str, str] = {}
        dates: dict[str, str] = {}
        for child in parts:
            own, local = _name(child.tag)
            if own == _NEWS and local == "news":
                dates |= {_name(each.tag)[1]: each.text or "" for each in child}
            elif local in _DATES and (own in {namespace, ""} or local in _DATES_OF.get(own, ())):
                dates.setdefault(local, _text(child))
            elif own in {namespace, _ATOM, _ATOM_03} and (found := self._link(child, local)):
                links.setdefault(local if own == namespace else "other", found)
        about = element.get(_RDF_ABOUT, "")
        found = next((links[kind] for kind in ("loc", "link", "other", "guid") if kind in links), about)
        if not found:
            return None
        lastmod_s = next(filter(None, (seconds_of(dates[name]) for name in _DATES if name in dates)), 0)
        names = [_name(each.tag)[1] for each in (element, *element.iterancestors())]
        kind = "loc" if "loc" in links else "link"
        return Entry(found, lastmod_s, "/".join([*names[-2::-1], kind]))

    def _link(self, child: etree._Element, local: str) -> str:
        """Return where an element of an entry leads, empty if it does not."""
        if local == "loc":
            return _text(child)
        if local == "guid":
            is_permalink = next(
                (value for key, value in child.items() if key.lower() == "ispermalink"), "true"
            )
            text = _text(child)
            return text if is_permalink.strip().lower() != "false" and _ABSOLUTE.match(text) else ""
        rel = child.get("rel", "alternate").strip().lower().rpartition("/")[2]
        if local != "link" or rel not in {"alternate", ""}:
            return ""
        href = child.get("href", "").strip()[:_MAX_CHARS] or _text(child)
        if href and self._has_bases and child.base and child.base != self._url:
            return UrlResolver(child.base).resolve(href)[0] or href
        return href


@lru_cache(maxsize=256)
def _name(tag: str) -> tuple[str, str]:
    """Return namespace and name of an element, the name in lower case."""
    namespace, _, local = tag.rpartition("}")
    prefix, colon, rest = local.partition(":")
    if colon and not namespace:
        return _PREFIXES.get(prefix, prefix), rest.lower()
    return namespace[1:], local.lower()


def _text(element: etree._Element) -> str:
    text = "".join(element.itertext()) if len(element) else element.text or ""
    return text.strip()[:_MAX_CHARS]


_BETWEEN = re.compile(r"[\s,()]+|(?<=:\d\d)(?=[a-zA-Z+-])")
_SINGLE = re.compile(r"(?<!\d)\d(?!\d)")
_DASHES = re.compile(r"(?<=\d)[/.-](?=\w)|(?<=[a-z])-(?=\d)")
_OFFSET = re.compile(r"(?:gmt|utc)?([+-])(\d\d?):?(\d\d)?\Z")
_DAYS = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun"})
_HOURS_OF_ZONES = {
    **dict.fromkeys(("z", "ut", "utc", "gmt", "wet"), 0.0),
    **dict.fromkeys(("cet", "met", "mez", "bst", "west", "wat"), 1.0),
    **dict.fromkeys(("cest", "mest", "mesz", "eet", "sast", "cat"), 2.0),
    **dict.fromkeys(("msk", "eest", "eat"), 3.0),
    **dict.fromkeys(("est", "et", "cdt"), -5.0),
    **dict.fromkeys(("edt", "ast", "at"), -4.0),
    **dict.fromkeys(("cst", "ct", "mdt"), -6.0),
    **dict.fromkeys(("mst", "mt", "pdt"), -7.0),
    **dict.fromkeys(("pst", "pt", "akdt"), -8.0),
    **dict.fromkeys(("adt", "brt", "art"), -3.0),
    **dict.fromkeys(("hkt", "sgt", "awst"), 8.0),
    **dict.fromkeys(("jst", "kst"), 9.0),
    "msd": 4.0,
    "pkt": 5.0,
    "ist": 5.5,
    "ict": 7.0,
    "wib": 7.0,
    "acst": 9.5,
    "aest": 10.0,
    "aedt": 11.0,
    "nzst": 12.0,
    "nzdt": 13.0,
    "akst": -9.0,
    "hst": -10.0,
}
"""Names of zones in feeds: those of RFC 822, and usual ones of other parts of the world; one of two meanings
has that of RFC 822, else that of more people."""


def seconds_of(text: str) -> int:
    """Return a date as seconds since the epoch, 0 if it is none: ISO 8601, or as mail, RSS and C write it.

    A day without a time is its beginning; a time without a zone, or of one that nobody knows, is UTC.
    """
    text = text.strip()[:_MAX_CHARS]
    text += {4: "-01-01", 7: "-01"}.get(len(text), "")
    for read in (datetime.fromisoformat, _of_words):
        with suppress(ValueError, OverflowError):
            found = read(text)
            return max(0, int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()))
    return 0


def _of_words(text: str) -> datetime:
    """Return a date whose month is a name, or as ISO 8601 but for its zone; or raises ValueError."""
    words, hours, half = list[str](), 0.0, ""
    for word in (part.rstrip(".").lower() for part in _BETWEEN.split(text)):
        if zone := _OFFSET.match(word):
            hours = float(f"{zone[1]}1") * (int(zone[2]) + int(zone[3] or 0) / 60)
        elif word.removeprefix("etc/") in _HOURS_OF_ZONES:
            hours = _HOURS_OF_ZONES[word.removeprefix("etc/")]
        elif word in {"am", "pm"}:
            half = word
        elif word and word[:3] not in _DAYS:
            words.append(word[:3] if word.isalpha() else _SINGLE.sub(r"0\g<0>", word))
    said = " ".join(words)
    if found := parsedate_tz(f"{_DASHES.sub(' ', said)} {'' if ':' in said else '00:00'} +0000"):
        at = datetime(*found[:6])
    else:
        at = datetime.fromisoformat(said)
    at = at.replace(tzinfo=at.tzinfo or timezone(timedelta(hours=hours)))
    return at.replace(hour=at.hour % 12 + 12 * (half == "pm")) if half and at.hour <= 12 else at


def _refused(rule: str, reason: str) -> InvalidPage:
    return InvalidPage(rule, field="body", reason=reason)
