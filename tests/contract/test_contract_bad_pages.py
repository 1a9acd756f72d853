"""IngestPages: what a bad, hostile, failed or hand-made page costs."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from linkscore.v1 import (
    common_pb2 as common,
)
from support.crawl_calls import BAD, OK, PARTIAL, described, fetched, ingest, problem
from support.server_process import Stubs
from support.small_site import ROOT, body_of, page

BAD_PAGES = {
    "no url": (fetched(""), "url", "REQUIRED"),
    "relative": (fetched("/thread/1"), "url", "RELATIVE_URL"),
    "without scheme": (fetched("forum.test/thread/1"), "url", "RELATIVE_URL"),
    "ftp": (fetched("ftp://forum.test/"), "url", "UNSUPPORTED_SCHEME"),
    "mailto": (fetched("mailto:a@forum.test"), "url", "UNSUPPORTED_SCHEME"),
    "javascript": (fetched("javascript:void(0)"), "url", "UNSUPPORTED_SCHEME"),
    "no host": (fetched("http://?x"), "url", "MALFORMED_URL"),
    "bad port": (fetched("http://forum.test:port/"), "url", "MALFORMED_URL"),
    "bad address": (fetched("http://[::1/"), "url", "MALFORMED_URL"),
    "long": (fetched(f"{ROOT}/{'x' * 2_083}"), "url", "INVALID_VALUE"),
    "relative final url": (fetched(final_url="/x"), "final_url", "RELATIVE_URL"),
    "final url of a failed fetch": (
        fetched(final_url="x" * 10_000, status_code=500),
        "final_url",
        "INVALID_VALUE",
    ),
    "long event id": (fetched(event_id="e" * 129), "event_id", "INVALID_VALUE"),
    "long ticket": (fetched(ticket=b"t" * 65), "ticket", "INVALID_VALUE"),
    "status": (fetched(status_code=1_000), "status_code", "INVALID_VALUE"),
    "negative status": (fetched(status_code=-1), "status_code", "INVALID_VALUE"),
    "more bytes than there are": (fetched(fetched_bytes=2**64 - 1), "fetched_bytes", "INVALID_VALUE"),
    "many encodings": (fetched(content_encoding="br," * 9), "content_encoding", "UNSUPPORTED_ENCODING"),
    "truncated gzip": (
        fetched(content_encoding="gzip", body=gzip.compress(body_of(1))[:-20]),
        "body",
        "TRUNCATED_BODY",
    ),
    "corrupt gzip": (
        fetched(content_encoding="gzip", body=b"\x1f\x8b\x08\x00" + b"\xff" * 40),
        "body",
        "CORRUPT_BODY",
    ),
    "truncated brotli": (
        fetched(content_encoding="br", body=brotli.compress(body_of(1))[:-20]),
        "body",
        "TRUNCATED_BODY",
    ),
    "truncated zstd": (
        fetched(content_encoding="zstd", body=zstandard.compress(body_of(1))[:-20]),
        "body",
        "TRUNCATED_BODY",
    ),
    "huge": (fetched(body=b"<p>" + b"x" * 10_000_000), "body", "BODY_TOO_LARGE"),
    "gzip bomb": (
        fetched(content_encoding="gzip", body=gzip.compress(b"\x00" * 40_000_000, compresslevel=1)),
        "body",
        "BODY_TOO_LARGE",
    ),
}


@pytest.mark.parametrize("kind", BAD_PAGES)
def test_a_bad_page_is_named_and_the_rest_of_its_batch_counts(server: Stubs, crawl: str, kind: str) -> None:
    bad, field, reason = BAD_PAGES[kind]
    before, got, after = ingest(server, crawl, page(0), bad, page(1))
    assert (before.status.code, got.status.code, after.status.code) == (OK, BAD, OK)
    assert problem(got) == (field, reason)
    assert got.status.problems[0].description
    assert not got.links.scores
    assert described(server, crawl).page_count == 2


def test_a_bad_page_is_not_remembered_by_its_event_id(server: Stubs, crawl: str) -> None:
    assert ingest(server, crawl, fetched("/x", event_id="one"))[0].status.code == BAD
    assert ingest(server, crawl, fetched(event_id="one"))[0].status.code == OK


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", body_of(0)),
        ("identity", body_of(0)),
        ("gzip", gzip.compress(body_of(0))),
        ("", gzip.compress(body_of(0))),
        ("deflate", zlib.compress(body_of(0))),
        ("br", brotli.compress(body_of(0))),
        ("zstd", zstandard.compress(body_of(0))),
        ("gzip, br", brotli.compress(gzip.compress(body_of(0), mtime=0))),
    ],
)
def test_every_content_encoding_gives_the_same_links(
    server: Stubs, crawl: str, encoding: str, packed: bytes
) -> None:
    (result,) = ingest(server, crawl, fetched(body=packed, content_encoding=encoding))
    assert result.status.code == OK
    assert len(result.links.urls) == 13


PATHOLOGICAL = {
    "empty body": (b"", "text/html", "empty", 0),
    "white space": (b" \n ", "text/html", "empty", 0),
    "binary as html": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100, "text/html", "not_html", 0),
    "zeros": (b"\x00" * 100_000, "text/html", "not_html", 0),
    "pdf": (b"%PDF-1.7 x", "application/pdf", "not_html", 0),
    "json": (b'{"a": "<a href=/x>"}', "application/json", "not_html", 0),
    "100,000 deep": (b"<div>" * 100_000 + b"<a href=/x>x</a>", "text/html", "depth_cut", None),
    "100,000 links": (b"<a href=1>" * 100_000, "text/html", "links_cut", 10_000),
    "wrong charset": (
        "<p>käse <a href=/ä>ä</a>".encode("latin-1"),
        "text/html; charset=utf-8",
        "decode_errors",
        1,
    ),
}


@pytest.mark.parametrize("kind", PATHOLOGICAL)
def test_a_pathological_body_is_answered_with_a_note(server: Stubs, crawl: str, kind: str) -> None:
    body, content_type, note, n_links = PATHOLOGICAL[kind]
    result, after = ingest(server, crawl, fetched(body=body, content_type=content_type), page(0))
    assert result.status.code == PARTIAL
    assert note in result.status.notes
    assert n_links is None or len(result.links.scores) == n_links
    assert after.status.code == OK


@pytest.mark.parametrize(
    "body",
    [
        "<p>käse</p><a href='/ä'>ä</a>".encode("utf-16"),
        b"<a href=/x>" + b"\xff\xfe\xfd" * 1_000,
        b"<a" + b" a=1" * 200_000 + b" href=/x>x",
        b"<!--" * 50_000 + b"<a href=/x>x</a>",
        b"<a href='http://forum.test/" + b"y" * 100_000 + b"'>x</a>",
        b"<base href='http://[x'><a href=/x>x</a>",
        b"<table>" * 20_000 + b"<a href=/x>x</a>",
        b"<svg><a xlink:href=/x>x</a>" * 1_000,
        b"<p>" + b"&#xD800;" * 100 + b"<a href='/&#0;'>&#xD800;</a>",
    ],
    ids=[
        "utf16",
        "invalid utf8",
        "attributes",
        "comments",
        "long href",
        "bad base",
        "tables",
        "svg",
        "surrogates",
    ],
)
def test_a_hostile_body_never_fails_the_call(server: Stubs, crawl: str, body: bytes) -> None:
    hostile, after = ingest(
        server, crawl, fetched(body=body, content_type="text/html; charset=bogus"), page(0)
    )
    assert hostile.status.code in (OK, PARTIAL)
    assert after.status.code == OK
    assert described(server, crawl).page_count == 2


@pytest.mark.parametrize(
    "failed",
    [
        common.Page(url=f"{ROOT}/x", fetch_error="timeout"),
        common.Page(url=f"{ROOT}/x", status_code=404),
        common.Page(url=f"{ROOT}/x", status_code=500, body=b"<a href=/y>y</a>"),
        common.Page(url=f"{ROOT}/x"),
    ],
    ids=["error", "404", "500 with a body", "nothing"],
)
def test_a_failed_fetch_counts_and_has_no_links(server: Stubs, crawl: str, failed: common.Page) -> None:
    (result,) = ingest(server, crawl, failed)
    assert result.status.code == OK
    assert not result.links.scores
    assert described(server, crawl).page_count == 1


def test_the_links_of_the_crawler_are_scored_in_its_order_with_a_status_for_bad_ones(
    server: Stubs, crawl: str
) -> None:
    given = ["/b", "mailto:x@y.test", "http://forum.test/a", "", "http://[x/"]
    outlinks = [common.Outlink(url=url, tag_path="html/body/a") for url in given]
    (result,) = ingest(server, crawl, fetched(body=None, outlinks=outlinks))
    assert list(result.links.urls) == [f"{ROOT}/b", "", f"{ROOT}/a", "", ""]
    assert set(result.links.statuses) == {1, 3, 4}
    assert result.links.statuses[1].code == BAD
    assert result.links.statuses[1].problems[0].field == "outlinks[1].url"
    assert result.links.statuses[1].problems[0].reason == "MALFORMED_URL"


def test_links_sent_beside_a_body_are_scored_by_index_as_those_that_stand_there(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    body = b'<ul><li><a href="/t/1">One</a></ul><div><a href="/t/2?b=1&amp;a=2">Two</a></div>'
    (own,) = ingest(server, new_crawl(), fetched(body=body))
    outlinks = [common.Outlink(url="http://forum.test:80/t/2?a=2&b=1#end"), common.Outlink(url="/t/1")]
    (result,) = ingest(server, new_crawl(), fetched(body=body, outlinks=outlinks))
    assert places(result.links) == list(reversed(places(own.links)))
    assert len(set(places(own.links))) == 2


def places(links: common.LinkScores) -> list[str]:
    """Tag paths as the buckets of harvest name them."""
    return [links.bucket_names[row].rpartition(".")[2] for row in links.buckets]
