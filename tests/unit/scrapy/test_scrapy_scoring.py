"""Rows find their Requests, and Requests keep what the rows say."""

from __future__ import annotations

import marshal
import pickle

import pytest
from scrapy import Request

from linkscore.scrapy.scoring import META, PageAnswer, mark, places_of, ticket_of
from linkscore.v1 import common_pb2


def scores(*entries: tuple[str, str, float], encoded: bool = True) -> common_pb2.LinkScores:
    names = [bucket for _, bucket, _ in entries]
    return common_pb2.LinkScores(
        urls=[url for url, _, _ in entries],
        scores=[score for _, _, score in entries],
        encoded_priorities=[round(score * 31) for _, _, score in entries] if encoded else [],
        bucket_names=names,
        buckets=range(len(names)),
        ticket_values=[name.encode() for name in names],
        tickets=range(len(names)),
    )


@pytest.mark.parametrize("url", ["http://h/a?x=1&y=2", "http://h/a?x=1&y=2#part", "http://h/a?y=2&x=1"])
def test_a_request_finds_its_row_by_the_identity_scrapy_uses(url: str) -> None:
    answer = PageAnswer(scores(("http://h/a?x=1&y=2", "b", 0.5)))
    assert [row.bucket for row in answer.of(url)] == ["b"]


def test_a_url_that_is_not_on_the_page_has_no_row() -> None:
    assert PageAnswer(scores(("http://h/a", "b", 0.5))).of("http://h/other") == []


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


def test_a_link_is_as_far_behind_the_best_of_its_bucket_as_its_score_says() -> None:
    links = scores(("http://h/a", "b", 0.5))
    links.bucket_values.append(0.7)
    request = Request("http://h/a")
    mark(request, PageAnswer(links).of("http://h/a"))
    assert [(place.bucket, place.value, place.penalty) for place in places_of(request)] == [("b", 0.7, 0.2)]


def test_a_priority_of_the_spider_stays_on_top() -> None:
    request = Request("http://h/a", priority=100)
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert request.priority == 116
    assert places_of(request) == []
    assert ticket_of(request) == b"b"


def test_a_depth_penalty_gives_way_to_the_score() -> None:
    request = Request("http://h/a", priority=-7)
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert request.priority == 16


def test_without_encoded_priorities_only_the_ticket_is_kept() -> None:
    request = Request("http://h/a", priority=3)
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5), encoded=False)).of(request.url))
    assert request.priority == 3
    assert places_of(request) == []
    assert ticket_of(request) == b"b"


def test_a_redirected_request_waits_no_more() -> None:
    request = Request("http://h/a", meta={"redirect_times": 1})
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5))).of(request.url))
    assert places_of(request)
    moved = request.replace(url="http://h/b", meta={**request.meta, "redirect_times": 2})
    assert places_of(moved) == []


@pytest.mark.parametrize("module", [pickle, marshal])
def test_what_a_request_carries_can_be_stored(module) -> None:
    request = Request("http://h/a")
    mark(request, PageAnswer(scores(("http://h/a", "b", 0.5))).of(request.url))
    stored = request.replace(meta=module.loads(module.dumps(request.meta)))
    assert places_of(stored) == places_of(request)
    assert ticket_of(stored) == b"b"


def test_a_request_says_of_which_type_its_url_is() -> None:
    links = scores(("http://h/a", "b", 0.5), ("http://h/b", "b", 0.4), ("http://h/c", "b", 0.3))
    links.url_types.extend([common_pb2.URL_TYPE_PAGE_FLIP, common_pb2.URL_TYPE_UNSPECIFIED, 99])
    answer, notes = PageAnswer(links), []
    for url in ("http://h/a", "http://h/b", "http://h/c"):
        request = Request(url)
        mark(request, answer.of(url))
        notes.append(request.meta[META].get("url_type"))
    assert notes == ["page_flip", None, "99"]


def test_an_answer_tells_of_its_page_what_is_known() -> None:
    links = scores(("http://h/a", "b", 0.5))
    told = PageAnswer(links, page_type=common_pb2.PAGE_TYPE_THREAD, thread_id="http://h/t").page_info
    assert told == {"page_type": "thread", "thread_id": "http://h/t"}
    assert PageAnswer(links).page_info == {}
