"""What the server is told about a fetch, and what Requests carry of its answer."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, DownloadFailedError
from scrapy.http import Response
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.web._newclient import ResponseNeverReceived

from linkscore.scrapy.pages import (
    META,
    FetchedPage,
    PageAnswer,
    asked_url,
    fetch_error,
    mark,
    page_message,
    places_of,
    ticket_of,
)
from linkscore.v1 import common_pb2


def fetched_page(response: Response) -> FetchedPage:
    return FetchedPage(asked_url(response.request), ticket_of(response.request))


def test_a_binary_body_stays_here() -> None:
    response = Response(
        "http://h/a.pdf",
        headers={"Content-Type": "application/pdf"},
        body=b"%PDF",
        request=Request("http://h/a.pdf"),
    )
    page = page_message(fetched_page(response), response)
    assert (page.WhichOneof("content"), page.content_type) == (None, "application/pdf")
    assert page.final_url == ""


def caused(by: Exception) -> Exception:
    error = DownloadFailedError()
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (TimeoutError(), "timeout"),
        (CannotResolveHostError(), "dns"),
        (Refused(), "refused"),
        (caused(ResponseNeverReceived([])), "connection_lost"),
        (caused(KeyError()), "DownloadFailedError"),
    ],
)
def test_errors_have_words(error: Exception, word: str) -> None:
    assert fetch_error(error) == word


def scores(*entries: tuple[str, str, float], encoded: bool = True) -> common_pb2.LinkScores:
    names = [bucket for _, bucket, _ in entries]
    return common_pb2.LinkScores(
        urls=[url for url, _, _ in entries],
        scores=[score for _, _, score in entries],
        encoded_priorities=[round(score * 31) for _, _, score in entries] if encoded else [],
        bucket_names=names,
        bucket_values=[score for _, _, score in entries],
        buckets=range(len(names)),
        ticket_values=[name.encode() for name in names],
        tickets=range(len(names)),
    )


@pytest.mark.parametrize("url", ["http://h/a?x=1&y=2", "http://h/a?x=1&y=2#part", "http://h/a?y=2&x=1"])
def test_a_request_finds_its_row_by_the_identity_scrapy_uses(url: str) -> None:
    answer = PageAnswer(scores(("http://h/a?x=1&y=2", "b", 0.5)))
    assert [row.bucket for row in answer.of(url)] == ["b"]


def test_rows_that_could_not_be_used_are_left_out() -> None:
    links = scores(("http://h/a", "b", 0.5), ("", "b", 0.0))
    links.statuses[0].code = common_pb2.ITEM_CODE_INVALID
    assert PageAnswer(links).of("http://h/a") == []


def test_a_link_seen_through_several_paths_waits_in_each_bucket_best_first() -> None:
    scored = {"a": 0.1, "b": 0.6, "c": 0.2, "d": 0.9, "e": 0.3, "f": 0.4}
    seen = [("http://h/a", name, score) for name, score in scored.items()]
    request = Request("http://h/a")
    mark(request, PageAnswer(scores(*seen, ("http://h/a", "d", 0.5))).of(request.url))
    assert [place.bucket for place in places_of(request)] == ["d", "b", "f", "e"]
    assert request.priority == 28
    assert ticket_of(request) == b"d"
    assert request.meta[META]["score"] == 0.9


def test_a_priority_of_the_spider_stays_on_top() -> None:
    request = Request("http://h/a", priority=100)
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert request.priority == 116
    assert places_of(request) == []
    assert ticket_of(request) == b"b"


def test_a_redirected_request_waits_no_more() -> None:
    request = Request("http://h/a", meta={"redirect_times": 1})
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert places_of(request)
    moved = request.replace(url="http://h/b", meta={**request.meta, "redirect_times": 2})
    assert places_of(moved) == []


def test_a_request_says_of_which_type_its_url_is() -> None:
    links = scores(("http://h/a", "b", 0.5), ("http://h/b", "b", 0.4), ("http://h/c", "b", 0.3))
    links.url_types.extend([common_pb2.URL_TYPE_PAGE_FLIP, common_pb2.URL_TYPE_UNSPECIFIED, 99])
    answer, notes = PageAnswer(links), []
    for url in ("http://h/a", "http://h/b", "http://h/c"):
        request = Request(url)
        mark(request, answer.of(url))
        notes.append(request.meta[META].get("url_type"))
    assert notes == ["page_flip", None, "99"]
