"""What a sitemap is known by, and which others an index may name."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from linkscore.sitemaps import MAX_SENT_BYTES, kind_of, named_sitemaps, packed
from linkscore.v1 import common_pb2

SITEMAP, FEED, OTHER = (
    common_pb2.PAGE_KIND_SITEMAP,
    common_pb2.PAGE_KIND_FEED,
    common_pb2.PAGE_KIND_UNSPECIFIED,
)


def index() -> bytes:
    return b"<?xml version='1.0'?><sitemapindex><sitemap><loc>http://a.org/1</loc></sitemap></sitemapindex>"


def urlset() -> bytes:
    return b"<urlset><url><loc>http://a.org/p</loc></url></urlset>"


@pytest.mark.parametrize(
    "foreign",
    ["http://b.org/1", "https://a.org:8/1", "http://a.org.b.org/1", "http://a.org:8/1", "ftp://a.org/1"],
)
def test_an_index_does_not_speak_for_others(foreign: str) -> None:
    assert named_sitemaps("http://a.org/0", index(), [foreign, "http://a.org/1"]) == ["http://a.org/1"]


@pytest.mark.parametrize(
    ("asked", "final", "children"),
    [
        ("http://a.org/0", "https://www.a.org/x/0", ["https://www.a.org/1", "https://www.a.org/x/2"]),
        ("http://A.ORG/0", "", ["http://a.org/1", "http://a.org/2"]),
        ("http://a.org:80/0", "", ["http://a.org/1"]),
        ("https://a.org/0", "", ["https://a.org:443/1", "https://A.org/2"]),
        ("http://a.org/0", "", ["https://a.org/1"]),
        ("http://a.org/0", "https://www.a.org/0", ["http://a.org/1", "https://a.org/2"]),
        ("http://ä.org/0", "", ["http://xn--4ca.org/1"]),
        ("http://%61.org./0", "", ["http://a.org/1"]),
    ],
)
def test_children_of_the_host_that_answered_are_followed(asked: str, final: str, children: list[str]) -> None:
    named = [*children, "http://b.org/no"]
    assert named_sitemaps(final or asked, index(), named, asked=asked) == children


@pytest.mark.parametrize(
    "body",
    [b"", b"no XML", b"<html>" + index(), b"\x1f\x8b no gzip", gzip.compress(b" " * 60_000_000), urlset()],
)
def test_what_is_no_index_names_nothing(body: bytes) -> None:
    assert named_sitemaps("http://a.org/0", body, ["http://a.org/1"]) is None


def test_a_long_sitemap_is_packed_and_one_that_does_not_pack_is_left_out() -> None:
    long, noise = urlset().ljust(MAX_SENT_BYTES + 1), np.random.default_rng(1).bytes(MAX_SENT_BYTES + 1)
    sent = packed(long)
    assert sent is not None
    assert (gzip.decompress(sent), kind_of(sent), packed(noise)) == (long, SITEMAP, None)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (urlset(), SITEMAP),
        (gzip.compress(index()), SITEMAP),
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
