"""Sitemaps and feeds: XML that lists pages, read within hard bounds. Hostile XML is refused.

Read are sitemaps and indexes of them (sitemaps.org), RSS and Atom. Nothing outside the body is fetched, a
document type, which could declare entities, is refused, and so is what is not XML.
"""

from __future__ import annotations

import re
from calendar import timegm
from dataclasses import replace
from email.utils import mktime_tz, parsedate_tz
from typing import Any, NamedTuple
from xml.parsers import expat

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress
from linkscore_scoring.features.extracted import ExtractedLink, page_from_extracted, with_links
from linkscore_scoring.features.types import Limits, PageFeatures

MAX_ENTRIES, MAX_BYTES = 50_000, 50 * 1024 * 1024
"""Bounds of a sitemap, as sitemaps.org has them: URLs, and bytes when unpacked."""
MAX_URLS_CHARS = 10_000_000
"""A bound: characters of all URLs of a listing, 200 of each at `MAX_ENTRIES`. Relative URLs could have the
path of the listing's own 50,000 times."""
FACT = "lastmods"
"""Name of the fact of a page: when each of its links changed last, in seconds since the epoch, or 0."""
_MAX_CHARS = 4_096
"""A bound: characters of a URL or date; longer ones are cut, and no URL."""
_MAX_DEPTH = 32
"""A bound: elements within each other; sitemaps have three, feeds some six."""
_CLOCK = r"[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d*)?)?(?:Z|([+-])(\d\d):?(\d\d))?"
_ISO = re.compile(rf"(\d{{4}})(?:-(\d\d)(?:-(\d\d)(?:{_CLOCK})?)?)?$")
"""A date as the W3C has it for the web (NOTE-datetime), from a year on."""
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_DATES = ("lastmod", "updated", "pubdate", "published", "date")
"""Elements of dates, the best first: Atom's ``updated`` moves with changes, ``published`` does not."""


class Entry(NamedTuple):
    """One listed page: its URL, when it changed last in seconds since the epoch (0: unknown), its place."""

    url: str
    lastmod_s: int
    tag_path: str


def listing_page(body: bytes, *, url: str, content_encoding: str, limits: Limits) -> PageFeatures:
    """Return the features of a listing: its links, without any text, and their dates as a fact.

    Parameters
    ----------
    body, content_encoding
        As fetched; gzip is unpacked whether it is the coding or the file.
    url
        Absolute, after redirects.
    limits
        Bounds of extraction. Links are bounded by `MAX_ENTRIES` and `MAX_URLS_CHARS` in their place.

    Raises
    ------
    InvalidPage
        As `read_listing`, or if the body cannot be unpacked.
    """
    plain = decompress(body, content_encoding, max_bytes=MAX_BYTES)
    if plain[:2] == b"\x1f\x8b":
        plain = decompress(plain, "gzip", max_bytes=MAX_BYTES)
    entries = read_listing(plain)
    page = page_from_extracted(url, (), (), (), "", limits=limits)
    links = [ExtractedLink(each.url, "", each.tag_path) for each in entries]
    limits = replace(limits, links=MAX_ENTRIES)
    page = with_links(page, links, limits=limits, max_chars=MAX_URLS_CHARS)
    dates = [each.lastmod_s for each in entries[: len(page.links.urls)]]
    return replace(page, facts={FACT: dates}) if any(dates) else page


def read_listing(body: bytes) -> list[Entry]:
    """Return what a sitemap, an index of sitemaps, or a feed lists, the first `MAX_ENTRIES`; O(bytes).

    Parameters
    ----------
    body
        As unpacked, at most `MAX_BYTES`.

    Raises
    ------
    InvalidPage
        If it is too long, is not XML, nests too deep or has a document type.

    Examples
    --------
    >>> read_listing(b"<urlset><url><loc> http://a.org/ </loc><lastmod>1970-01-02</lastmod></url></urlset>")
    [Entry(url='http://a.org/', lastmod_s=86400, tag_path='urlset/url/loc')]
    """
    if len(body) > MAX_BYTES:
        raise _refused(f"must have at most {MAX_BYTES} bytes, got {len(body)}", "BODY_TOO_LARGE")
    reader = _Reader()
    try:
        reader.parser.Parse(body, True)
    except _FullError:
        pass
    except expat.ExpatError as exc:
        raise _refused(f"must be XML: {exc}", "CORRUPT_BODY") from exc
    return reader.entries


class _FullError(Exception):
    """There are as many entries as are read."""


class _Reader:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.parser = parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._hostile
        self._path: list[str] = []
        self._within = 0  # depth of the entry that is open, 0 if none
        self._said: dict[str, str] = {}
        self._chars: list[str] = []
        self._size = 0

    def _hostile(self, *_: Any) -> None:
        raise _refused("must have no document type and no entities", "CORRUPT_BODY")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        self._path.append(local)
        if len(self._path) > _MAX_DEPTH:
            raise _refused(f"must have at most {_MAX_DEPTH} elements within each other", "CORRUPT_BODY")
        if local in _ENTRIES and not self._within:
            self._within, self._said = len(self._path), {}
        elif self._is_part and local == "link" and attributes.get("rel", "alternate") == "alternate":
            self._said.setdefault("link", attributes.get("href", "")[:_MAX_CHARS])
        self._chars, self._size = [], 0

    def _text(self, text: str) -> None:
        if self._size < _MAX_CHARS:
            self._chars.append(text)
            self._size += len(text)

    @property
    def _is_part(self) -> bool:
        return bool(self._within) and len(self._path) == self._within + 1

    def _end(self, name: str) -> None:
        local = self._path[-1]
        if self._is_part:
            text = "".join(self._chars).strip()[:_MAX_CHARS]
            if text and (local in ("loc", "link") or local in _DATES):
                self._said[local] = text
        if len(self._path) == self._within:
            self._close()
        self._path.pop()
        self._chars, self._size = [], 0

    def _close(self) -> None:
        self._within, said = 0, self._said
        kind = "loc" if "loc" in said else "link"
        if said.get(kind):
            date = next((said[name] for name in _DATES if name in said), "")
            self.entries.append(Entry(said[kind], seconds_of(date), "/".join([*self._path, kind])))
            if len(self.entries) >= MAX_ENTRIES:
                raise _FullError


def seconds_of(text: str) -> int:
    """Return a date as seconds since the epoch, 0 if it is none: W3C's, as ISO 8601, or that of RSS, RFC 822.

    A day without a time is its beginning; a time without a zone is UTC.

    Examples
    --------
    >>> [seconds_of(text) for text in ("1970-01-02T01:00:00+01:00", "1970-01", "soon")]
    [86400, 0, 0]
    >>> seconds_of("Fri, 02 Jan 1970 00:00:01 GMT")
    86401
    """
    found = _ISO.match(text)
    try:
        if found is None:
            parsed = parsedate_tz(text)
            return max(0, int(mktime_tz(parsed))) if parsed else 0
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        sign, hours, minutes = found[7], int(found[8] or 0), int(found[9] or 0)
        if not (month <= 12 and day <= 31 and year):
            return 0
        zone = (hours * 60 + minutes) * (-60 if sign == "-" else 60)
        return max(0, timegm((year, max(1, month), max(1, day), hour, minute, second)) - zone)
    except (ValueError, OverflowError, TypeError):
        return 0


def _refused(rule: str, reason: str) -> InvalidPage:
    return InvalidPage(rule, field="body", reason=reason)
