"""CPU of IngestPages against a bare server that echoes the same bodies and parses them.

Policy `harvest`, all links scored, durable with fdatasync, unary calls. The site is learned from its first
250 pages before the clock starts, so every measured page is classified too; it is never a page seen before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from statistics import median

import msgpack

from benchmarks.bare_server import PARSE
from benchmarks.pages import Corpus, Page, message
from benchmarks.servers import Server, bare, create_crawl, linkscore
from benchmarks.table import Row
from linkscore.v1 import common_pb2, site_model_service_pb2, site_model_service_pb2_grpc
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore.v1.policy_pb2 import PolicySpec
from linkscore_scoring.kernels import KERNELS, PURE

TARGET = 2.5
LEARNED_FROM = 250
"""A site is learned from 200 distinct pages: some addresses redirect or show a page again."""
MEASURED = 180
OTHER_POLICIES = ("focus",)
ROUNDS = 6


def run(corpus: Corpus) -> list[Row]:
    """Return a row for each site, batch size and reader of pages: CPU milliseconds a page."""
    rows = []
    readers = {"": False, ", compiled reader": True} if KERNELS is not PURE else {"": False}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(linkscore(native=native)) for name, native in readers.items()}
        other = stack.enter_context(bare())
        for site in corpus.names:
            pages = corpus.pages(site, LEARNED_FROM + MEASURED)
            for batch, (name, ours) in product((1, 10), servers.items()):
                mine, its = compare(ours, other, site, pages, batch)
                work = f"IngestPages, {batch} a call{name}"
                rows.append(Row(work, site, mine, "ms CPU/page", its, TARGET))
            for policy in OTHER_POLICIES:
                *_, (name, ours) = servers.items()
                mine, its = compare(ours, other, site, pages, 10, policy)
                rows.append(Row(f"IngestPages, 10 a call{name}, {policy}", site, mine, "ms CPU/page", its))
    return rows


def compare(
    ours: Server, other: Server, site: str, pages: Sequence[Page], batch: int, policy: str = "harvest"
) -> tuple[float, float]:
    """Return CPU milliseconds a page of both servers, medians over rounds that alternate between them."""
    crawl = create_crawl(ours, f"{site}-{policy}-{batch}", policy_spec(policy))
    ingest(ours, crawl, pages[:LEARNED_FROM], 10)
    await_learned(ours, crawl)
    measured = pages[LEARNED_FROM:]
    size = len(measured) // ROUNDS // batch * batch
    parts = [measured[at * size : (at + 1) * size] for at in range(ROUNDS)]
    parse(other, measured, batch)
    spent = [
        (
            _cpu_ms(ours, partial(ingest, ours, crawl, part, batch), size),
            _cpu_ms(other, partial(parse, other, part, batch), size),
        )
        for part in parts
    ]
    typical = median(mine / its for mine, its in spent)
    its = median(its for _, its in spent)
    return typical * its, its


def policy_spec(name: str) -> PolicySpec:
    """Return a policy by name, with its defaults."""
    spec = PolicySpec()
    getattr(spec, name).SetInParent()
    return spec


def ingest(server: Server, crawl: str, pages: Sequence[Page], batch: int) -> None:
    """Send pages to linkscore, call by call."""
    call = pb_grpc.LinkScoringServiceStub(server.channel).IngestPages
    for at in range(0, len(pages), batch):
        sent = [message(page) for page in pages[at : at + batch]]
        answer = call(pb.IngestPagesRequest(crawl=crawl, pages=sent))
        assert all(
            r.status.code in (common_pb2.ITEM_CODE_OK, common_pb2.ITEM_CODE_PARTIAL) for r in answer.results
        )


def parse(server: Server, pages: Sequence[Page], batch: int) -> None:
    """Send the bodies of pages to the bare server, call by call."""
    call = server.channel.unary_unary(PARSE)
    for at in range(0, len(pages), batch):
        call(msgpack.packb([page.body for page in pages[at : at + batch]]))


def await_learned(server: Server, crawl: str) -> None:
    """Wait until the sites of a crawl are learned."""
    call = site_model_service_pb2_grpc.SiteModelServiceStub(server.channel).ListSites
    while True:
        sites = call(site_model_service_pb2.ListSitesRequest(crawl=crawl)).sites
        if any(site.stage == common_pb2.SITE_STAGE_READY for site in sites):
            return
        time.sleep(0.1)


def _cpu_ms(server: Server, send: Callable[[], None], pages: int) -> float:
    before = server.cpu_s()
    send()
    return (server.cpu_s() - before) / pages * 1e3
