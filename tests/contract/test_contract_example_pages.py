"""Example pages of a crawl: what is kept, what they do, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2 as links_pb
from support.crawl_calls import change, described, ingest
from support.server_process import Stubs, refusal
from support.small_site import body_of, url_of

MEMBERS = (3, 8, 13)
PAGES = range(60)


def member(n: int, **fields: Any) -> pb.ExamplePage:
    return pb.ExamplePage(url=url_of(n), body=body_of(n), content_type="text/html", **fields)


def reward_of(server: Stubs, name: str, n: int) -> float:
    link = links_pb.CandidateLink(url=url_of(n))
    (why,) = server.links.ScoreLinks(
        links_pb.ScoreLinksRequest(explain=True, crawl=name, links=[link])
    ).explanations
    return next(term.value for term in why.terms if term.name == "reward")


def test_examples_are_read_back_without_their_bodies(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(examples=[member(3, page_type="member")])
    made = described(server, name)
    assert list(made.examples) == [pb.ExamplePage(url=url_of(3), page_type="member")]


def test_examples_added_later_count_until_they_are_taken_back(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *PAGES)
    untold = reward_of(server, crawl, 28)
    assert len(change(server, crawl, examples=[member(n) for n in MEMBERS]).examples) == 3
    assert reward_of(server, crawl, 28) > 0.8 > 0.2 > reward_of(server, crawl, 21)
    assert not change(server, crawl, examples=[]).examples
    assert reward_of(server, crawl, 28) == untold < 0.8


def test_an_example_whose_url_is_there_takes_its_place(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(examples=[member(3, page_type="old"), member(8, page_type="kept")])
    changed = change(server, name, examples=[member(3, page_type="new"), pb.ExamplePage(url=url_of(8))])
    assert [(e.url, e.page_type) for e in changed.examples] == [(url_of(3), "new"), (url_of(8), "kept")]


def test_an_example_given_by_url_counts_once_ingested(server: Stubs, new_crawl: Callable[..., str]) -> None:
    name = new_crawl(examples=[pb.ExamplePage(url=url_of(n)) for n in (23, 28, 33)])
    ingest(server, name, *PAGES)
    assert reward_of(server, name, 43) > 0.7 > 0.3 > reward_of(server, name, 41)


@pytest.mark.parametrize(
    ("example", "field"),
    [
        (pb.ExamplePage(), "crawl.examples[1].url"),
        (pb.ExamplePage(url="ftp://h/x"), "crawl.examples[1].url"),
        (pb.ExamplePage(url="http://h/x", page_type="x" * 101), "crawl.examples[1].page_type"),
        (pb.ExamplePage(body=b"\x89PNG\r\n\x1a\n" + b"\x00" * 50), "crawl.examples[1].body"),
    ],
)
def test_a_bad_example_is_refused_by_field(
    server: Stubs, crawl: str, example: pb.ExamplePage, field: str
) -> None:
    told = refusal(lambda: change(server, crawl, examples=[member(3), example]))
    assert told.code == grpc.StatusCode.INVALID_ARGUMENT
    assert set(told.violations) == {field}
    assert not described(server, crawl).examples


def test_more_examples_than_the_limit_are_refused(server: Stubs, crawl: str) -> None:
    given = [pb.ExamplePage(url=url_of(n)) for n in range(101)]
    told = refusal(lambda: change(server, crawl, examples=given))
    assert set(told.violations) == {"crawl.examples"}
    assert told.reason == "TOO_MANY_ITEMS"
    change(server, crawl, examples=given[:100])
