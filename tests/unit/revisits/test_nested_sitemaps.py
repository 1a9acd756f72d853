"""Sitemaps that name sitemaps: what is asked for, in which order, and where it ends."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkscore.sitemaps import MAX_SENT_BYTES, SentSitemap, ingest_sitemaps, kind_of
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.types import Limits
from linkscore_scoring.revisits.listings import listing_page

HOST = "http://a.org"
SITEMAP, FEED, OTHER = (
    common_pb2.PAGE_KIND_SITEMAP,
    common_pb2.PAGE_KIND_FEED,
    common_pb2.PAGE_KIND_UNSPECIFIED,
)


class Reading:
    """Answers as the server does: links of what it can read, and INVALID for what it cannot."""

    def ingest_pages(self, *, crawl: str, pages: Sequence[common_pb2.Page]) -> Any:
        result = pb.PageResult()
        try:
            url = pages[0].final_url or pages[0].url
            read = listing_page(pages[0].body, url=url, content_encoding="", limits=Limits())
            result.links.urls.extend(read.links.urls)
        except InvalidPage:
            result.status.code = common_pb2.ITEM_CODE_INVALID
        return SimpleNamespace(results=[result])


def index(*paths: str) -> bytes:
    named = "".join(
        f"<sitemap><loc>{path if '://' in path else HOST + path}</loc></sitemap>" for path in paths
    )
    return f"<?xml version='1.0'?><sitemapindex>{named}</sitemapindex>".encode()


def urlset(*paths: str) -> bytes:
    return (
        "<urlset>" + "".join(f"<url><loc>{HOST}{path}</loc></url>" for path in paths) + "</urlset>"
    ).encode()


def sent(site: dict[str, bytes], *urls: str, **bounds: int) -> tuple[list[SentSitemap], list[str]]:
    """Return what was sent of a site by path, and the paths that were asked for."""
    asked: list[str] = []

    def fetch(url: str) -> bytes | None:
        asked.append(url.removeprefix(HOST))
        return site.get(asked[-1])

    start = urls or (f"{HOST}/0",)
    found = ingest_sitemaps(Reading(), crawl="c", urls=start, fetch=fetch, **bounds)  # type: ignore[arg-type]
    return list(found), asked


def test_indexes_in_an_index_are_followed_breadth_first() -> None:
    site = {"/0": index("/1", "/2"), "/1": index("/3"), "/2": urlset("/p"), "/3": urlset("/q")}
    found, _ = sent(site)
    assert [(each.url[-1], each.depth) for each in found] == [("0", 0), ("1", 1), ("2", 1), ("3", 2)]
    assert list(found[-1].result.links.urls) == [f"{HOST}/q"]


@pytest.mark.parametrize(("most", "asked"), [(0, 1), (1, 2), (2, 3), (5, 6)])
def test_indexes_below_each_other_have_a_bound(most: int, asked: int) -> None:
    endless = {f"/{n}": index(f"/{n + 1}") for n in range(10)}
    assert len(sent(endless, max_depth=most)[1]) == asked


@pytest.mark.parametrize("cycle", [["/0"], ["/1", "/0"], ["/1", "/2", "/0"], ["/1", "/1", "/1"]])
def test_a_sitemap_is_asked_for_once_however_often_it_is_named(cycle: list[str]) -> None:
    site = {path: index(*cycle) for path in {"/0", *cycle}}
    _, asked = sent(site, f"{HOST}/0", f"{HOST}/0", max_depth=99)
    assert sorted(asked) == sorted({"/0", *cycle})


def test_count_and_bytes_have_bounds() -> None:
    wide = {"/0": index(*(f"/{n}" for n in range(1, 500)))} | {f"/{n}": urlset("/p") for n in range(1, 500)}
    assert len(sent(wide, max_sitemaps=20)[1]) == 20
    small = len(urlset("/p"))
    found, _ = sent(wide, max_bytes=len(wide["/0"]) + 5 * small + small // 2)
    assert len(found) == 1 + 5


def test_what_comes_packed_is_read_as_it_is() -> None:
    site = {"/0": gzip.compress(index("/1")), "/1": gzip.compress(urlset("/p"))}
    found, asked = sent(site)
    assert (asked, list(found[-1].result.links.urls)) == (["/0", "/1"], [f"{HOST}/p"])


@pytest.mark.parametrize(
    "foreign",
    ["http://b.org/1", "https://a.org:8/1", "http://a.org.b.org/1", "http://a.org:8/1", "ftp://a.org/1"],
)
def test_an_index_does_not_speak_for_others(foreign: str) -> None:
    assert sent({"/0": index(foreign, "/1")})[1] == ["/0", "/1"]


@pytest.mark.parametrize(
    ("asked_as", "came_from", "children"),
    [
        ("http://a.org/0", "https://a.org/0", ["https://a.org/1"]),
        ("http://a.org/0", "https://www.a.org/x/0", ["https://www.a.org/1", "https://www.a.org/x/2"]),
        ("http://a.org/0", "http://a.org/0", ["http://a.org/1"]),
        ("http://A.ORG/0", "", ["http://a.org/1", "http://a.org/2"]),
        ("http://a.org:80/0", "", ["http://a.org/1"]),
        ("https://a.org/0", "", ["https://a.org:443/1", "https://A.org/2"]),
        ("http://a.org/0", "", ["https://a.org/1"]),
        ("http://a.org/0", "https://www.a.org/0", ["http://a.org/1", "https://a.org/2"]),
        ("http://ä.org/0", "", ["http://xn--4ca.org/1"]),
        ("http://%61.org./0", "", ["http://a.org/1"]),
    ],
)
def test_children_of_the_host_that_answered_are_followed(
    asked_as: str, came_from: str, children: list[str]
) -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes | tuple[str, bytes] | None:
        asked.append(url)
        body = index(*children, "http://b.org/no") if len(asked) == 1 else urlset("/p")
        return (came_from, body) if came_from and len(asked) == 1 else body

    list(ingest_sitemaps(Reading(), crawl="c", urls=[asked_as], fetch=fetch))  # type: ignore[arg-type]
    normal = [url.lower().replace(":443", "") for url in asked[1:]]
    assert normal == [child.lower().replace(":443", "") for child in children]


@pytest.mark.parametrize(
    "bad",
    [
        None,
        b"",
        b"no XML",
        b"<sitemapindex><sitemap>",
        b"<html>" + index("/3"),
        b"\x1f\x8b nothing packed",
        gzip.compress(b" " * 60_000_000),
        urlset("/3"),
    ],
)
def test_what_is_no_index_names_nothing_and_the_rest_goes_on(bad: bytes | None) -> None:
    site = {"/0": index("/1", "/2"), "/2": urlset("/p")} | ({"/1": bad} if bad is not None else {})
    found, asked = sent(site)
    assert asked == ["/0", "/1", "/2"]
    assert list(found[-1].result.links.urls) == [f"{HOST}/p"]


def test_a_long_sitemap_is_sent_packed_and_one_that_does_not_pack_is_left_out() -> None:
    long, noise = b" " * (MAX_SENT_BYTES + 1), np.random.default_rng(1).bytes(MAX_SENT_BYTES + 1)
    found, asked = sent(
        {"/0": urlset("/a") + long, "/1": noise, "/2": urlset("/b")}, *(f"{HOST}/{n}" for n in range(3))
    )
    assert asked == ["/0", "/1", "/2"]
    assert [list(each.result.links.urls) for each in found] == [[f"{HOST}/a"], [f"{HOST}/b"]]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (urlset(), SITEMAP),
        (gzip.compress(index("/1")), SITEMAP),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- made > by --><s:urlset xmlns:s='x'>", SITEMAP),
        (b"<rss version='2.0'>", FEED),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", FEED),
        (b"<rdf:RDF>", FEED),
        (b"<html><body><urlset>", OTHER),
        (b"<!DOCTYPE rss><rss>", FEED),
        (b"\n \n<?xml version='1.0'?><URLSET>", SITEMAP),
        ("<urlset>".encode("utf-16"), SITEMAP),
        (b"<!-- <urlset> --><p>", OTHER),
        (b"<!doctype html><rss>", OTHER),
        (b"<feedback>", OTHER),
        (b"<??>" * 1_000, OTHER),
        (b"<!---->" * 1_000 + b"<", OTHER),
        (b"\x1f\x8b", OTHER),
        (b"", OTHER),
    ],
)
def test_a_listing_is_known_by_its_first_element(body: bytes, kind: int) -> None:
    assert kind_of(body) == kind
