"""A server under more calls than it can answer: ``python -m benchmarks.overload [--seconds 6]``.

The capacity is measured by callers that wait for their answers, before and after each rate, since a site
that is known better costs more. Calls come at once, twice, four and eight times that rate, whatever the
answers are, each with a deadline, from callers that do not come back. A row says, for each rate: goodput
(pages answered before the deadline) as a share of the mean of both capacities, calls refused and late, the
latency of those answered, of health meanwhile, and the memory of the server. Pages are of a generated forum,
repeated under new URLs. Everything is on loopback; callers and server share the processors.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import quantiles

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.generated_site import site_pages
from benchmarks.servers import Server, create_crawl, linkscore
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb

FACTORS = (1, 2, 4, 8)
PAGES = 20
"""Pages of a call."""

CALLERS = 4
"""Callers that wait for their answers, to measure the capacity."""

DEADLINE_S = 10.0
HEALTH_EVERY_S = 0.02
COLUMNS = (
    "load",
    "capacity",
    "goodput",
    "of capacity",
    "refused",
    "late",
    "answer p50",
    "p99",
    "refusal p50",
    "health p99",
    "RSS",
)
_INGEST = "/linkscore.v1.LinkScoringService/IngestPages"


@dataclass(slots=True)
class Phase:
    """What came of the calls of one rate."""

    seconds: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)
    answered_s: list[float] = field(default_factory=list)
    refused_s: list[float] = field(default_factory=list)

    @property
    def goodput(self) -> float:
        """Pages a second."""
        return len(self.answered_s) * PAGES / self.seconds


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="length of each rate")
    parser.add_argument("--health", nargs=2, metavar=("ADDRESS", "SECONDS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.health:
        print(json.dumps(health_latencies(given.health[0], float(given.health[1]))))
        return
    with linkscore() as server:
        asyncio.run(measure(server, given.seconds))


async def measure(server: Server, seconds: float) -> None:
    """Print a row for each rate."""
    crawl = create_crawl(server, "overload")
    requests = bodies(crawl)
    async with grpc.aio.insecure_channel(server.address) as channel:
        call = channel.unary_unary(_INGEST)
        await waiting_callers(call, requests, seconds / 2)  # learns the site, warms up
        before = (await waiting_callers(call, requests, seconds)).goodput
        print(f"{PAGES} pages a call, deadline {DEADLINE_S:g} s\n")
        print(f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", sep="\n")
        for factor in FACTORS:
            watching = await asyncio.to_thread(watch_health, server.address, seconds)
            phase = await open_load(call, requests, factor * before / PAGES, seconds)
            health = json.loads((await asyncio.to_thread(watching.communicate))[0])
            after = (await waiting_callers(call, requests, seconds)).goodput
            print(row(factor, phase, (before + after) / 2, health, server.rss_bytes()), flush=True)
            before = after


def bodies(crawl: str) -> Iterator[bytes]:
    """Yield requests without end, each of pages that are new."""
    site = list(site_pages(400))
    for call in itertools.count():
        pages = [
            common_pb2.Page(url=f"{url}?r={call}", status_code=200, content_type="text/html", body=body)
            for url, body in (site[(call * PAGES + n) % len(site)] for n in range(PAGES))
        ]
        yield pb.IngestPagesRequest(crawl=crawl, pages=pages).SerializeToString()


async def waiting_callers(
    call: grpc.aio.UnaryUnaryMultiCallable, requests: Iterator[bytes], seconds: float
) -> Phase:
    """Call as fast as answers come."""
    phase, started = Phase(), time.perf_counter()

    async def caller() -> None:
        while time.perf_counter() - started < seconds:
            await one_call(call, next(requests), phase)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    phase.seconds = time.perf_counter() - started
    return phase


async def open_load(
    call: grpc.aio.UnaryUnaryMultiCallable, requests: Iterator[bytes], rate: float, seconds: float
) -> Phase:
    """Make `rate` calls a second, whatever the answers are; calls answered after that time count over it."""
    phase, started = Phase(), time.perf_counter()
    calls = []
    for n in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, started + n / rate - time.perf_counter()))
        calls.append(asyncio.create_task(one_call(call, next(requests), phase)))
    await asyncio.gather(*calls)
    phase.seconds = time.perf_counter() - started
    return phase


async def one_call(call: grpc.aio.UnaryUnaryMultiCallable, request: bytes, phase: Phase) -> None:
    """Make a call and note how it ended."""
    started = time.perf_counter()
    try:
        await call(request, timeout=DEADLINE_S)
    except grpc.aio.AioRpcError as error:
        phase.codes[error.code().name] += 1
        if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
            phase.refused_s.append(time.perf_counter() - started)
    else:
        phase.answered_s.append(time.perf_counter() - started)


def watch_health(address: str, seconds: float) -> subprocess.Popen[str]:
    """Ask for health in a process of its own, which is not as busy as this one; it prints latencies."""
    command = [sys.executable, "-m", "benchmarks.overload", "--health", address, str(seconds)]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(1.0)  # until it is up
    return watching


def health_latencies(address: str, seconds: float) -> list[float]:
    """Return the seconds that each question took."""
    found, until = [], time.perf_counter() + seconds
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while (started := time.perf_counter()) < until:
            stub.Check(health_pb2.HealthCheckRequest(), timeout=60)
            found.append(time.perf_counter() - started)
            time.sleep(HEALTH_EVERY_S)
    return found


def row(factor: int, phase: Phase, capacity: float, health: list[float], rss: int) -> str:
    """Return a line of the table."""
    answered, refused, alive = (_percentiles(found) for found in (phase.answered_s, phase.refused_s, health))
    cells = (
        f"{factor}x",
        f"{capacity:.0f} pages/s",
        f"{phase.goodput:.0f} pages/s",
        f"{phase.goodput / capacity:.0%}",
        str(phase.codes["RESOURCE_EXHAUSTED"]),
        str(phase.codes.total() - phase.codes["RESOURCE_EXHAUSTED"]),
        f"{answered[49]:.2f} s",
        f"{answered[98]:.2f} s",
        f"{refused[49] * 1e3:.0f} ms",
        f"{alive[98] * 1e3:.0f} ms",
        f"{rss / 1e6:.0f} MB",
    )
    return f"| {' | '.join(cells)} |"


def _percentiles(found: list[float]) -> list[float]:
    return quantiles(found or [0.0, 0.0], n=100, method="inclusive") if len(found) != 1 else found * 99


if __name__ == "__main__":
    main()
