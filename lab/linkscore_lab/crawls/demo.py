"""The demonstration: one site, the same budget, breadth-first and linkscore - a table and a report."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console

from linkscore_lab.datasets.demo_site import USER_CONTENT, DemoSite
from linkscore_lab.datasets.site import PageFacts, Site
from linkscore_lab.metrics import harvest_curve, run_metrics
from linkscore_lab.replay.prepare import StoredSite, prepare_generated
from linkscore_lab.replay.results import RunResult, order_digest, print_summary
from linkscore_lab.replay.runs import NONE, read_budget, read_policy
from linkscore_lab.replay.runs import USER_CONTENT as TASK
from linkscore_lab.replay.session import progress_on, write_files
from linkscore_scoring.errors import InvalidInput, LinkscoreError

LOOPBACK = "127.0.0.1"
# Longest end of a process: a bound.
_STOP_S = 15.0


class ChildFailed(LinkscoreError):
    """A child process ended before it did its work; the message ends with what it said last."""


def ended(name: str, log: Path | None) -> ChildFailed:
    """Return the error of a process that ended too soon."""
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log else "see above"
    return ChildFailed(f"{name}: {tail}")


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process, by force if it does not go in time."""
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve_command(port: int, data_dir: Path) -> list[str]:
    """Return the command that serves on a port of loopback and keeps its data in `data_dir`."""
    address = ["--listen", f"{LOOPBACK}:{port}", "--metrics-listen", ""]
    return [sys.executable, "-m", "linkscore_cli", "serve", *address, "--data-dir", str(data_dir)]


class OwnServer:
    """A service on a port of loopback; it may be killed, and started again with what it kept."""

    def __init__(
        self, data_dir: Path, log: Path, command: Callable[[int, Path], list[str]] = serve_command
    ) -> None:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        self.address = f"{LOOPBACK}:{port}"  # the same after each start
        self._command, self._log = command(port, data_dir), log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it says that it serves; raises `ChildFailed` if it ends before."""
        with self._log.open("a", encoding="utf-8") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                self._command, stdout=subprocess.PIPE, stderr=output, stdin=subprocess.DEVNULL
            )
        assert self._process.stdout is not None
        with self._process.stdout as said:
            if not said.readline():
                raise ended("the service did not start", self._log)

    def kill(self) -> None:
        """End it by SIGKILL, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it, and give it the time it needs to."""
        if self._process is not None:
            stop(self._process)


@contextmanager
def own_server(log: Path) -> Iterator[str]:
    """Run a service without memory and give its address; its output goes to `log`."""
    log.write_text("", encoding="utf-8")
    with TemporaryDirectory(prefix="linkscore-") as data:
        server = OwnServer(Path(data), log)
        try:
            server.start()
            yield server.address
        finally:
            server.stop()


@contextmanager
def watching(target: str, console: Console) -> Iterator[str]:
    """Serve the console of a server on loopback, and open it where there is a browser; gives its address.

    It goes on, when all is done, until interrupted. Raises `ChildFailed` if it does not start;
    the message says why, for example which extra is missing.
    """
    command = [sys.executable, "-m", "linkscore_cli", "console", "--write", "--listen", f"{LOOPBACK}:0"]
    process = subprocess.Popen([*command, "--target", target], stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stderr is not None
    try:
        said = process.stderr.readline().strip()
        address = said.rpartition(" ")[2]
        if not address.startswith("http://"):
            raise ChildFailed(f"the console did not start: {said}{process.stderr.read()}")
        console.print(f"look at it: {address}", soft_wrap=True)
        webbrowser.open(address)
        yield address
        console.print(f"the console goes on at {address} until you press Ctrl-C", soft_wrap=True)
        process.wait()
    except KeyboardInterrupt:
        console.print("ended")
    finally:
        stop(process)
        process.stderr.close()


class SiteServer(ThreadingHTTPServer):
    """An HTTP server of one site on loopback that waits before each answer."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site, *, latency_s: float = 0.0) -> None:
        self.site, self.latency_s = site, latency_s
        super().__init__((LOOPBACK, 0), _SiteHandler)

    @property
    def address(self) -> str:
        """Where it listens, as ``http://127.0.0.1:PORT``."""
        return f"http://{LOOPBACK}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a crawler that left: at the end of its budget it hangs up on what it asked for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Answer in a thread, and give the address."""
        with self:
            threading.Thread(target=self.serve_forever, daemon=True).start()
            yield self.address
            self.shutdown()


class _SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment
    server: SiteServer

    def do_GET(self) -> None:
        time.sleep(self.server.latency_s)
        reply = self.server.site.respond(self._url())
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def do_CONNECT(self) -> None:
        """Serve what comes through the tunnel: some crawlers ask a proxy for one even for plain HTTP."""
        self.send_response_only(HTTPStatus.OK)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = False

    def _url(self) -> str:
        if self.path.startswith(("http://", "https://")):
            return self.path
        return f"http://{self.headers.get('Host', LOOPBACK)}{self.path}"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the crawl reports what it fetched."""


BREADTH_FIRST = "breadth_first"


@dataclass(frozen=True, slots=True)
class Mode:
    """How a crawl orders its queue: its name, and Scrapy settings."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def breadth_first() -> Mode:
    """Return strict breadth-first: by depth, then by discovery."""
    return Mode(
        BREADTH_FIRST,
        {
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        },
    )


def scored(policy: str, address: str, crawl: str) -> Mode:
    """Return the order of a policy of the service at `address`; a new name of a crawl has no memory."""
    return Mode(
        policy,
        {
            "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
            "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "LINKSCORE_TARGET": address,
            "LINKSCORE_CRAWL": crawl_id(crawl),
            "LINKSCORE_POLICY": policy,
        },
    )


def crawl_id(name: str) -> str:
    """Return `name` as the service wants it, 1 to 63 of ``a-z0-9_-``; its end tells names apart: kept."""
    return re.sub(r"[^a-z0-9_-]", "-", name.lower())[-63:].lstrip("-_")


class PageFetch(NamedTuple):
    """A page as it came: final URL, its identity, status (0: failed), seconds since the crawl began."""

    url: str
    identity: str
    status: int
    elapsed_s: float


@dataclass(slots=True)
class Crawl:
    """What one crawl did: pages in order, and Scrapy's own stats at the end."""

    mode: str
    fetches: list[PageFetch] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def unscored(self) -> int:
        """Links that went on in Scrapy's own order because the service gave no answer."""
        return int(self.stats.get("linkscore/fallback", 0))


def run_crawl(
    entry: str,
    mode: Mode,
    budget: int,
    *,
    fetched: Callable[[int], None] = lambda n: None,
    log: Path | None = None,
) -> Crawl:
    """Crawl a site from its entry in `mode` until `budget` pages are downloaded or none is left.

    `fetched` hears how many fetches there are by now. Scrapy's log goes to `log`, standard error if None.
    Raises `ChildFailed`.
    """
    plan = json.dumps({"entry": entry, "budget": budget, "settings": dict(mode.settings)})
    command = [sys.executable, "-m", "linkscore_lab.crawls.spider", plan]
    with log.open("w", encoding="utf-8") if log else nullcontext() as errors:
        process = subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    crawl = Crawl(mode.name)
    try:
        for line in process.stdout:
            row = json.loads(line)
            if isinstance(row, dict):
                crawl.stats = row
                continue
            crawl.fetches.append(PageFetch(*row))
            fetched(len(crawl.fetches))
        if process.wait() or not crawl.stats:
            raise ended(f"the crawl {mode.name} ended with status {process.returncode}", log)
    finally:
        process.stdin.close()
        stop(process)
        process.stdout.close()
    return crawl


# As `linkscore demo` shows them.
_SHOWN = ("valid_ratio", "recall", "area_5pct", "duplicates")
DEMO_WANTED: tuple[str, ...] = tuple(sorted(USER_CONTENT))


@dataclass(frozen=True, slots=True)
class Testbed:
    """A site that is served: what a crawl is given, and what a perfect crawl could find."""

    site: Site
    pages: Mapping[str, PageFacts]  # of each reachable page, by identity, breadth-first
    types: Mapping[str, str]  # of each of them that has a label
    proxy: str = ""  # where a site answers that does not at its own URLs
    __test__ = False  # or pytest takes it, by its name, for a class of tests

    @classmethod
    def of(cls, stored: StoredSite, site: Site, proxy: str = "") -> Testbed:
        """Return the testbed of a site that is served."""
        pages = {stored.records[n].key: stored.records[n].facts for n in stored.reachable()}
        return cls(site, pages, {k: stored.types[k] for k in pages if k in stored.types}, proxy)

    def wanted(self, types: Sequence[str]) -> frozenset[str]:
        """Return the reachable pages of `types`; raises `InvalidInput` if there is none of any of them."""
        have = set(self.types.values())
        if not have & set(types):
            got = ", ".join(types) or "none"
            raise InvalidInput(
                f"must be page types of {self.site.name} ({', '.join(sorted(have))}), got {got}",
                field="relevant",
            )
        return frozenset(key for key, kind in self.types.items() if kind in types)

    def budget(self, text: str) -> int:
        """Return a number of fetches from a share of the reachable pages or a number: see `read_budget`."""
        return read_budget(text, len(self.pages))

    def result(self, mode: Mode, crawl: Crawl, budget: int, wanted: frozenset[str]) -> RunResult:
        """Return a crawl as replays record theirs."""
        order, types = [fetch.identity for fetch in crawl.fetches], self.types
        return RunResult(
            site=self.site.name,
            task=TASK,
            mode=NONE,
            policy=mode.name,
            seed=1,
            start=self.site.entry,
            budget=budget,
            fetched=len(order),
            seconds=crawl.fetches[-1].elapsed_s if crawl.fetches else 0.0,
            metrics=run_metrics(order, self.pages, wanted, types),
            curve=harvest_curve(order, wanted),
            n_reachable=len(self.pages),
            n_wanted=len(wanted),
            order_digest=order_digest(order),
        )


@contextmanager
def demo_testbed(seed: int = 1, seen_page: Callable[[int], None] = lambda n: None) -> Iterator[Testbed]:
    """Serve the demonstration site on loopback and give its testbed."""
    server = SiteServer(DemoSite(seed))
    server.site = site = DemoSite(seed, server.address)
    with prepare_generated(site, workers=0, seen_page=seen_page) as stored, server.running():
        yield Testbed.of(stored, site)


def run_demo(
    budget: str = "25%",
    policy: Sequence[str] = ("harvest",),
    out: Path = Path("out"),
    *,
    target: str = "",
    watch: bool = False,
    console: Console | None = None,
) -> list[RunResult]:
    """Crawl the site breadth-first and under each policy, print the table, write ``report.html`` to `out`.

    Threads, their pages and profiles are wanted. Scores come from the service at `target`, else from one of
    its own; `watch` serves the web console meanwhile. One request at a time makes figures repeatable.
    Raises `InvalidInput`, and `ChildFailed` if a server or a crawl ends with an error.
    """
    console = console or Console()
    for each in () if target else policy:  # before anything is crawled
        read_policy(each)
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        progress = stack.enter_context(progress_on(console))
        bed = stack.enter_context(demo_testbed(1, lambda n: progress.at("looking at the site", n, None)))
        wanted, n_pages, fetches = bed.wanted(DEMO_WANTED), len(bed.pages), bed.budget(budget)
        console.print(f"{bed.site.entry}: {n_pages:,} pages, {len(wanted):,} target pages", soft_wrap=True)
        address = target or stack.enter_context(own_server(out / "server.log"))
        if watch:
            stack.enter_context(watching(address, console))
        name, runs = f"demo-{int(time.time())}", []
        for each in dict.fromkeys((BREADTH_FIRST, *policy)):
            mode = breadth_first() if each == BREADTH_FIRST else scored(each, address, f"{name}-{each}")
            at, log = partial(progress.at, f"crawling: {each}", total=fetches), out / f"crawl-{each}.log"
            crawl = run_crawl(bed.site.entry, mode, fetches, fetched=at, log=log)
            runs.append(bed.result(mode, crawl, fetches, wanted))
            if crawl.unscored:
                console.print(f"{each}: {crawl.unscored:,} links came without a score", style="yellow")
        print_summary(console, runs, _SHOWN)
        write_files(console, runs, {}, None, out / "report.html")
        return runs
