"""RankBuckets: the order of the buckets that are not empty."""

from __future__ import annotations

from link_calls import BREADTH, event_seq, ingest
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from server_process import Stubs


def test_buckets_are_ordered_by_value_and_ties_by_request(server: Stubs, crawl: str) -> None:
    names = list(dict.fromkeys(b for r in ingest(server, crawl, *range(30)) for b in r.links.bucket_names))
    names += ["no-such.test/x", "", "no-such.test/y"]
    got = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names))
    assert sorted(got.order) == list(range(len(names)))
    assert list(got.values) == sorted(got.values, reverse=True)
    ties = [row for row, value in zip(got.order, got.values, strict=True) if value == 0.0]
    assert ties == sorted(ties)
    assert (got.policy, got.event_seq) == ("harvest", event_seq(server, crawl))


def test_only_the_best_buckets_are_returned_when_asked(server: Stubs, crawl: str) -> None:
    names = list(ingest(server, crawl, 0)[0].links.bucket_names)
    every = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names, policy=BREADTH))
    best = server.links.RankBuckets(
        pb.RankBucketsRequest(crawl=crawl, buckets=names, policy=BREADTH, max_results=1)
    )
    assert list(best.order) == list(every.order)[:1]
    assert list(best.values) == list(every.values)[:1]
