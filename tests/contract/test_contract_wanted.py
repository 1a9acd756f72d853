"""What a crawl is for in words: kept, changed, refused by field, and acted on."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest

from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as pb
from support.crawl_calls import change, described, ingest
from support.server_process import Stubs, refusal

HOME = "http://words.example/"
ONE = 1
"""Groups of crawls that go by what is wanted: `topic` learns one model of all sites, more are refused."""
PAGE = b"<ul><li><a href='/1'>Kayak repair</a></li><li><a href='/2'>Used cars</a></li></ul>"


def wanting(*queries: str, **fields: object) -> pb.Wanted:
    return pb.Wanted(queries=queries, **fields)  # type: ignore[arg-type]


def scores(server: Stubs, name: str, url: str = HOME) -> list[float]:
    page = common_pb2.Page(url=url, status_code=200, content_type="text/html", body=PAGE)
    return list(ingest(server, name, page)[0].links.scores)


def test_a_crawl_that_says_what_it_wants_is_scored_by_topic(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    name = new_crawl(groups=ONE, wanted=wanting("kayak repair"))
    assert described(server, name).policy.HasField("topic")
    kayak, cars = scores(server, name)
    assert kayak > cars


def test_a_page_says_how_far_it_is_what_is_wanted(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(groups=ONE, wanted=wanting("kayak repair"))
    relevance = []
    for n, title in enumerate(("Kayak repair", "Used cars")):
        page = common_pb2.Page(
            url=f"{HOME}{n}",
            status_code=200,
            content_type="text/html",
            body=f"<title>{title}</title>".encode(),
        )
        (result,) = ingest(server, name, page)
        relevance.append(result.relevance)
    assert relevance[0] > 0.5
    assert relevance[1] == 0.0
    plain = new_crawl()
    (result,) = ingest(server, plain, page)
    assert not result.HasField("relevance")


def test_a_sample_page_is_worth_what_it_was_given_as(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(groups=ONE, wanted=wanting("kayak", samples=[pb.WantedSample(url=HOME)]))
    page = common_pb2.Page(url=HOME, status_code=200, content_type="text/html", body=PAGE)
    (result,) = ingest(server, name, page)
    assert result.relevance == 1.0


def test_what_is_wanted_is_read_back_without_texts_of_samples(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    text = pb.WantedSample(text="How a kayak is repaired")
    body = pb.WantedSample(url="http://words.example/s", body=b"<title>Cars</title>", unwanted=True)
    given = wanting("kayak", samples=[text, body])
    name = new_crawl(groups=ONE, wanted=given)
    made = described(server, name).wanted
    kept = [pb.WantedSample(), pb.WantedSample(url="http://words.example/s", unwanted=True)]
    assert made == wanting("kayak", samples=kept)


def test_what_is_wanted_may_change_and_be_taken_away(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(groups=ONE, wanted=wanting("kayak repair"))
    changed = change(server, name, wanted=wanting("used cars"))
    assert changed.wanted == wanting("used cars")
    kayak, cars = scores(server, name)
    assert cars > kayak
    assert not change(server, name, wanted=None).HasField("wanted")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (wanting(""), "crawl.wanted.queries[0]"),
        (wanting("x" * 100_000), "crawl.wanted.queries[0]"),
        (wanting(), "crawl.wanted"),
        (wanting("a", samples=[pb.WantedSample()]), "crawl.wanted.samples[0].url"),
        (wanting("a", samples=[pb.WantedSample(url="nowhere")]), "crawl.wanted.samples[0].url"),
        (wanting("a", samples=[pb.WantedSample(text="?")]), "crawl.wanted.samples[0].text"),
        (wanting("a", samples=[pb.WantedSample(body=b"%PDF")]), "crawl.wanted.samples[0].body"),
    ],
)
def test_what_cannot_be_wanted_is_refused_by_field(
    server: Stubs, new_crawl: Callable[..., str], wanted: pb.Wanted, field: str
) -> None:
    told = refusal(lambda: new_crawl(groups=ONE, wanted=wanted))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert list(told.violations) == [field]


def test_words_need_a_policy_that_goes_by_them(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(policy=policy_pb2.PolicySpec(harvest=policy_pb2.HarvestParams()))
    told = refusal(lambda: change(server, name, wanted=wanting("kayak")))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "topic and keyword" in told.message
