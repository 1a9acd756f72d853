"""What a crawler must know of sitemaps before it sends them: what they are, which others they may name."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from linkscore.v1 import common_pb2

MAX_DEPTH = 2
"""Indexes below each other, as the first index may name others: sitemaps.org has one, some sites two."""
MAX_SITEMAPS = 1_000
"""A bound, chosen: with 50,000 URLs each they are more than a crawl goes through."""
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


def _origins(url: str) -> list[tuple[str, str, int | None]]:
    """Return scheme, host and port of a URL, and `https` beside `http`; of one that cannot be read none."""
    try:
        parts = urlsplit(url.strip())
        host = unquote(parts.hostname or "").rstrip(".")  # as servers write it, which follow the URL Standard
        host = host if host.isascii() else host.encode("idna").decode()
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return []
    own = [(parts.scheme, host, port)]
    return [*own, ("https", host, 443)] if (parts.scheme, port) == ("http", 80) else own


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
