"""Sitemaps that name sitemaps: found one after the other, each sent once, within bounds."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from linkscore.messages import page
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

if TYPE_CHECKING:
    from linkscore.client import Client

MAX_DEPTH = 2
"""Indexes below each other, as the first index may name others: sitemaps.org has one, some sites two."""
MAX_SITEMAPS = 1_000
"""A bound, chosen: with 50,000 URLs each they are more than a crawl goes through."""
MAX_BYTES = 500 * 1024 * 1024
"""A bound, chosen: ten sitemaps of the size that sitemaps.org allows."""
MAX_SITEMAP_BYTES = 50 * 1024 * 1024
"""Bytes of one sitemap, as sitemaps.org has it; the server reads no more."""
MAX_SENT_BYTES = 8 * 1024 * 1024
"""Bytes of a sitemap as it is sent: a longer one is packed, for servers take bodies of 10 MB as they come."""
_HEAD = 4_096
"""Bytes in which the first element is looked for; chosen: what stands before it are some hundred."""
_GZIP, _GZIP_WINDOW = b"\x1f\x8b", 31  # RFC 1952, section 2.3.1; zlib: largest window, and a gzip header
_ROOT = re.compile(rb"<(?:[\w.-]+:)?(sitemapindex|urlset|rss|feed|rdf)[\s/>]", re.IGNORECASE)
_OTHER_ROOT = re.compile(rb"<(?:html|head|body)[\s/>]|<!doctype\s+html[\s>]", re.IGNORECASE)
_PASSED_OVER = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_KINDS = {
    b"sitemapindex": common_pb2.PAGE_KIND_SITEMAP,
    b"urlset": common_pb2.PAGE_KIND_SITEMAP,
    b"rss": common_pb2.PAGE_KIND_FEED,
    b"feed": common_pb2.PAGE_KIND_FEED,
    b"rdf": common_pb2.PAGE_KIND_FEED,
}


class SentSitemap(NamedTuple):
    """A sitemap that was sent: its URL, how many indexes are above it, and what the server said."""

    url: str
    depth: int
    result: scoring_pb2.PageResult


def kind_of(body: bytes) -> common_pb2.PageKind:
    """Return whether a body is a sitemap or feed by its first element, unspecified if it is neither.

    Packed with gzip it is looked at as well.

    Examples
    --------
    >>> kind_of(b"<?xml version='1.0'?><urlset>") == common_pb2.PAGE_KIND_SITEMAP
    True
    >>> kind_of(b"<!DOCTYPE html><p>Hello") == common_pb2.PAGE_KIND_UNSPECIFIED
    True
    """
    return _KINDS.get(_root(body), common_pb2.PAGE_KIND_UNSPECIFIED)


def packed(body: bytes) -> bytes | None:
    """Return a sitemap as it is sent, None if it is too long for that: cut, it would be no XML.

    Examples
    --------
    >>> long = b"<urlset>" + b" " * MAX_SENT_BYTES
    >>> packed(b"<urlset/>"), len(packed(long)) < len(long) / 100, packed(b" " * MAX_SITEMAP_BYTES + b" ")
    (b'<urlset/>', True, None)
    """
    if len(body) > MAX_SITEMAP_BYTES:
        return None
    sent = body if len(body) <= MAX_SENT_BYTES else gzip.compress(body, compresslevel=1)
    return sent if len(sent) <= MAX_SENT_BYTES else None


def named_sitemaps(url: str, body: bytes, links: Iterable[str], *, asked: str = "") -> list[str] | None:
    """Return which links of a sitemap are sitemaps of its own host; None if it is no index.

    Its own are the host that it came from and the one it was `asked` of; one of `http` may name `https`.

    Examples
    --------
    >>> links = ["https://a.test/1.xml", "http://b.test/2.xml"]
    >>> named_sitemaps("http://a.test/", b"<sitemapindex>", links)
    ['https://a.test/1.xml']
    >>> named_sitemaps("http://a.test/", b"<urlset>", links) is None
    True
    """
    if _root(body) != b"sitemapindex":
        return None
    own = {origin for page in (url, asked or url) for origin in _origins(page)}
    return [link for link in links if own.intersection(_origins(link)[:1])]


Fetched = bytes | tuple[str, bytes] | None
"""A body as it came, packed or not, or (final URL, body) after redirects; None if it cannot be had."""


def ingest_sitemaps(
    client: Client,
    *,
    crawl: str,
    urls: Iterable[str],
    fetch: Callable[[str], Fetched],
    max_depth: int = MAX_DEPTH,
    max_sitemaps: int = MAX_SITEMAPS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[SentSitemap]:
    """Send sitemaps, and those that indexes among them name, in the order they are found.

    What an index names is known from the answer of the server, which reads the XML.
    An index may only name sitemaps of the host that it was asked of or came from: as sitemaps.org has it,
    others speak for themselves. One of more than `MAX_SENT_BYTES` is packed. A sitemap that cannot be had,
    is longer than `MAX_SITEMAP_BYTES`, even packed longer than those, or refused names nothing.

    Parameters
    ----------
    urls
        Absolute, those that `robots.txt` names for example.
    fetch
        URL -> body as it came, packed or not, or (final URL, body) after redirects: what an index names
        there counts by that host; None if it cannot be had.
    max_depth, max_sitemaps, max_bytes
        Indexes below each other, bodies that are asked for, and bytes of all that came.

    Raises
    ------
    LinkscoreError
        As `Client.ingest_pages`.
    """
    waiting = deque((url, 0) for url in dict.fromkeys(urls))
    met = {url for url, _ in waiting}
    asked, left = 0, max_bytes
    while waiting and asked < max_sitemaps and left > 0:
        asked += 1
        url, depth = waiting.popleft()
        came = fetch(url)
        final, body = came if isinstance(came, tuple) else (url, came)
        if body is None or len(body) > min(left, MAX_SITEMAP_BYTES):
            continue
        left -= len(body)
        if (sent := packed(body)) is None:
            continue
        result = client.ingest_pages(crawl=crawl, pages=[_as_sent(url, final, sent)]).results[0]
        yield SentSitemap(url, depth, result)
        named = named_sitemaps(final, body, result.links.urls, asked=url) if depth < max_depth else None
        for child in named or ():
            if len(met) < max_sitemaps and child not in met:
                met.add(child)
                waiting.append((child, depth + 1))


def _as_sent(url: str, final: str, body: bytes) -> common_pb2.Page:
    final_url = final if final != url else ""
    return page(url=url, final_url=final_url, body=body, kind=common_pb2.PAGE_KIND_SITEMAP)


def _origins(url: str) -> list[tuple[str, str, int | None]]:
    """Return scheme, host and port of a URL, and `https` beside `http`; of one that cannot be read none."""
    try:
        parts = urlsplit(url.strip())
        host, port = _written(parts.hostname or ""), parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return []
    own = [(parts.scheme, host, port)]
    return [*own, ("https", host, 443)] if (parts.scheme, port) == ("http", 80) else own


def _written(host: str) -> str:
    """Return a host as servers write it, which follow the URL Standard."""
    host = unquote(host).rstrip(".")
    return host if host.isascii() else host.encode("idna").decode()


def _root(body: bytes) -> bytes:
    """Return the name of the first element, if it is that of a sitemap or feed, else nothing."""
    head = body[:_HEAD]
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(wbits=_GZIP_WINDOW).decompress(head, _HEAD)
        except zlib.error:
            return b""
    head = _PASSED_OVER.sub(b"", head.replace(b"\0", b""))  # as UTF-16 has them
    found, other = _ROOT.search(head), _OTHER_ROOT.search(head)
    if found is None or (other is not None and other.start() < found.start()):
        return b""
    return found[1].lower()
