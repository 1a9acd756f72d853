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


ONE, TWO = "<url><loc>http://a.org/1</loc></url>", "<url><loc>http://a.org/2</loc></url>"
AT = "http://a.org/d/list.xml"
BOTH = ["http://a.org/1", "http://a.org/2"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (URLSET, [("http://a.org/1", 2 * DAY), ("http://a.org/2", 0)]),
        (INDEX, [("http://a.org/s.xml", 0)]),
        (RSS, [("http://a.org/1", 2 * DAY)]),
        (ATOM, [("http://a.org/1", 2 * DAY)]),
        (b"<urlset></urlset>", []),
    ],
)
def test_what_is_listed_is_read_with_its_date(body: bytes, found: list[tuple[str, int]]) -> None:
    assert [(each.url, each.lastmod_s) for each in entries(body)] == found


def entries(body: bytes | str) -> list[listings.Entry]:
    return read_listing(body if isinstance(body, bytes) else body.encode(), AT).entries


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        (f"\n \n<?xml version='1.0'?><urlset>{ONE}{TWO}</urlset>", []),
        (f"\ufeff<urlset>{ONE}{TWO}</urlset>", []),
        (f"<b>Notice</b>: x<br/>\n<urlset>{ONE}{TWO}</urlset>", ["xml_errors"]),
        (f"<urlset>{ONE}<url>a & b</url>{TWO}</urlset>", ["xml_errors"]),
        (f"<urlset>{ONE}<x><y>&nbsp;</x>{TWO}</urlset>", ["xml_errors"]),
        (f"<urlset>{ONE}\0\x0b{TWO}</urlset>", ["xml_errors"]),
        (f"<urlset>{ONE}<x:y>{TWO}</urlset>", ["xml_errors"]),
        (f"<urlset>{ONE}{TWO}<url><loc>http://a.org/thr", ["xml_errors"]),
        (f"<!DOCTYPE urlset SYSTEM 'http://evil.org/x.dtd'><urlset>{ONE}{TWO}</urlset>", ["xml_errors"]),
        (f"<urlset>{ONE}\xdf{TWO}</urlset>".encode("latin-1"), []),
        (
            f"<?xml version='1.0' encoding='UTF-8'?><urlset>{ONE}\xdf{TWO}</urlset>".encode("latin-1"),
            ["decode_errors"],
        ),
        (f"<?xml version='1.0' encoding='x-nobody'?><urlset>{ONE}{TWO}</urlset>", []),
        (f"<?xml version='1.0' encoding='utf-16'?><urlset>{ONE}{TWO}</urlset>", []),
        (f"<?xml version='1.0'?><urlset>{ONE}{TWO}</urlset>".encode("utf-16-le"), []),
        (f"<urlset>{ONE}{TWO}</urlset>".encode("utf-16"), []),
        (f"<?xml version='1.0'?><urlset>{ONE}</urlset>\n<?xml version='1.0'?><urlset>{TWO}</urlset>", []),
        (f"<urlset>{ONE}<x>{'<y>' * 400}{'</y>' * 400}</x>{TWO}</urlset>", []),
        (f"<URLSET>{ONE.upper()}{TWO.upper()}</URLSET>", []),
        ("http://a.org/1\r\n\n  http://a.org/2  \nno URL\n", []),
        ("\ufeffhttp://a.org/1\nHTTP://a.org/2", []),
        ("no\rhttp://a.org/1\r\rhttp://a.org/2 \rhttp://a.org/ 3", []),
        ("http://a.org/1\nhttp://a.org/2\n<br>", []),
    ],
)
def test_what_can_be_read_is_read_with_a_note(body: bytes | str, notes: list[str]) -> None:
    found = read_listing(body if isinstance(body, bytes) else body.encode(), AT)
    assert ([each.url.lower() for each in found.entries], found.notes) == (BOTH, notes)


@pytest.mark.parametrize("label", ["gb2312", "Shift_JIS", "big5", "euc-kr", "windows-1251", "ISO-8859-2"])
def test_listings_are_read_in_the_encoding_they_declare(label: str) -> None:
    text = {"windows-1251": "\u0439", "ISO-8859-2": "\u010d"}.get(label, "\u4e00")
    body = f'<?xml version="1.0" encoding="{label}"?><urlset><url><loc>/{text}</loc></url></urlset>'
    assert [each.url for each in entries(body.encode(label))] == [f"/{text}"]


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ("<item><guid>http://a.org/1</guid></item>", "http://a.org/1"),
        ("<item><guid isPermaLink='true'>http://a.org/1</guid><link></link></item>", "http://a.org/1"),
        ("<item><guid ispermalink=' False '>http://a.org/1</guid></item>", None),
        ("<item><guid>tag:a.org,2026:1</guid></item>", None),
        ("<item><guid>http://a.org/2</guid><link> http://a.org/1\n</link></item>", "http://a.org/1"),
        ("<item><link><![CDATA[http://a.org/?a=1&b=2]]></link></item>", "http://a.org/?a=1&b=2"),
        ("<item><link>http://a.org/?a=1&b=2</link></item>", "http://a.org/?a=1&b=2"),
        ("<item><link>http://a.org/?a=1&AMP;b=2</link></item>", "http://a.org/?a=1&b=2"),
        ("<item><description><p>a<br>b</description><link>http://a.org/1</link></item>", "http://a.org/1"),
        ("<item><link>A</link><media:link>B</media:link></item>", "A"),
        ("<item><m:link xmlns:m='http://search.yahoo.com/mrss/'>B</m:link><link>A</link></item>", "A"),
        ("<item><a:link href='B' xmlns:a='http://www.w3.org/2005/Atom'/><link>A</link></item>", "A"),
        ("<item><a:link href='B' xmlns:a='http://www.w3.org/2005/Atom'/></item>", "B"),
        ("<item><a:link rel='self' href='B' xmlns:a='http://www.w3.org/2005/Atom'/></item>", None),
        ("<entry><link rel='enclosure' href='B'/><link rel='alternate' href='A'/></entry>", "A"),
        ("<entry><link rel='http://www.iana.org/assignments/relation/alternate' href='A'/></entry>", "A"),
        (
            "<item xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' r:about='http://a.org/1'/>",
            "http://a.org/1",
        ),
        ("<entry xml:base='http://o.org/b/'><link href='1'/></entry>", "http://o.org/b/1"),
        ("<entry xml:base='b/'><link xml:base='c/' href='1'/></entry>", "http://a.org/d/b/c/1"),
        ("<item xml:base='/b/'><link>1</link></item>", "http://a.org/b/1"),
        ("<item><link>caf&eacute;&amp;&#233;&bogus;</link></item>", "caf\u00e9&\u00e9&bogus;"),
    ],
)
def test_an_entry_leads_where_its_namespace_says(item: str, url: str | None) -> None:
    assert [each.url for each in entries(f"<feed>{item}</feed>")] == ([url] if url else [])


@pytest.mark.parametrize(
    "title",
    [
        "5 < 6",
        "I <3 you",
        "a <",
        "<",
        "< b",
        "</3",
        "<=>",
        "a <b>c",
        "a</b> c",
        "<br>",
        "<p>a<p>b",
        "<a href=x>l</a>",
    ],
)
def test_a_bare_bracket_or_a_tag_of_html_costs_no_entry(title: str) -> None:
    items = "".join(f"<item><title>{title}</title><link>http://a.org/{n}</link></item>" for n in range(3))
    found = [each.url for each in entries(f"<rss><channel>{items}</channel></rss>")]
    assert found == [f"http://a.org/{n}" for n in range(3)]


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        (
            "<n:news xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'><n:publication_date>1970-01-02</n:publication_date></n:news>",
            1,
        ),
        ("<news:news><news:publication_date>1970-01-02</news:publication_date></news:news>", 1),
        ("<t:modified xmlns:t='http://purl.org/dc/terms/'>1970-01-02</t:modified>", 1),
        ("<dc:date>1970-01-02</dc:date>", 1),
        (
            "<a:updated xmlns:a='http://www.w3.org/2005/Atom'>1970-01-03</a:updated><pubDate>1970-01-02</pubDate>",
            2,
        ),
        ("<m:date xmlns:m='http://other.org/'>1970-01-02</m:date>", 0),
        ("<lastmod>soon</lastmod><pubDate>1970-01-02</pubDate>", 1),
        ("<issued>1970-01-02</issued><modified>1970-01-03</modified>", 2),
    ],
)
def test_dates_are_found_in_all_their_places(dates: str, day: int) -> None:
    assert [each.lastmod_s for each in entries(f"<x><item><link>A</link>{dates}</item></x>")] == [day * DAY]


@pytest.mark.parametrize(
    "hostile",
    [
        b'<!DOCTYPE u [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
        b'<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>',
    ],
)
def test_what_a_document_type_declares_is_nothing(hostile: bytes) -> None:
    assert read_listing(hostile, AT) == ([], ["xml_errors"])


@pytest.mark.parametrize(
    "body", [b"<a>" * 10_000, b"<html><body><p>none</p></body></html>", b"no XML at all", b"", b"<", b"\0"]
)
def test_what_is_no_listing_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidPage, match="must be a sitemap or a feed") as raised:
        read_listing(body, AT)
    assert [problem.field for problem in raised.value.problems] == ["body"]


def test_entries_and_bytes_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    many = b"<urlset>" + b"<url><loc>http://a.org/</loc></url>" * 60 + b"</urlset>"
    monkeypatch.setattr(listings, "MAX_ENTRIES", 50)
    assert len(entries(many)) == 50
    monkeypatch.setattr(listings, "MAX_BYTES", len(many) - 1)
    with pytest.raises(InvalidPage, match="must have at most"):
        read_listing(many, AT)


@pytest.mark.parametrize(
    "junk", ["<x/>", "<x a='1'></x>", "<url/>", "<url>", "<loc/>", "</b>", "< ", "<!--x-->"]
)
def test_tags_that_name_no_page_are_read_up_to_a_bound(junk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<url><loc>http://a.org/{}</loc></url>"
    body = "<urlset>" + page.format(1) + junk * 500 + page.format(2) + "</urlset>"
    before = read_listing(body.encode(), AT)
    monkeypatch.setattr(listings, "MAX_TAGS", 100)
    after = read_listing(body.encode(), AT)
    assert [entry.url for entry in after.entries] == [before.entries[0].url] == ["http://a.org/1"]
    assert "xml_errors" in after.notes


def test_elements_that_name_no_page_are_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "MAX_ELEMENTS", 20)
    page = "<url><loc>http://a.org/</loc></url>"
    assert len(entries(f"<urlset>{page * 5}{'<url/>' * 30}{page}</urlset>".encode())) == 5
    assert entries(f"<urlset><url>{'<x/>' * 30}<loc>http://a.org/</loc></url></urlset>".encode()) == []


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


def test_as_many_links_are_taken_as_a_sitemap_may_have() -> None:
    page = read(listing_of(*(f"http://a.org/some-folder/of-a-site/{n}" for n in range(50_001))))
    assert (len(page.links.urls), len(set(page.links.keys))) == (50_000, 50_000)


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("http://a.org/" + "x" * 1_900 + "/s.xml", listing_of(*"a" * 20_000)),
        ("http://a.org/s.xml", listing_of(*["\u00e9" * 300] * 20_000)),
    ],
    ids=["relative to a long URL", "longer when encoded"],
)
def test_urls_of_a_listing_have_a_bound_together(url: str, body: bytes) -> None:
    chars = sum(map(len, read(body, url).links.urls))
    assert MAX_URLS_CHARS - 2_000 < chars <= MAX_URLS_CHARS


NO_DATES = """ | yesterday | 2026-13-01 | 0000-00-00 | 2026-11-20T99:99 | -1 | Fri, 99 | 2026-02-31
| 31 Feb 2026 | 1 Jan 99999 | 99999999999999999999999-01-01 | 1970-01-02Tx | Thu, 01 Jan 1970 00:00
| 31 Dec 1969"""
SECOND_OF_JANUARY = """1970-01-02 | 19700102 | 1970-01-02T00:00Z | 19700102T000000Z
| 1970-01-02T09:00:00.123+09:00 | 1970-01-01 19:00-0500 | 1970-01-02T01:00+01 | 1970-01-02 00:00:00.7
| Fri, 2 Jan 1970 | 1970-01-02 00:00:00 +0000 | 1970-01-02 00:00 UTC | 1970-01-01 19:00:00 EST | 1970-1-2 0:00
| 2 Jan 1970 01:00 MEZ | 2 Jan 1970 00:00:00Z | 2 Jan 1970 09:00+09:00 | 1 Jan 1970 7:00pm ET | 2. Januar 1970
| Fri, 2 Jan 70 00:00 GMT | 2 January 1970 | January 2, 1970 | Fri, 02 Jan, 1970 00:00:00 UTC
| Fri Jan  2 00:00:00 1970 | Fri Jan 02 00:00:00 GMT 1970 | 02-Jan-1970

| 2 Jan. 1970 9:00 AM GMT+9 | January 2, 1970, 12:00:00 AM
| Fri, 02 Jan 1970 09:00:00 +09:00 | 2 Jan 1970 09:00 +0900 | 2 Jan 1970 9:00:00 JST | 2 Jan 1970 05:30 IST
| 2 Jan 1970 01:00 CET | 2 Jan 1970 02:00 MEST | 2 Jan 1970 03:00:00 MSK | Fri, 02 Jan 1970 01:00 GMT+0100
| 1 Jan 1970 19:00 ET | 1 Jan 1970 19:00:00 EST | Thu, 01 Jan 1970 20:00 EDT | 1 Jan 1970 16:00 (PST)"""


@pytest.mark.parametrize(("texts", "seconds"), [(NO_DATES, 0), (SECOND_OF_JANUARY, DAY)])
def test_dates_are_read_in_the_forms_of_the_web(texts: str, seconds: int) -> None:
    for text in texts.replace("\n", "").split("|"):
        assert (seconds_of(text), text) == (seconds, text)
