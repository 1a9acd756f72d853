"""What the server is told about a fetch, and what Requests carry of its answer."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.http import Response

from linkscore.scrapy.session import (
    META,
    PageAnswer,
    mark,
    page_message,
    places_of,
    ticket_of,
)
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2


def test_a_binary_body_stays_here() -> None:
    response = Response(
        "http://h/a.pdf",
        headers={"Content-Type": "application/pdf"},
        body=b"%PDF",
        request=Request("http://h/a.pdf"),
    )
    page = page_message(response)
    assert (page.WhichOneof("content"), page.content_type) == (None, "application/pdf")
    assert page.final_url == ""


def scores(*entries: tuple[str, str, float]) -> common_pb2.LinkScores:
    names = [bucket for _, bucket, _ in entries]
    return common_pb2.LinkScores(
        urls=[url for url, _, _ in entries],
        scores=[score for _, _, score in entries],
        bucket_names=names,
        bucket_values=[score for _, _, score in entries],
        buckets=range(len(names)),
        ticket_values=[name.encode() for name in names],
        tickets=range(len(names)),
    )


def answer_of(links: common_pb2.LinkScores) -> PageAnswer:
    return PageAnswer(scoring_pb2.PageResult(links=links))


@pytest.mark.parametrize("url", ["http://h/a?x=1&y=2", "http://h/a?x=1&y=2#part", "http://h/a?y=2&x=1"])
def test_a_request_finds_its_row_by_the_identity_scrapy_uses(url: str) -> None:
    answer = answer_of(scores(("http://h/a?x=1&y=2", "b", 0.5)))
    assert [row.bucket for row in answer.of(url)] == ["b"]


def test_rows_that_could_not_be_used_are_left_out() -> None:
    links = scores(("http://h/a", "b", 0.5), ("", "b", 0.0))
    links.statuses[0].code = common_pb2.ITEM_CODE_INVALID
    assert answer_of(links).of("http://h/a") == []


def test_a_link_seen_through_several_paths_waits_in_each_bucket_best_first() -> None:
    scored = {"a": 0.1, "b": 0.6, "c": 0.2, "d": 0.9, "e": 0.3, "f": 0.4}
    seen = [("http://h/a", name, score) for name, score in scored.items()]
    request = Request("http://h/a")
    mark(request, answer_of(scores(*seen, ("http://h/a", "d", 0.5))).of(request.url))
    assert [place.bucket for place in places_of(request)] == ["d", "b", "f", "e"]
    assert request.priority == 28
    assert ticket_of(request) == b"d"
    assert request.meta[META]["score"] == 0.9


def test_a_priority_of_the_spider_stays_on_top() -> None:
    request = Request("http://h/a", priority=100)
    mark(request, answer_of(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert request.priority == 116
    assert places_of(request) == []
    assert ticket_of(request) == b"b"


def test_a_redirected_request_waits_no_more() -> None:
    request = Request("http://h/a", meta={"redirect_times": 1})
    mark(request, answer_of(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert places_of(request)
    moved = request.replace(url="http://h/b", meta={**request.meta, "redirect_times": 2})
    assert places_of(moved) == []


def test_a_request_says_of_which_type_its_url_is() -> None:
    links = scores(("http://h/a", "b", 0.5), ("http://h/b", "b", 0.4), ("http://h/c", "b", 0.3))
    links.url_types.extend([common_pb2.URL_TYPE_PAGE_FLIP, common_pb2.URL_TYPE_UNSPECIFIED, 99])
    answer, notes = answer_of(links), []
    for url in ("http://h/a", "http://h/b", "http://h/c"):
        request = Request(url)
        mark(request, answer.of(url))
        notes.append(request.meta[META].get("url_type"))
    assert notes == ["page_flip", None, "99"]
