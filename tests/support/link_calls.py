"""Calls of the link scoring service, as contract tests make them."""

from __future__ import annotations

from typing import Any

import grpc

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from support.server_process import Stubs
from support.small_site import page

INVALID = grpc.StatusCode.INVALID_ARGUMENT
OK, DUPLICATE, BAD = common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE, common.ITEM_CODE_INVALID
UCC = policy_pb2.PolicySpec(source_ucc=policy_pb2.SourceUccParams())
BREADTH = policy_pb2.PolicySpec(breadth_first=policy_pb2.BreadthFirstParams())


def ingest(server: Stubs, crawl: str, *numbers: int) -> list[pb.PageResult]:
    request = pb.IngestPagesRequest(crawl=crawl, pages=[page(n) for n in numbers])
    return list(server.links.IngestPages(request).results)


def score(server: Stubs, crawl: str, *links: str | tuple[str, bytes], **more: Any) -> pb.ScoreLinksResponse:
    pairs = [(link, b"") if isinstance(link, str) else link for link in links]
    candidates = [pb.CandidateLink(url=url, ticket=ticket) for url, ticket in pairs]
    return server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=crawl, links=candidates, **more))


def report(server: Stubs, crawl: str, *feedback: pb.Feedback) -> list[common.ItemStatus]:
    return list(
        server.links.ReportFeedback(pb.ReportFeedbackRequest(crawl=crawl, feedback=feedback)).statuses
    )


def event_seq(server: Stubs, crawl: str) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.event_seq
