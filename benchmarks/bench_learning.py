"""What learning a site costs, and what requests notice while that runs beside them.

Cost a page is CPU of all learnings of a site, those at 200, 400, 800 and 1,600 pages, spread over its
pages. They run in a process of their own, as beside a server; starting it, some .5 s once, is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice, product

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
from linkscore_scoring.engine.events import ModelActivated, PageFetched
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.kernels import KERNELS, PURE
from linkscore_scoring.site import learning
from linkscore_scoring.site.learning import LearningConfig
from linkscore_scoring.urls.identity import identity
from linkscore_server.child_processes import child_processes

PAGES = 1_650
TARGET_MS, TARGET_UNASKED_MS = 0.5, 0.0
TARGET_P99_MS = 200.0
_COSTED = "qa_q2a"
_BESIDE, _ALONE, _LEARNINGS = 1_700, 80, 3


def run(corpus: Corpus) -> list[Row]:
    """Return CPU of learning a page, seconds by sample size, and latencies of IngestPages beside it."""
    costed = _COSTED if _COSTED in corpus.names else corpus.names[0]
    return [*_costs(corpus, costed), *_latencies(corpus, corpus.names[0])]


def _costs(corpus: Corpus, site: str) -> Iterator[Row]:
    for name, config, target in (
        ("always", LearningConfig(), TARGET_MS),
        ("on demand, not asked", LearningConfig(on_demand=True), TARGET_UNASKED_MS),
    ):
        spent = _learnings(corpus, site, config)
        for pages, cpu_s in spent.items():
            yield Row(f"Learning, {pages} pages", site, cpu_s, "s CPU")
        per_page = sum(spent.values()) / len(corpus.pages(site, PAGES)) * 1e3
        yield Row(f"Learning, {name}", site, per_page, "ms CPU/page", target=target)


def _learnings(corpus: Corpus, site: str, config: LearningConfig) -> dict[int, float]:
    """Return CPU seconds of each learning of a site, by the pages learned from."""
    model, extractor = CrawlModel(CrawlConfig("bench", learning=config), ticket_key=b"key"), Extractor()
    spent: dict[int, float] = {}
    with child_processes(1) as process:
        for seq, page in enumerate(corpus.pages(site, PAGES), 1):
            features = extractor.extract(page.body, url=page.url, content_type=page.content_type)
            name = model.site_of(page.url)
            key = identity(page.url)
            model.apply(seq, PageFetched("", name, page.url, key, 200, "", b"", 0.0, features))
            for job in model.take_jobs():
                learned, spent[len(job.pages)] = process.submit(_learned, job).result()
                model.apply(seq, ModelActivated(job.site, job.built_from_seq, {}), learned)
    return spent


def _learned(job: learning.LearningJob) -> tuple[learning.LearnedSite, float]:
    before = time.process_time()
    learned = learning.run(job)
    return learned, time.process_time() - before


def _latencies(corpus: Corpus, site: str) -> Iterator[Row]:
    for native, processes in product([False, True] if KERNELS is not PURE else [False], (1, 0)):
        reader = ", compiled reader" if native else ""
        alone, beside = _measured(corpus, site, native=native, processes=processes)
        if processes:
            yield Row(f"IngestPages latency{reader}, median", site, _quantile(alone, 0.5), "ms")
            yield Row(f"IngestPages latency{reader}, p99", site, _quantile(alone, 0.99), "ms")
        where = f"beside learning in {'a process' if processes else 'the server'}{reader}"
        yield Row(f"the same {where}, median", site, _quantile(beside, 0.5), "ms")
        p99 = _quantile(beside, 0.99)
        yield Row(f"the same {where}, p99 of {len(beside)}", site, p99, "ms", target=TARGET_P99_MS)


def _measured(corpus: Corpus, site: str, *, native: bool, processes: int) -> tuple[list[float], list[float]]:
    """Return seconds of calls with one page: alone, and while the site is learned from all its pages."""
    pages = corpus.pages(site, _BESIDE + 5 * _ALONE)
    n = min(_BESIDE, 3 * len(pages) // 4)
    with linkscore(native=native, flags=["--learning-processes", str(processes)]) as server:
        crawl = create_crawl(server, site)
        ingest(server, crawl, pages[:n], 10)
        await_learned(server, crawl)
        call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
        requests = (pb.IngestPagesRequest(crawl=crawl, pages=[message(page)]) for page in pages[n:])
        alone = [_seconds_of(call, request) for request in islice(requests, _ALONE)]
        sites = site_pb_grpc.SiteModelServiceStub(server.channel)
        name = sites.ListSites(site_pb.ListSitesRequest(crawl=crawl)).sites[0].name
        beside: list[float] = []
        for _ in range(_LEARNINGS):
            learned = sites.LearnSite.future(site_pb.LearnSiteRequest(name=name))
            while not learned.done() and (request := next(requests, None)) is not None:
                beside.append(_seconds_of(call, request))
            learned.result()
    return alone, beside


def _quantile(seconds: list[float], q: float) -> float:
    return 1e3 * float(np.quantile(seconds, q))


def _seconds_of(call: pb_grpc.LinkScoringServiceStub, request: pb.IngestPagesRequest) -> float:
    started = time.perf_counter()
    call(request)
    return time.perf_counter() - started
