"""Calls that hand pages over, for the contract tests."""

from __future__ import annotations

from typing import Any

import grpc

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    policy_pb2,
)
from support.server_process import Stubs
from support.small_site import ROOT

OK, DUPLICATE, BAD, PARTIAL = (
    common.ITEM_CODE_OK,
    common.ITEM_CODE_DUPLICATE,
    common.ITEM_CODE_INVALID,
    common.ITEM_CODE_PARTIAL,
)
INVALID = grpc.StatusCode.INVALID_ARGUMENT
BREADTH = policy_pb2.PolicySpec(breadth_first=policy_pb2.BreadthFirstParams())


def ingest(server: Stubs, crawl: str, *pages: common.Page, **more: Any) -> list[pb.PageResult]:
    return list(server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=pages, **more)).results)


def fetched(url: str = f"{ROOT}/x", **fields: Any) -> common.Page:
    return common.Page(
        **{"url": url, "status_code": 200, "content_type": "text/html", "body": b"<p>x", **fields}
    )


def page_count(server: Stubs, crawl: str) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.page_count


def problem(result: pb.PageResult) -> tuple[str, str]:
    (found,) = result.status.problems
    return found.field, found.reason
