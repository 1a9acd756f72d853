"""RankBuckets with fetches under way: how many links of each bucket to fetch before asking again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from linkscore.v1 import link_scoring_service_pb2 as pb
from support.crawl_calls import BREADTH, INVALID, described, ingest
from support.server_process import Stubs, refusal


def rank(server: Stubs, crawl: str, *buckets: str, **more: Any) -> pb.RankBucketsResponse:
    return server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=buckets, **more))


def under_way(bucket: str, count: int | None = None) -> pb.BucketInFlight:
    return pb.BucketInFlight(bucket=bucket, count=count)


@pytest.fixture
def buckets(server: Stubs, crawl: str) -> list[str]:
    return sorted({name for page in ingest(server, crawl, *range(10)) for name in page.links.bucket_names})


def test_one_place_goes_to_the_first_of_the_order(server: Stubs, crawl: str, buckets: list[str]) -> None:
    plain, planned = rank(server, crawl, *buckets), rank(server, crawl, *buckets, n=1)
    assert list(plain.urls) == []
    assert list(planned.urls) == [1] + [0] * (len(buckets) - 1)
    assert (planned.order, planned.values) == (plain.order, plain.values)
    assert (planned.policy, planned.event_seq) == ("harvest", described(server, crawl).event_seq)


def test_no_more_is_handed_out_than_waits(server: Stubs, crawl: str, buckets: list[str]) -> None:
    waiting = [2] * len(buckets)
    got = rank(server, crawl, *buckets, n=9_999, waiting=waiting, fill=True)
    assert set(got.urls) == {2}
    assert sum(rank(server, crawl, *buckets, n=3, waiting=waiting, fill=True).urls) == 3


def test_the_same_question_has_the_same_answer(server: Stubs, crawl: str, buckets: list[str]) -> None:
    asked = {"n": 5, "in_flight": [under_way(buckets[0], 3), under_way("gone.test/h1.1")]}
    assert rank(server, crawl, *buckets, **asked) == rank(server, crawl, *buckets, **asked)


def test_what_is_under_way_counts_against_its_bucket(server: Stubs, crawl: str, buckets: list[str]) -> None:
    before = rank(server, crawl, *buckets[:1]).values[0]
    assert rank(server, crawl, *buckets[:1], in_flight=[under_way(buckets[0], 5)]).values[0] < before


def test_a_policy_that_does_not_learn_fills_every_place(server: Stubs, new_crawl: Callable[..., str]) -> None:
    crawl = new_crawl(policy=BREADTH)
    buckets = list(ingest(server, crawl, 0)[0].links.bucket_names)
    got = rank(server, crawl, *buckets, n=50, in_flight=[under_way(buckets[0], 900)])
    assert sum(got.urls) == 50


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"n": 10_001}, {"n"}),
        ({"waiting": [1]}, {"waiting"}),
        ({"in_flight": [under_way("")]}, {"in_flight[0].bucket"}),
        ({"in_flight": [under_way("a"), under_way("a")]}, {"in_flight[1].bucket"}),
        ({"in_flight": [under_way("a", 1_000_001)]}, {"in_flight[0].count"}),
        ({"in_flight": [under_way(f"{n}") for n in range(10_001)]}, {"in_flight"}),
    ],
)
def test_counts_out_of_range_are_named(
    server: Stubs, crawl: str, fields: dict[str, Any], named: set[str]
) -> None:
    told = refusal(lambda: rank(server, crawl, "a", "b", **fields))
    assert (told.code, set(told.violations)) == (INVALID, named)
