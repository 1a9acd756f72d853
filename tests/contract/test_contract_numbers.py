"""Numbers that are not finite, or so large that sums of them would not be, are refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import grpc
import pytest

from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.life_crawl import CRAWL, create
from support.server_process import Stubs, refusal
from support.small_site import page

Change = Callable[[crawl_service_pb2.Crawl], object]


def hundred_thousand_years(crawl: crawl_service_pb2.Crawl) -> None:
    crawl.revisit.longest_interval.seconds = 2**63 - 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda crawl: setattr(crawl.budget, "fetch_cost", 1e308), "crawl.budget.fetch_cost"),
        (lambda crawl: setattr(crawl.budget, "max_cost", math.inf), "crawl.budget.max_cost"),
        (lambda crawl: setattr(crawl.budget, "max_seconds", math.nan), "crawl.budget.max_seconds"),
        (lambda crawl: setattr(crawl.budget, "max_bytes", 2**64 - 1), "crawl.budget.max_bytes"),
        (lambda crawl: setattr(crawl.revisit, "fetches_per_day", 1e300), "crawl.revisit.fetches_per_day"),
        (hundred_thousand_years, "crawl.revisit.longest_interval"),
    ],
)
def test_a_crawl_with_a_number_beyond_its_bound_is_not_made(
    server: Stubs, change: Change, field: str
) -> None:
    create(server)
    crawl = crawl_service_pb2.Crawl(name="crawls/beyond")
    change(crawl)
    told = refusal(lambda: server.crawls.CreateCrawl(crawl_service_pb2.CreateCrawlRequest(crawl=crawl)))
    assert told.code == grpc.StatusCode.INVALID_ARGUMENT
    assert list(told.violations) == [field]
    assert CRAWL in [
        each.name for each in server.crawls.ListCrawls(crawl_service_pb2.ListCrawlsRequest()).crawls
    ]


def test_a_page_of_more_bytes_than_there_are_is_refused_and_the_rest_of_its_call_counts(
    server: Stubs,
) -> None:
    create(server)
    pages = [page(0), page(1)]
    pages[0].fetched_bytes = 2**64 - 1
    bad, good = server.links.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=pages)).results
    assert bad.status.code == common_pb2.ITEM_CODE_INVALID
    assert [problem.field for problem in bad.status.problems] == ["fetched_bytes"]
    assert good.status.code == common_pb2.ITEM_CODE_OK
