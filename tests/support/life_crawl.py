"""A crawl by which tests see whether a server lives."""

from __future__ import annotations

from grpc_health.v1 import health_pb2

from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from support.server_process import Stubs
from support.small_site import page

CRAWL = "crawls/life"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def create(server: Stubs) -> None:
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))


def ingest(server: Stubs, *numbers: int) -> list[pb.PageResult]:
    request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n) for n in numbers])
    return list(server.links.IngestPages(request).results)


def page_count(server: Stubs) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL)).crawl.page_count
