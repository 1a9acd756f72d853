"""Calls about a crawl, as tests of a server make them."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.field_mask_pb2 import FieldMask

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
from support.small_site import ROOT, page

OK, DUPLICATE, BAD, PARTIAL = (
    common.ITEM_CODE_OK,
    common.ITEM_CODE_DUPLICATE,
    common.ITEM_CODE_INVALID,
    common.ITEM_CODE_PARTIAL,
)
CRAWL = "crawls/life"
INVALID = grpc.StatusCode.INVALID_ARGUMENT
UCC = policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams())
BREADTH = policy_pb2.PolicySpec(breadth_first=policy_pb2.BreadthFirstParams())


def create(server: Stubs, name: str, **config: Any) -> crawl_pb.Crawl:
    crawl = crawl_pb.Crawl(name=name, **config)
    return server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl)).crawl


def ingest(server: Stubs, crawl: str, *pages: common.Page | int, **more: Any) -> list[pb.PageResult]:
    """Hand over pages, of the small site where a number is given."""
    sent = [page(one) if isinstance(one, int) else one for one in pages]
    return list(server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=sent, **more)).results)


def fetched(url: str = f"{ROOT}/x", **fields: Any) -> common.Page:
    return common.Page(
        **{"url": url, "status_code": 200, "content_type": "text/html", "body": b"<p>x", **fields}
    )


def problem(result: pb.PageResult) -> tuple[str, str]:
    (found,) = result.status.problems
    return found.field, found.reason


def score(server: Stubs, crawl: str, *links: str | tuple[str, bytes], **more: Any) -> pb.ScoreLinksResponse:
    pairs = [(link, b"") if isinstance(link, str) else link for link in links]
    candidates = [pb.CandidateLink(url=url, ticket=ticket) for url, ticket in pairs]
    return server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=crawl, links=candidates, **more))


def report(server: Stubs, crawl: str, *feedback: pb.Feedback) -> list[common.ItemStatus]:
    return list(
        server.links.ReportFeedback(pb.ReportFeedbackRequest(crawl=crawl, feedback=feedback)).statuses
    )


def described(server: Stubs, crawl: str) -> crawl_pb.Crawl:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl


def change(server: Stubs, crawl: str, **fields: Any) -> crawl_pb.Crawl:
    """Change the fields that are named, and no other; None takes one away."""
    changed = crawl_pb.Crawl(name=crawl, **fields)
    request = crawl_pb.UpdateCrawlRequest(crawl=changed, update_mask=FieldMask(paths=list(fields)))
    return server.crawls.UpdateCrawl(request).crawl
