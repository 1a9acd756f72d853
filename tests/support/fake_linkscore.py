"""A linkscore server small enough to predict: real gRPC on loopback, answers made from two tables."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urljoin, urlsplit

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from linkscore.v1 import (
    common_pb2,
    crawl_service_pb2,
    crawl_service_pb2_grpc,
    link_scoring_service_pb2,
    link_scoring_service_pb2_grpc,
    site_model_service_pb2,
    site_model_service_pb2_grpc,
)

HREF = re.compile(rb'href="([^"]+)"')


def refuse(context: grpc.ServicerContext, code: grpc.StatusCode, message: str, *details: object) -> None:
    """End the call with a rich error."""
    packed = [any_pb2.Any() for _ in details]
    for holder, detail in zip(packed, details, strict=True):
        holder.Pack(detail)
    context.abort_with_status(
        rpc_status.to_status(status_pb2.Status(code=code.value[0], message=message, details=packed))
    )


def first_segment(url: str) -> str:
    """Bucket of a URL in this fake: its first path segment."""
    return urlsplit(url).path.split("/")[1] or "home"


class FakeLinkscore(
    link_scoring_service_pb2_grpc.LinkScoringServiceServicer,
    crawl_service_pb2_grpc.CrawlServiceServicer,
    site_model_service_pb2_grpc.SiteModelServiceServicer,
):
    """Scores a link by the value of its bucket; `values` may be changed at any time."""

    def __init__(self, values: dict[str, float] | None = None) -> None:
        self.values = values or {}
        self.bucket_of: Callable[[str], str] = first_segment
        self.buckets_on: dict[tuple[str, str], str] = {}
        self.crawls: dict[str, crawl_service_pb2.Crawl] = {}
        self.pages: list[common_pb2.Page] = []
        self.feedback: list[link_scoring_service_pb2.Feedback] = []
        self.ranked: list[list[str]] = []
        self.in_flight: list[dict[str, int]] = []
        self.scored: list[str] = []
        self.standing: link_scoring_service_pb2.Standing | None = None
        self.skips: dict[str, int] = {}
        self.calls: Counter[str] = Counter()
        self.failures: dict[str, list[grpc.StatusCode]] = {}
        self.failure_details: list[object] = []
        self.refuses: dict[str, grpc.StatusCode] = {}
        self.hang = threading.Event()
        self.spoil: Callable[[Any], None] = lambda answer: None
        self.port = 0

    def _enter(self, name: str, context: grpc.ServicerContext) -> None:
        self.calls[name] += 1
        if self.hang.is_set():
            while context.is_active() and self.hang.wait(0.02):
                threading.Event().wait(0.02)
        if name in self.refuses:
            refuse(context, self.refuses[name], "told to refuse", *self.failure_details)
        if self.failures.get(name):
            refuse(context, self.failures[name].pop(0), "told to fail", *self.failure_details)

    def _known(self, name: str, context: grpc.ServicerContext) -> None:
        if name not in self.crawls:
            info = error_details_pb2.ErrorInfo(reason="CRAWL_NOT_FOUND", domain="linkscore")
            refuse(context, grpc.StatusCode.NOT_FOUND, f"no crawl {name}", info)

    def _spoiled(self, answer: Any) -> Any:
        self.spoil(answer)
        return answer

    def value(self, bucket: str) -> float:
        return self.values.get(bucket, 0.5)

    def _links(self, urls: list[str], source: str = "") -> common_pb2.LinkScores:
        buckets = [self.buckets_on.get((source, u)) or self.bucket_of(u) for u in urls]
        names = sorted(set(buckets))
        values = [self.value(b) for b in buckets]
        return common_pb2.LinkScores(
            urls=urls,
            scores=values,
            buckets=[names.index(b) for b in buckets],
            bucket_names=names,
            bucket_values=map(self.value, names),
            tickets=range(len(urls)),
            ticket_values=[f"t:{u}".encode()[-64:] for u in urls],
        )

    def _result(self, page: common_pb2.Page) -> link_scoring_service_pb2.PageResult:
        self.pages.append(page)
        base = page.final_url or page.url
        found = [link.url for link in page.outlinks] or [h.decode() for h in HREF.findall(page.body)]
        urls = [urljoin(base, href) for href in found]
        is_thread = first_segment(base) == "thread"
        return link_scoring_service_pb2.PageResult(
            page_type=common_pb2.PAGE_TYPE_THREAD if is_thread else common_pb2.PAGE_TYPE_UNSPECIFIED,
            thread_id=base.partition("?")[0] if is_thread else "",
            status=common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_OK),
            links=self._links(urls, urlsplit(base).path),
            event_seq=len(self.pages),
            site=f"crawls/c/sites/{self.bucket_of(page.url)}",
            standing=self.standing,
        )

    def IngestPages(self, request, context):
        self._enter("IngestPages", context)
        self._known(request.crawl, context)
        results = [self._result(page) for page in request.pages]
        return self._spoiled(link_scoring_service_pb2.IngestPagesResponse(results=results, policy="fake"))

    def ScoreLinks(self, request, context):
        self._enter("ScoreLinks", context)
        urls = [link.url for link in request.links]
        self.scored += urls
        links = self._links(urls)
        del links.urls[:]
        if any(url in self.skips for url in urls):
            links.skip_reasons.extend(self.skips.get(url, 0) for url in urls)
        told = [link_scoring_service_pb2.LinkExplanation(url=link.url) for link in request.links]
        return self._spoiled(
            link_scoring_service_pb2.ScoreLinksResponse(
                links=links, policy="fake", explanations=told if request.explain else []
            )
        )

    def RankBuckets(self, request, context):
        self._enter("RankBuckets", context)
        names = list(request.buckets)
        self.ranked.append(names)
        self.in_flight.append({entry.bucket: entry.count for entry in request.in_flight})
        order = sorted(range(len(names)), key=lambda i: -self.value(names[i]))
        urls, left = [], request.n
        for i in order if request.n else ():
            urls.append(min(left, request.waiting[i]) if request.waiting else left)
            left -= urls[-1]
        return self._spoiled(
            link_scoring_service_pb2.RankBucketsResponse(
                order=order, values=[self.value(names[i]) for i in order], policy="fake", urls=urls
            )
        )

    def ReportFeedback(self, request, context):
        self._enter("ReportFeedback", context)
        self.feedback += request.feedback
        ok = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_OK)
        return link_scoring_service_pb2.ReportFeedbackResponse(statuses=[ok] * len(request.feedback))

    def CreateCrawl(self, request, context):
        self._enter("CreateCrawl", context)
        there = self.crawls.setdefault(request.crawl.name, request.crawl)
        if there != request.crawl:
            info = error_details_pb2.ErrorInfo(reason="CRAWL_EXISTS", domain="linkscore")
            refuse(context, grpc.StatusCode.ALREADY_EXISTS, "another configuration", info)
        return crawl_service_pb2.CreateCrawlResponse(crawl=there)

    def GetCrawl(self, request, context):
        self._enter("GetCrawl", context)
        self._known(request.name, context)
        activity = crawl_service_pb2.Activity(site_count=1)
        return crawl_service_pb2.GetCrawlResponse(
            crawl=self.crawls[request.name], server_version="9.9", activity=activity
        )

    def ListCrawls(self, request, context):
        self._enter("ListCrawls", context)
        names = sorted(self.crawls)
        start, size = int(request.page_token or 0), request.page_size or 100
        more = str(start + size) if start + size < len(names) else ""
        chosen = [self.crawls[n] for n in names[start : start + size]]
        return crawl_service_pb2.ListCrawlsResponse(crawls=chosen, next_page_token=more)

    def UpdateCrawl(self, request, context):
        self._enter("UpdateCrawl", context)
        for path in request.update_mask.paths or [field.name for field, _ in request.crawl.ListFields()]:
            if path == "examples":
                there = self.crawls[request.crawl.name].examples
                there.extend([example for example in request.crawl.examples if example not in there])
            elif path == "respect":
                self.crawls[request.crawl.name].respect[:] = request.crawl.respect
            elif path in {"policy", "wanted", "budget", "copies", "revisit"}:
                getattr(self.crawls[request.crawl.name], path).CopyFrom(getattr(request.crawl, path))
        return crawl_service_pb2.UpdateCrawlResponse(crawl=self.crawls[request.crawl.name])

    def SuggestSeeds(self, request, context):
        self._enter("SuggestSeeds", context)
        count = request.max_results or 2
        seeds = [site_model_service_pb2.Seed(url=f"http://{request.site}/{n}") for n in range(count)]
        return site_model_service_pb2.SuggestSeedsResponse(seeds=seeds, policy="focus")


def serve(fake: FakeLinkscore, port: int = 0) -> Iterator[FakeLinkscore]:
    """Serve the fake until the generator is closed; sets `fake.port`."""
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    link_scoring_service_pb2_grpc.add_LinkScoringServiceServicer_to_server(fake, server)
    crawl_service_pb2_grpc.add_CrawlServiceServicer_to_server(fake, server)
    site_model_service_pb2_grpc.add_SiteModelServiceServicer_to_server(fake, server)
    fake.port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield fake
    finally:
        fake.hang.clear()
        server.stop(0).wait()
