"""What light calls wait beside a heavy neighbour: ``python -m benchmarks.neighbours [--seconds 10]``.

The neighbour makes 12 calls at a time, each of 500 small pages, to a crawl of its own, or to ten crawls in
turn; refused calls come back at once. The light caller sends a page, asks for buckets and for its crawl, one
after the other, alone and beside it. A row says how many of the light calls were refused, their latency, what
the neighbour brought in, and what it brings in alone. Callers and server share the processors of one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import quantiles

import grpc

from benchmarks.servers import Server, create_crawl, linkscore
from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb

CALLS, PAGES = 12, 500
"""Calls of the neighbour at a time, and pages of each."""

CRAWLS = (1, 10)
"""Crawls that the neighbour has."""

DEADLINE_S = 60.0
COLUMNS = ("neighbour", "light calls", "refused", "p50", "p99", "pages/s of the neighbour", "its refusals")


@dataclass(slots=True)
class Phase:
    """What came of the calls of one caller."""

    codes: Counter[str] = field(default_factory=Counter)
    took_s: list[float] = field(default_factory=list)
    seconds: float = 0.0

    async def call(self, made: grpc.aio.UnaryUnaryCall) -> None:
        """Await a call and note how it ended."""
        started = time.perf_counter()
        try:
            await made
            self.codes["OK"] += 1
        except grpc.aio.AioRpcError as error:
            self.codes[error.code().name] += 1
        self.took_s.append(time.perf_counter() - started)

    @property
    def refused(self) -> int:
        """Calls that were not answered."""
        return self.codes.total() - self.codes["OK"]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="length of each row")
    asyncio.run(measure(parser.parse_args().seconds))


async def measure(seconds: float) -> None:
    """Print a row alone, and one for each neighbour."""
    print(f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", sep="\n")
    with linkscore(native=True) as server:
        print(row("none", await light_calls(server, "alone", seconds), Phase()), flush=True)
    for crawls in CRAWLS:
        with linkscore(native=True) as server:
            heavy = await heavy_calls(server, crawls, seconds)
            print(row(f"{crawls} crawls, alone", Phase(), heavy), flush=True)
        with linkscore(native=True) as server:
            beside = asyncio.create_task(heavy_calls(server, crawls, seconds + 2))
            await asyncio.sleep(2)
            light = await light_calls(server, "light", seconds)
            print(row(f"{crawls} crawls", light, await beside), flush=True)


async def light_calls(server: Server, name: str, seconds: float) -> Phase:
    """Make small calls about a crawl, one after the other."""
    crawl, phase, started = create_crawl(server, name), Phase(), time.perf_counter()
    rank = pb.RankBucketsRequest(crawl=crawl, n=10).SerializeToString()
    get = crawl_service_pb2.GetCrawlRequest(name=crawl).SerializeToString()
    async with grpc.aio.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        for n in itertools.count():
            if time.perf_counter() - started > seconds:
                break
            for method, raw in (
                ("LinkScoringService/IngestPages", small_pages(crawl, n, 1)),
                ("LinkScoringService/RankBuckets", rank),
                ("CrawlService/GetCrawl", get),
            ):
                await phase.call(channel.unary_unary(f"/linkscore.v1.{method}")(raw, timeout=DEADLINE_S))
            await asyncio.sleep(0.02)
    phase.seconds = time.perf_counter() - started
    return phase


async def heavy_calls(server: Server, crawls: int, seconds: float) -> Phase:
    """Make large calls, as many at a time as the neighbour does."""
    names = [create_crawl(server, f"heavy-{n}") for n in range(crawls)]
    phase, started = Phase(), time.perf_counter()
    requests: Iterator[bytes] = (small_pages(names[n % crawls], n, PAGES) for n in itertools.count())

    async def caller() -> None:
        while time.perf_counter() - started < seconds:
            await phase.call(call(next(requests), timeout=DEADLINE_S))

    async with grpc.aio.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_unary("/linkscore.v1.LinkScoringService/IngestPages")
        await asyncio.gather(*(caller() for _ in range(CALLS)))
    phase.seconds = time.perf_counter() - started
    return phase


def small_pages(crawl: str, call: int, pages: int) -> bytes:
    """Return a request of pages that are new, each some 1 KB with ten links."""
    links = "".join(f'<li><a href="/thread/{call}-{n}">thread {n}</a></li>' for n in range(10))
    body = f"<html><title>t</title><body><h1>list</h1><ul>{links}</ul><p>text of a page</p>".encode()
    return pb.IngestPagesRequest(
        crawl=crawl,
        pages=[
            common_pb2.Page(
                url=f"https://h.test/list/{call}-{n}", status_code=200, content_type="text/html", body=body
            )
            for n in range(pages)
        ],
    ).SerializeToString()


def row(neighbour: str, light: Phase, heavy: Phase) -> str:
    """Return a line of the table."""
    took = quantiles(light.took_s, n=100, method="inclusive") if light.took_s else [0.0] * 99
    rate = heavy.codes["OK"] * PAGES / heavy.seconds if heavy.seconds else 0.0
    cells = (
        neighbour,
        str(light.codes.total()),
        str(light.refused),
        f"{took[49] * 1e3:.0f} ms",
        f"{took[98] * 1e3:.0f} ms",
        f"{rate:.0f}",
        str(heavy.refused),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
