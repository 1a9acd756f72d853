"""``make restarts EVENTS=20000 CRAWLS=1000``: what a start costs: from the log, a snapshot, of many crawls.

The log of one crawl is written without a server, page by page and with its learnings. Then a server starts
on it: first without a snapshot, so that everything is replayed, and after a clean stop from the snapshot that
the stop left. CPU time and memory are those of the whole process once the crawl is open.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

from grpc_health.v1 import health_pb2, health_pb2_grpc

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, Event, ModelActivated, PageFetched, encode
from linkscore_scoring.features.types import Limits
from linkscore_scoring.site.learning import run
from linkscore_server.grpc.convert.pages import PageParser
from linkscore_server.storage.files import FileStore
from support.server_process import ServerProcess, stubs
from support.small_site import HOST, page

NAME = "one"
_GROUP = 100  # events of one sync
_DISTINCT = 400  # pages that are parsed; the others are these under new URLs
_OPEN_S = 900.0  # longest start


@dataclass(frozen=True, slots=True)
class Start:
    """What a start cost: until all crawls are open."""

    cpu_s: float
    wall_s: float
    rss_mb: float
    peak_mb: float
    descriptors: int
    health_p99_ms: float

    def row(self, name: str) -> str:
        """Return a line of the table."""
        seconds = [f"{took:.1f} s" for took in (self.cpu_s, self.wall_s)]
        memory = [f"{mb:.0f} MB" for mb in (self.rss_mb, self.peak_mb)]
        cells = (name, *seconds, *memory, str(self.descriptors), f"{self.health_p99_ms:.0f} ms")
        return f"| {' | '.join(cells)} |"


def pages() -> Iterator[PageFetched]:
    """Yield fetches without end, each of a page that was not fetched before."""
    parser = PageParser(Limits(), lambda: 1.7e9)
    known = [parser.event(page(n), lambda url: HOST) for n in range(_DISTINCT)]
    for n in itertools.count():
        event = known[n % _DISTINCT]
        url = f"{event.url}?r={n // _DISTINCT}"
        assert event.features
        yield replace(
            event,
            event_id=f"e{n}",
            url=url,
            requested_key=url,
            features=replace(event.features, url=url, key=url),
        )


def write_log(folder: Path, crawl: str, events: int) -> None:
    """Write the log of a crawl of so many fetches, with its learnings."""
    store = FileStore(folder)
    log, config = store.open(crawl), CrawlConfig(crawl)
    model, group = CrawlModel(config, ticket_key=store.ticket_key()), list[Event]()

    def take(event: Event) -> None:
        group.append(event)
        model.apply(log.last_seq + len(group), event)
        if len(group) == _GROUP:
            flush()

    def flush() -> None:
        log.append([encode(event) for event in group])
        group.clear()

    take(ConfigChanged(config.to_state()))
    for event in itertools.islice(pages(), events):
        take(event)
        for job in model.take_jobs():
            learned = run(job)
            take(ModelActivated(job.site, job.built_from_seq, learned.digest(), learned.to_state()))
    if group:
        flush()
    log.close()
    store.close()


def started(folder: Path, crawls: int) -> Start:
    """Start a server on the folder and wait until its crawls are open, asking for health meanwhile."""
    began, waits = time.monotonic(), list[float]()
    flags = ("--max-crawls", str(crawls + 1), "--log-level", "info")
    server = ServerProcess(folder, *flags, patience_s=_OPEN_S)
    with stubs(server.target) as connected:
        health = health_pb2_grpc.HealthStub(connected.channel)
        while server.log.read_text().count(" replayed") < crawls:  # a line for each that is open
            asked = time.perf_counter()
            health.Check(health_pb2.HealthCheckRequest(), timeout=60)
            waits.append(time.perf_counter() - asked)
            assert time.monotonic() - began < _OPEN_S, "the crawls are not open"
            time.sleep(0.05)
        wall_s = time.monotonic() - began
        cpu_s, rss, peak = _figures(server.process.pid)
        descriptors = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        listed = connected.crawls.ListCrawls(crawl_pb.ListCrawlsRequest(page_size=1_000), timeout=120)
        assert len(listed.crawls) == min(crawls, 1_000)
    assert server.terminate() == 0
    server.log.unlink()
    p99 = quantiles(waits, n=100)[98] if len(waits) > 1 else 0.0
    return Start(cpu_s, wall_s, rss, peak, descriptors, p99 * 1e3)


def _figures(pid: int) -> tuple[float, float, float]:
    """Return CPU seconds, resident memory and its peak, in MB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    rss, peak = (int(status.partition(f"{name}:")[2].split()[0]) / 1_000 for name in ("VmRSS", "VmHWM"))
    return (int(fields[11]) + int(fields[12])) / 100, rss, peak  # in ticks of USER_HZ


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--crawls", type=int, default=1_000)
    given = parser.parse_args()
    print(
        "| start | CPU | time | memory | peak | descriptors | health p99 |",
        "|---" * 7 + "|",
        sep="\n",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="linkscore-restarts-") as scratch:
        if given.events:
            folder = Path(scratch) / "one"
            write_log(folder / "data", NAME, given.events)
            print(started(folder, 1).row(f"{given.events} events, log alone"), flush=True)
            print(started(folder, 1).row(f"{given.events} events, snapshot"), flush=True)
        if given.crawls:
            folder = Path(scratch) / "many"
            for n in range(given.crawls):
                write_log(folder / "data", f"c{n}", 20)
            print(started(folder, given.crawls).row(f"{given.crawls} crawls of 20 events"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
