"""``make soak MINUTES=60``: a server under mixed load, hostile pages, kills, learnings and imports.

In the first third the server is killed with -9 and started again every now and then; then one process lives
to the end, so that a leak has time to show. Sites and their bounds are few and small, so that all tables are
full before the last third. It fails if anything acknowledged is missing or doubled after a kill, if a call
ends with a fault of the server, if the log has an error, or if the process takes more memory, descriptors or
threads in the last third than in the one before.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.replays import unlike_their_replay
from support.hostile import PAGES
from support.server_process import ServerProcess, Stubs, stubs
from support.small_site import HOST, page, url_of

CRAWLS = ("crawls/soak-a", "crawls/soak-b")
HOSTS = tuple(f"s{n}.test" for n in range(4))
FLAGS = [
    "--site-links",
    "4000",
    "--site-blocks",
    "20000",
    "--site-apaths",
    "1000",
    "--site-arms",
    "1000",
    "--snapshot-events",
    "2000",
    "--idle-crawl-s",
    "20",
    "--browse-mine-min-visits",
    "100",
    "--log-level",
    "error",
]
"""Bounds that are full within minutes."""

MOST_GROWTH = 1.10
"""Of memory, from the middle third to the last: what the allocator and the moment of a sample make."""

_SAMPLE_S, _HEALTH_S = 2.0, 0.1
_KILLS = 6  # in the first third
_DAY_MS, _START_MS = 86_400_000, 20_000 * 86_400_000
_FAULTS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
_HOSTILE_BYTES = (1_000, 10_000, 100_000, 100_000, 600_000)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process held at a time."""

    at_s: float
    rss: int
    descriptors: int
    threads: int
    workers: int
    """Memory of its own processes, which read large pages and mine logs."""


class Soak:
    """The server, the clients, and what they noted."""

    def __init__(self, folder: Path, minutes: float, seed: int) -> None:
        self._folder = folder
        self._seconds = minutes * 60
        self._seed = seed
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._up = threading.Event()
        self._started = time.monotonic()
        self.samples: list[Sample] = []
        self.latencies: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        self.codes: Counter[str] = Counter()
        self.acked: Counter[str] = Counter()
        self.unsure: Counter[str] = Counter()
        self.problems: list[str] = []
        self.kills = 0

    @property
    def now_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._started

    def run(self) -> None:
        """Run from beginning to end."""
        self._server = ServerProcess(self._folder, *FLAGS)
        self._up.set()
        with stubs(self._server.target) as connected:
            for crawl in CRAWLS:
                create_crawl(connected, crawl)
        kinds = (
            crawler,
            crawler,
            streamer,
            hostile_crawler,
            reporter,
            asker,
            learner,
            importer,
            passing_crawls,
            watcher,
        )
        clients = [
            threading.Thread(target=self._client, args=(kind, random.Random(f"{self._seed} {n}"), n))
            for n, kind in enumerate(kinds)
        ]
        for client in clients:
            client.start()
        try:
            self._watch(random.Random(self._seed))
        finally:
            self._ending.set()
            for client in clients:
                client.join()
            try:
                self._check_counts()
            finally:
                self._server.stop()
        lines = self._server.log.read_text().splitlines()
        self.problems += [line for line in lines if '"level": "error"' in line][:10]
        self.problems += self._growth()
        self.problems += self._unlike_replay()

    def _unlike_replay(self) -> list[str]:
        """Return where the snapshots and the logs at the end give another state than the logs alone."""
        store = FileStore(self._folder / "data")
        try:
            return [*problems_of_store(store), *unlike_their_replay(store, registrable_domain)]
        finally:
            store.close()

    def _watch(self, rng: random.Random) -> None:
        """Sample the process until the end; kill it at random times of the first third."""
        kills = sorted(rng.uniform(0.03, 0.30) * self._seconds for _ in range(_KILLS))
        while self.now_s < self._seconds:
            self._ending.wait(_SAMPLE_S)
            if kills and self.now_s > kills[0]:
                kills.pop(0)
                self._kill()
            self.samples.append(self._sample())

    def _kill(self) -> None:
        self._up.clear()
        self._server.kill()
        self.kills += 1
        self._server = ServerProcess(self._folder, *FLAGS)
        self._check_counts()
        self._up.set()

    def _sample(self) -> Sample:
        pid = self._server.process.pid
        return Sample(
            self.now_s,
            _status(pid, "VmRSS") * 1024,
            len(os.listdir(f"/proc/{pid}/fd")),
            _status(pid, "Threads"),
            sum(_status(child, "VmRSS") * 1024 for child in _children(pid)),
        )

    def _check_counts(self) -> None:
        """Compare what crawls have with what was acknowledged, and with calls that were not answered."""
        with stubs(self._server.target) as connected:
            for crawl in CRAWLS:
                got = connected.crawls.GetCrawl(
                    crawl_pb.GetCrawlRequest(name=crawl), timeout=300
                ).crawl.page_count
                with self._lock:
                    least = self.acked[crawl]
                    most = least + self.unsure[crawl]
                if not least <= got <= most:
                    self.problems.append(f"{crawl} has {got} pages, {least} to {most} were sent")

    def _client(self, kind: Client, rng: random.Random, number: int) -> None:
        """Run a client until the end, connected anew after each kill."""
        while not self._ending.is_set():
            if not self._up.wait(1.0):
                continue
            with stubs(self._server.target) as server, suppress(grpc.RpcError):
                for pause_s in kind(Calls(self, server, self._up), rng, number):
                    if self._ending.wait(pause_s) or not self._up.is_set():
                        break

    def _growth(self) -> list[str]:
        """Compare the last third with the middle one: most memory, and what is open most of the time.

        Reading many days of visits opens many files for a moment, which is no leak.
        """
        thirds = (
            [s for s in self.samples if a <= s.at_s / self._seconds < a + 1 / 3] for a in (1 / 3, 2 / 3)
        )
        middle, last = thirds
        if not middle or not last:
            return ["it was too short to say what grew"]
        found = []
        for name, of in (("rss", max), ("descriptors", median), ("threads", median)):
            before, after = (of(getattr(sample, name) for sample in part) for part in (middle, last))
            if after > before * MOST_GROWTH + (0 if name == "rss" else 3):
                found.append(f"{name} grew from {before} to {after} ({of.__name__})")
        return found

    def note(self, name: str, took_s: float, code: str) -> None:
        """Keep how a call ended."""
        with self._lock:
            self.codes[f"{name} {code}"] += 1
            if code == "OK":
                self.latencies[name].append((self.now_s, took_s))

    def sent(self, crawl: str, *, sure: int = 0, unsure: int = 0) -> None:
        """Count pages that were taken in, for certain or perhaps."""
        with self._lock:
            self.acked[crawl] += sure
            self.unsure[crawl] += unsure

    def table(self) -> str:
        """Return the figures of each tenth of the run."""
        names = sorted(self.latencies)
        head = (
            "minutes",
            "RSS",
            "workers",
            "descriptors",
            "threads",
            *(f"{name} p50/p99 ms" for name in names),
        )
        rows = []
        for tenth in range(10):
            start, end = tenth * self._seconds / 10, (tenth + 1) * self._seconds / 10
            of = [sample for sample in self.samples if start <= sample.at_s < end]
            if not of:
                continue
            most = [str(max(getattr(s, name) for s in of)) for name in ("descriptors", "threads")]
            memory = [f"{max(getattr(s, name) for s in of) / 1e6:.0f} MB" for name in ("rss", "workers")]
            cells = [f"{start / 60:.1f}-{end / 60:.1f}", *memory, *most]
            cells += [
                _percentiles([took for at, took in self.latencies[name] if start <= at < end])
                for name in names
            ]
            rows.append(cells)
        lines = [" | ".join(cells) for cells in (head, ["---"] * len(head), *rows)]
        return "\n".join(f"| {line} |" for line in lines)


class Calls:
    """Makes calls and notes how they ended."""

    def __init__(self, soak: Soak, server: Stubs, up: threading.Event) -> None:
        self.soak = soak
        self.server = server
        self._up = up

    def make(self, name: str, method: Any, request: object, timeout_s: float = 60.0) -> Any:
        """Return the answer of a call, None if it was refused.

        Raises
        ------
        grpc.RpcError
            If the server is gone.
        """
        started = time.perf_counter()
        try:
            answer = method(request, timeout=timeout_s)
        except grpc.RpcError as error:
            code = error.code()
            gone = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
            self.soak.note(name, 0.0, code.name)
            if code in _FAULTS and self._up.is_set():
                self.soak.problems.append(f"{name}: {code.name}: {error.details()}")
            if gone:
                raise
            return None
        self.soak.note(name, time.perf_counter() - started, "OK")
        return answer

    def ingest(self, name: str, crawl: str, pages: list[common.Page]) -> None:
        """Send pages; counts them as there once they are acknowledged."""
        request = pb.IngestPagesRequest(crawl=crawl, pages=pages)
        try:
            answer = self.make(name, self.server.links.IngestPages, request, 120.0)
        except grpc.RpcError:
            self.soak.sent(crawl, unsure=len(pages))
            raise
        if answer is None:
            self.soak.sent(crawl, unsure=len(pages))
            return
        there = (common.ITEM_CODE_OK, common.ITEM_CODE_PARTIAL)
        self.soak.sent(crawl, sure=sum(result.status.code in there for result in answer.results))


Client = Callable[[Calls, random.Random, int], Iterator[float]]
"""Makes calls, and yields the seconds to wait before the next."""

_numbers = count()


def fresh_page(rng: random.Random) -> common.Page:
    """Return a page that was never sent, of one of the sites."""
    n, host = next(_numbers), rng.choice(HOSTS).encode()
    made = page(n, event_id=f"{os.getpid()}-{n}")
    made.url = made.url.replace(HOST, host.decode())
    made.body = made.body.replace(HOST.encode(), host)
    return made


def crawler(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Send new pages in batches."""
    while True:
        calls.ingest("ingest", rng.choice(CRAWLS), [fresh_page(rng) for _ in range(rng.choice((1, 5, 20)))])
        yield rng.uniform(0.0, 0.5)


def streamer(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Send new pages by a stream of some dozens."""
    while True:
        crawl, n = rng.choice(CRAWLS), rng.randrange(1, 60)
        requests = [pb.StreamPagesRequest(crawl=crawl, request_id=i, page=fresh_page(rng)) for i in range(n)]
        answered = 0
        try:
            for _ in calls.server.links.StreamPages(iter(requests), timeout=120):
                answered += 1
        finally:
            calls.soak.sent(crawl, sure=answered, unsure=n - answered)
        calls.soak.note("stream", 0.0, "done")
        yield rng.uniform(0.0, 2.0)


def hostile_crawler(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Send pages made to cost much, one a call."""
    while True:
        family, size = rng.choice(list(PAGES.values())), rng.choice(_HOSTILE_BYTES)
        hostile = fresh_page(rng)
        hostile.body = family.body(size)
        hostile.content_type, hostile.content_encoding = family.content_type, family.content_encoding
        calls.ingest("hostile", rng.choice(CRAWLS), [hostile])
        yield rng.uniform(0.0, 1.0)


def reporter(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Report feedback of pages that were fetched, and of some that were not."""
    while True:
        given = [
            pb.Feedback(event_id=f"f-{next(_numbers)}", url=_some_url(rng), reward=rng.random())
            for _ in range(50)
        ]
        request = pb.ReportFeedbackRequest(crawl=rng.choice(CRAWLS), feedback=given)
        calls.make("feedback", calls.server.links.ReportFeedback, request)
        yield rng.uniform(0.0, 1.0)


def asker(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Ask what crawlers and people ask."""
    links, sites = calls.server.links, calls.server.sites
    while True:
        crawl, host = rng.choice(CRAWLS), rng.choice(HOSTS)
        candidates = [pb.CandidateLink(url=_some_url(rng)) for _ in range(rng.choice((10, 1_000)))]
        buckets = [f"{host}/{n}" for n in range(rng.choice((10, 3_000)))]
        name = f"{crawl}/sites/{host}"
        questions = (
            ("score", links.ScoreLinks, pb.ScoreLinksRequest(crawl=crawl, links=candidates)),
            ("rank", links.RankBuckets, pb.RankBucketsRequest(crawl=crawl, buckets=buckets)),
            ("site", sites.GetSite, site_pb.GetSiteRequest(name=name)),
            ("sitemap", sites.GetSitemap, site_pb.GetSitemapRequest(name=name)),
        )
        calls.make(*rng.choice(questions))
        yield rng.uniform(0.0, 0.3)


def learner(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Have sites learned now and then."""
    while True:
        request = site_pb.LearnSiteRequest(name=f"{rng.choice(CRAWLS)}/sites/{rng.choice(HOSTS)}")
        calls.make("learn", calls.server.sites.LearnSite, request, 300.0)
        yield rng.uniform(5.0, 15.0)


def importer(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Import batches of a browse log, which is mined as it grows."""
    while True:
        texts = [f"visitor-{n}" for n in range(20)] + [_some_url(rng) for _ in range(50)]
        rows = range(200)
        columns = browse_pb.BrowseColumns(
            texts=texts,
            epoch_ms=[_START_MS + rng.randrange(10 * _DAY_MS) for _ in rows],
            clients=[rng.randrange(20) for _ in rows],
            urls=[rng.randrange(20, len(texts)) for _ in rows],
            referrers=[rng.randrange(20, len(texts)) for _ in rows],
        )
        request = browse_pb.ImportBrowseRecordsRequest(
            crawl=rng.choice(CRAWLS), batch_id=f"b{next(_numbers)}", columns=columns
        )
        calls.make("import", calls.server.browse.ImportBrowseRecords, iter([request]), 300.0)
        yield rng.uniform(5.0, 15.0)


def passing_crawls(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Create a crawl, use it a little, leave it to be evicted, and delete it."""
    while True:
        name = f"crawls/passing-{next(_numbers)}"
        create_crawl(calls.server, name)
        request = pb.IngestPagesRequest(crawl=name, pages=[fresh_page(rng) for _ in range(5)])
        calls.make("passing", calls.server.links.IngestPages, request)
        yield rng.uniform(1.0, 40.0)
        calls.make("delete", calls.server.crawls.DeleteCrawl, crawl_pb.DeleteCrawlRequest(name=name))


def watcher(calls: Calls, rng: random.Random, number: int) -> Iterator[float]:
    """Ask for health."""
    health = health_pb2_grpc.HealthStub(calls.server.channel)
    while True:
        calls.make("health", health.Check, health_pb2.HealthCheckRequest())
        yield _HEALTH_S


def create_crawl(server: Stubs, name: str) -> None:
    """Create a crawl that learns soon, and from browse logs."""
    learning = crawl_pb.LearningConfig(sample_pages=60, max_sample_pages=200)
    policies = [policy_pb2.PolicySpec(news_prefix=policy_pb2.NewsPrefixParams())]
    config = crawl_pb.Crawl(name=name, learning=learning, extra_policies=policies)
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=config), timeout=60)


def _status(pid: int, name: str) -> int:
    """Return a number of the status of a process, 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int((status.partition(f"{name}:")[2].split() or ["0"])[0])


def _children(pid: int) -> Iterator[int]:
    for of_thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            yield from map(int, of_thread.read_text().split())


def _some_url(rng: random.Random) -> str:
    return url_of(rng.randrange(2_000)).replace(HOST, rng.choice(HOSTS))


def _percentiles(found: list[float]) -> str:
    if len(found) < 2:
        return "-"
    cuts = quantiles(found, n=100, method="inclusive")
    return f"{cuts[49] * 1e3:.0f}/{cuts[98] * 1e3:.0f}"


def main() -> int:
    """Run a soak and print what it showed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="linkscore-soak-") as folder:
        soak = Soak(Path(folder), given.minutes, given.seed)
        soak.run()
        print(soak.table(), f"{soak.kills} kills, {sum(soak.acked.values())} pages acknowledged", sep="\n\n")
        print(*(f"{n} {what}" for what, n in sorted(soak.codes.items())), *soak.problems, sep="\n")
    return bool(soak.problems)


if __name__ == "__main__":
    sys.exit(main())
