"""Bodies that are too large are cut before their message is parsed."""

from __future__ import annotations

import gzip
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress
from linkscore_server.grpc.bodies import cut_bodies

INGEST, STREAM = "LinkScoringService/IngestPages", "LinkScoringService/StreamPages"
MOST = 100_000
LARGE = b"x" * 1_000_000


def page(url: str, body: bytes) -> common_pb2.Page:
    links = [common_pb2.Outlink(url="/b", anchor_text="b")]
    return common_pb2.Page(url=url, body=body, status_code=200, event_id=url, outlinks=links)


def test_of_a_large_body_as_much_is_left_as_shows_that_it_is_too_large() -> None:
    pages = [page("http://a.org/1", b"<p>"), page("http://a.org/2", LARGE), page("http://a.org/3", b"<b>")]
    raw = pb.IngestPagesRequest(crawl="crawls/a", pages=pages).SerializeToString()
    cut = pb.IngestPagesRequest.FromString(cut_bodies(raw, INGEST, MOST))
    assert MOST < len(cut.pages[1].body) < 2 * MOST
    pages[1].body = cut.pages[1].body
    assert cut == pb.IngestPagesRequest(crawl="crawls/a", pages=pages)


def test_a_message_of_a_stream_is_cut_too() -> None:
    raw = pb.StreamPagesRequest(crawl="crawls/a", page=page("http://a.org/1", LARGE)).SerializeToString()
    cut = pb.StreamPagesRequest.FromString(cut_bodies(raw, STREAM, MOST))
    assert (cut.crawl, cut.page.event_id) == ("crawls/a", "http://a.org/1")
    assert MOST < len(cut.page.body) < 2 * MOST


def test_bodies_within_the_bound_and_other_calls_stay_as_they_are() -> None:
    pages = [page(f"http://a.org/{n}", b"x" * MOST) for n in range(20)]
    raw = pb.IngestPagesRequest(crawl="crawls/a", pages=pages).SerializeToString()
    assert cut_bodies(raw, INGEST, MOST) is raw
    large = pb.IngestPagesRequest(pages=[page("http://a.org/1", LARGE)]).SerializeToString()
    assert cut_bodies(large, "LinkScoringService/ScoreLinks", MOST) is large


@pytest.mark.parametrize(
    "junk", [b"\xff" * 300_000, b"\x12\xff\xff\xff\xff\x7f" + bytes(300_000), b"\x0b" * 300_000]
)
def test_what_is_no_message_stays_as_it_is(junk: bytes) -> None:
    assert cut_bodies(junk, INGEST, MOST) == junk


@given(junk=st.binary(max_size=60), at=st.integers(0, 60))
def test_no_bytes_break_it(junk: bytes, at: int) -> None:
    raw = junk[:at] + bytes(200_000) + junk[at:]
    assert len(cut_bodies(raw, INGEST, 1_000)) <= len(raw)


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_what_is_left_of_a_body_is_refused_as_too_large(encoding: str) -> None:
    body = random.Random(1).randbytes(5 * MOST)
    sent = page("http://a.org/1", gzip.compress(body) if encoding else body)
    raw = pb.IngestPagesRequest(pages=[sent]).SerializeToString()
    [cut] = pb.IngestPagesRequest.FromString(cut_bodies(raw, INGEST, MOST)).pages
    with pytest.raises(InvalidPage) as caught:
        decompress(cut.body, encoding, max_bytes=MOST)
    assert caught.value.reason == "BODY_TOO_LARGE"


def test_of_very_many_fields_only_the_first_are_looked_at() -> None:
    last = pb.IngestPagesRequest(pages=[page("http://a.org/1", LARGE)]).SerializeToString()
    raw = b"\x0a\x01a" * MOST + last
    assert cut_bodies(raw, INGEST, MOST) is raw
