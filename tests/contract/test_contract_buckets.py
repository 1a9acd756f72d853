"""RankBuckets: the order of the buckets that are not empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore.messages import policy_spec
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.crawl_calls import described, ingest
from support.server_process import Stubs


def test_buckets_are_ordered_by_value_and_ties_by_request(server: Stubs, crawl: str) -> None:
    names = list(dict.fromkeys(b for r in ingest(server, crawl, *range(30)) for b in r.links.bucket_names))
    names += ["no-such.test/x", "", "no-such.test/y"]
    got = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names))
    assert sorted(got.order) == list(range(len(names)))
    assert list(got.values) == sorted(got.values, reverse=True)
    ties = [row for row, value in zip(got.order, got.values, strict=True) if value == 0.0]
    assert ties == sorted(ties)
    assert (got.policy, got.event_seq) == ("harvest", described(server, crawl).event_seq)


@pytest.mark.parametrize("policy", ["harvest", "uniform_random", "in_degree", "anthelion"])
def test_answers_carry_the_value_that_ranking_gives_a_bucket_now(
    server: Stubs, new_crawl: Callable[..., str], policy: str
) -> None:
    crawl = new_crawl(policy=policy_spec(policy), groups=1)
    ingest(server, crawl, *range(20))
    page = ingest(server, crawl, 21)[0].links
    names, said = list(page.bucket_names), list(page.bucket_values)
    ranked = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=names))
    values = {names[at]: value for at, value in zip(ranked.order, ranked.values, strict=True)}
    assert said == pytest.approx([values[name] for name in names])
    links = [pb.CandidateLink(url=url) for url in page.urls]
    again = server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=crawl, links=links)).links
    ranked = server.links.RankBuckets(pb.RankBucketsRequest(crawl=crawl, buckets=again.bucket_names))
    values = {again.bucket_names[at]: value for at, value in zip(ranked.order, ranked.values, strict=True)}
    assert list(again.bucket_values) == pytest.approx([values[name] for name in again.bucket_names])
