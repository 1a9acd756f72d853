"""SuggestExamples: pages a user should be asked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.crawl_calls import BREADTH, described, ingest
from support.server_process import Stubs, refusal
from support.small_site import HOST, body_of, url_of

PAGES = range(60)


def suggest(server: Stubs, crawl: str, **more: Any) -> pb.SuggestExamplesResponse:
    return server.links.SuggestExamples(pb.SuggestExamplesRequest(crawl=crawl, **more))


def kinds(got: pb.SuggestExamplesResponse) -> list[str]:
    return [example.url.split("/")[3] for example in got.examples]


def test_one_page_of_each_type_is_suggested_most_waiting_links_first(server: Stubs, crawl: str) -> None:
    site = ingest(server, crawl, *PAGES)[0].site
    got = suggest(server, crawl)
    assert kinds(got) == ["thread", "board", "member", "board"]
    assert [e.pages_alike for e in got.examples] == [36, 11, 12, 1], "the seed was not linked before"
    assert {e.site for e in got.examples} == {site}
    assert all(e.reason and not e.HasField("likeness") for e in got.examples)
    event = described(server, crawl).event_seq
    assert (got.policy, got.event_seq) == ("harvest", event)
    assert got == suggest(server, crawl)


def test_what_the_examples_name_is_not_suggested(server: Stubs, new_crawl: Callable[..., str]) -> None:
    example = crawl_pb.ExamplePage(url=url_of(1), body=body_of(1), content_type="text/html")
    crawl = new_crawl(examples=[example])
    ingest(server, crawl, *PAGES)
    got = suggest(server, crawl)
    assert set(kinds(got)) == {"board", "member"}
    assert all(e.HasField("likeness") and 0.0 <= e.likeness <= 1.0 for e in got.examples)


def test_a_site_goes_by_host_or_a_url_of_it_or_resource_name(server: Stubs, crawl: str) -> None:
    name = ingest(server, crawl, *PAGES)[0].site
    found = [suggest(server, crawl, site=site) for site in (HOST, f"http://{HOST}/x/1", name, "")]
    assert found == found[:1] * 4
    assert len(suggest(server, crawl, max_results=1).examples) == 1


def test_a_policy_that_learns_from_no_examples_asks_nothing(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl(policy=BREADTH)
    ingest(server, crawl, *PAGES)
    got = suggest(server, crawl)
    assert (got.policy, list(got.examples)) == ("breadth_first", [])


def test_a_crawl_without_pages_suggests_nothing(server: Stubs, crawl: str) -> None:
    assert not suggest(server, crawl).examples


@pytest.mark.parametrize(
    ("fields", "code", "violation"),
    [
        ({"max_results": 101}, grpc.StatusCode.INVALID_ARGUMENT, {"max_results"}),
        ({"site": "crawls/other/sites/h"}, grpc.StatusCode.INVALID_ARGUMENT, {"site"}),
        ({"site": "x" * 1_025}, grpc.StatusCode.INVALID_ARGUMENT, {"site"}),
        ({"site": "no-such.test"}, grpc.StatusCode.NOT_FOUND, set()),
    ],
)
def test_bad_questions_are_refused(
    server: Stubs, crawl: str, fields: dict[str, Any], code: grpc.StatusCode, violation: set[str]
) -> None:
    told = refusal(lambda: suggest(server, crawl, **fields))
    assert (told.code, set(told.violations)) == (code, violation)
