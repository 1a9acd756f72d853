"""How long a site takes to be learned, and what requests notice while that runs beside them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from benchmarks.bench_ingest import await_learned, ingest
from benchmarks.pages import Corpus, message
from benchmarks.servers import create_crawl, linkscore
from benchmarks.table import Row
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore.v1 import site_model_service_pb2_grpc as site_pb_grpc
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.site import learning
from linkscore_scoring.urls.identity import identity

SIZES = (200, 800, 2000)
TARGET_P99_MS = 200.0
_BESIDE = 1700


def run(corpus: Corpus) -> list[Row]:
    """Return seconds of learning by sample size, and latencies of IngestPages alone and beside a learning."""
    site = corpus.names[0]
    return [*_seconds(corpus, site), *_latencies(corpus, site)]


def _seconds(corpus: Corpus, site: str) -> Iterator[Row]:
    pages = corpus.pages(site, SIZES[-1])
    model, extractor = CrawlModel(CrawlConfig("bench"), ticket_key=b"key"), Extractor()
    for seq, page in enumerate(pages, 1):
        features = extractor.extract(page.body, url=page.url, content_type=page.content_type)
        name = model.site_of(page.url)
        model.apply(seq, PageFetched("", name, page.url, identity(page.url), 200, "", b"", 0.0, features))
        if seq in SIZES or seq == len(pages):
            known = model.shard(name).model
            job = replace(known.job(), pages=list(known.sample))
            started = time.perf_counter()
            learning.run(job)
            yield Row(f"Learning, {len(job.pages)} pages", site, time.perf_counter() - started, "s")


def _latencies(corpus: Corpus, site: str) -> Iterator[Row]:
    pages = corpus.pages(site, SIZES[-1])
    n = min(_BESIDE, 3 * len(pages) // 4)
    with linkscore() as server:
        crawl = create_crawl(server, site)
        ingest(server, crawl, pages[:n], 10)
        await_learned(server, crawl)
        call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
        requests = (pb.IngestPagesRequest(crawl=crawl, pages=[message(page)]) for page in pages[n:])
        alone = [_seconds_of(call, request) for request in islice(requests, 80)]
        sites = site_pb_grpc.SiteModelServiceStub(server.channel)
        name = sites.ListSites(site_pb.ListSitesRequest(crawl=crawl)).sites[0].name
        beside: list[float] = []
        for _ in range(3):
            learned = sites.LearnSite.future(site_pb.LearnSiteRequest(name=name))
            while not learned.done() and (request := next(requests, None)) is not None:
                beside.append(_seconds_of(call, request))
            learned.result()
    yield Row("IngestPages latency, median", site, 1e3 * float(np.median(alone)), "ms")
    yield Row("IngestPages latency, p99", site, 1e3 * float(np.quantile(alone, 0.99)), "ms")
    yield Row("the same while learning, median", site, 1e3 * float(np.median(beside)), "ms")
    p99 = 1e3 * float(np.quantile(beside, 0.99))
    yield Row(f"the same while learning, p99 of {len(beside)}", site, p99, "ms", target=TARGET_P99_MS)


def _seconds_of(call: pb_grpc.LinkScoringServiceStub, request: pb.IngestPagesRequest) -> float:
    started = time.perf_counter()
    call(request)
    return time.perf_counter() - started
