"""Sitemaps and feeds: what they list, within bounds, and what hostile XML comes to."""

from __future__ import annotations

import gzip

import pytest

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.types import Limits, PageFeatures
from linkscore_scoring.revisits import listings
from linkscore_scoring.revisits.listings import FACT, MAX_URLS_CHARS, listing_page, read_listing, seconds_of

DAY = 86_400
URLSET = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://a.org/1</loc>
<i:image><i:loc>http://a.org/1.png</i:loc></i:image><lastmod>1970-01-03</lastmod></url>
<url><loc>http://a.org/2</loc></url><url><lastmod>1970-01-03</lastmod></url></urlset>"""
INDEX = b"<sitemapindex><sitemap><loc>http://a.org/s.xml</loc></sitemap></sitemapindex>"
RSS = b"""<rss><channel><link>http://a.org/</link><item><link>http://a.org/1</link>
<pubDate>Sat, 03 Jan 1970 00:00:00 GMT</pubDate></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><published>1970-01-02T00:00:00Z</published>
<updated>1970-01-03T00:00:00Z</updated><link rel="self" href="http://a.org/x"/><link href="http://a.org/1"/>
</entry></feed>"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (URLSET, [("http://a.org/1", 2 * DAY), ("http://a.org/2", 0)]),
        (INDEX, [("http://a.org/s.xml", 0)]),
        (RSS, [("http://a.org/1", 2 * DAY)]),
        (ATOM, [("http://a.org/1", 2 * DAY)]),
        (b"<html><body><p>none</p></body></html>", []),
    ],
)
def test_what_is_listed_is_read_with_its_date(body: bytes, found: list[tuple[str, int]]) -> None:
    assert [(each.url, each.lastmod_s) for each in read_listing(body)] == found


@pytest.mark.parametrize(
    "hostile",
    [
        b'<!DOCTYPE u [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
        b'<!DOCTYPE u SYSTEM "http://evil.org/x.dtd"><urlset/>',
        b'<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>',
        b"<urlset><url><loc>&undeclared;</loc></url></urlset>",
        b"<a>" * 10_000,
        b"<urlset><url>",
        b"no XML at all",
        b"",
    ],
)
def test_hostile_and_broken_xml_is_refused(hostile: bytes) -> None:
    with pytest.raises(InvalidPage) as raised:
        read_listing(hostile)
    assert [problem.field for problem in raised.value.problems] == ["body"]


def test_entries_and_bytes_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    many = b"<urlset>" + b"<url><loc>http://a.org/</loc></url>" * 60 + b"</urlset>"
    monkeypatch.setattr(listings, "MAX_ENTRIES", 50)
    assert len(read_listing(many)) == 50
    monkeypatch.setattr(listings, "MAX_BYTES", len(many) - 1)
    with pytest.raises(InvalidPage, match="must have at most"):
        read_listing(many)


def test_a_bomb_is_unpacked_no_further_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "MAX_BYTES", 1_000_000)
    bomb = gzip.compress(gzip.compress(b" " * 100_000_000))
    for body, coding in ((bomb, "gzip"), (gzip.decompress(bomb), ""), (gzip.decompress(bomb), "gzip")):
        with pytest.raises(InvalidPage):
            listing_page(body, url="http://a.org/s.xml.gz", content_encoding=coding, limits=Limits())


def test_a_listing_is_a_page_of_links_with_dates() -> None:
    page = read(gzip.compress(URLSET))
    assert (page.links.urls, page.facts[FACT]) == (["http://a.org/1", "http://a.org/2"], [2 * DAY, 0])
    assert page.links.link_path_table == ["urlset/url/loc"]
    assert page.text_chars == 0


def listing_of(*urls: str) -> bytes:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>".encode()


def read(body: bytes, url: str = "http://a.org/s.xml.gz") -> PageFeatures:
    return listing_page(body, url=url, content_encoding="", limits=Limits())


@pytest.mark.parametrize(("listed", "taken"), [(10_001, 10_001), (50_000, 50_000), (50_001, 50_000)])
def test_as_many_links_are_taken_as_a_sitemap_may_have(listed: int, taken: int) -> None:
    page = read(listing_of(*(f"http://a.org/some-folder/of-a-site/{n}" for n in range(listed))))
    assert (len(page.links.urls), len(set(page.links.keys))) == (taken, taken)


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("http://a.org/" + "x" * 1_900 + "/s.xml", listing_of(*"a" * 20_000)),
        ("http://a.org/s.xml", listing_of(*[f"http://a.org/{'y' * 1_000}"] * 20_000)),
        ("http://a.org/s.xml", listing_of(*["\u00e9" * 300] * 20_000)),
    ],
    ids=["relative to a long URL", "long", "longer when encoded"],
)
def test_urls_of_a_listing_have_a_bound_together(url: str, body: bytes) -> None:
    chars = sum(map(len, read(body, url).links.urls))
    assert MAX_URLS_CHARS - 2_000 < chars <= MAX_URLS_CHARS


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "0000-00-00", "9" * 4_000, "2026-11-20T99:99", "-1", "Fri, 99"]
)
def test_what_is_no_date_is_unknown_or_some_time(text: str) -> None:
    assert seconds_of(text) >= 0
