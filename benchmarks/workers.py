"""One process beside several on one crawl: ``python -m benchmarks.workers [--folder DIR] [--rounds 3]``.

Pages of stored sites, each under several host names, sent by callers that wait for their answers. Rows are
arrangements, measured in turn in each round, medians of the rounds: pages a second, and CPU of all processes
of the server a page. Callers share the processors with the server, as everything is on loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import grpc

from benchmarks.pages import Corpus, message
from benchmarks.servers import Server, create_crawl, linkscore
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb

HOSTS = 4
"""Names under which each stored site is crawled."""
PAGES = 160
"""Pages of each: of 32 what the first calls of a process load was half of the cost."""
CALLERS = 8
"""Calls under way: enough to keep two processes at work."""
_INGEST = "/linkscore.v1.LinkScoringService/IngestPages"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is measured: processes, groups of the crawl, pages of a call, and whether they are of one site."""

    workers: int
    groups: int
    pages: int
    of_one_site: bool

    def __str__(self) -> str:
        sites = "one site" if self.of_one_site else "all sites"
        return f"{self.workers} | {self.groups} | {self.pages} of {sites}"


ARRANGEMENTS = tuple(
    Arrangement(workers, groups, pages, of_one_site)
    for pages, of_one_site in ((1, True), (10, True), (16, False))
    for workers, groups in ((1, 1), (1, 8), (2, 8))
)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("corpora"), help="stored sites")
    parser.add_argument("--native", action="store_true", help="pages are read by the compiled reader")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    sites = list(sites_of(Corpus(given.folder)))
    found: dict[Arrangement, list[tuple[float, float]]] = {each: [] for each in ARRANGEMENTS}
    for _ in range(given.rounds):
        for each in ARRANGEMENTS:
            found[each].append(measured(each, sites, native=given.native))
    print(f"{len(sites)} sites of {PAGES} pages, {CALLERS} callers, {os.cpu_count()} processors\n")
    print(
        "| workers | groups | pages of a call | pages/s | CPU ms a page |", "|---|---|---|---|---|", sep="\n"
    )
    for each, rounds in found.items():
        rates, costs = zip(*rounds, strict=True)
        print(f"| {each} | {median(rates):.0f} | {median(costs):.1f} |")


def sites_of(corpus: Corpus) -> Iterator[list[common_pb2.Page]]:
    """Yield the pages of each site."""
    for name in corpus.names:
        pages = [message(page) for page in corpus.pages(name, PAGES)]
        host = urlsplit(pages[0].url).netloc
        for number in range(HOSTS):
            yield [_under(page, host, f"h{number}.{host}") for page in pages]


def measured(
    arrangement: Arrangement, sites: list[list[common_pb2.Page]], *, native: bool
) -> tuple[float, float]:
    """Return pages a second, and CPU milliseconds a page."""
    flags = ("--workers", str(arrangement.workers), "--target-delay-s", "60")
    with linkscore(native=native, flags=flags) as server:
        crawl = create_crawl(server, "workers", groups=arrangement.groups)
        requests = [request.SerializeToString() for request in calls(arrangement, crawl, sites)]
        before = cpu_s(server.pid)
        began = time.perf_counter()
        asyncio.run(send(server, requests))
        seconds, n = time.perf_counter() - began, sum(map(len, sites))
        return n / seconds, 1e3 * (cpu_s(server.pid) - before) / n


def calls(
    arrangement: Arrangement, crawl: str, sites: list[list[common_pb2.Page]]
) -> Iterator[pb.IngestPagesRequest]:
    """Yield all pages as calls; sites in turn, pages of each in their order."""
    if arrangement.of_one_site:
        batches = zip(*(_batched(site, arrangement.pages) for site in sites), strict=True)
        groups = itertools.chain.from_iterable(batches)
    else:
        groups = _batched(itertools.chain.from_iterable(zip(*sites, strict=True)), arrangement.pages)
    for pages in groups:
        yield pb.IngestPagesRequest(crawl=crawl, pages=pages)


async def send(server: Server, requests: list[bytes]) -> None:
    """Send requests as fast as answers come, each caller over a connection of its own."""
    waiting = iter(requests)

    async def caller(_: int) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        async with grpc.aio.insecure_channel(server.address, options) as channel:
            ingest = channel.unary_unary(_INGEST)
            for request in waiting:
                await ingest(request)

    await asyncio.gather(*map(caller, range(CALLERS)))


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of those below it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_s(int(child)) for child in children)


def _batched(pages: Iterable[common_pb2.Page], n: int) -> Iterator[list[common_pb2.Page]]:
    rest = iter(pages)
    while batch := list(itertools.islice(rest, n)):
        yield batch


def _under(page: common_pb2.Page, host: str, other: str) -> common_pb2.Page:
    moved = common_pb2.Page()
    moved.CopyFrom(page)
    moved.url = page.url.replace(host, other, 1)
    moved.event_id = f"{other} {page.event_id}"
    moved.body = page.body.replace(host.encode(), other.encode())
    return moved


if __name__ == "__main__":
    main()
