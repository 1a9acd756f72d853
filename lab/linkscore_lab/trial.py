"""`linkscore try`: some pages of one site in two orders, breadth-first and by a policy, and which is better.

An archive is replayed. A site is crawled once for each order, politely, and both share what was fetched: one
request at a time with a delay, robots.txt obeyed, no other host, no page twice. What came is kept as a WARC
file and counted as a replay counts it.

Sources: RFC 9309 (robots.txt: one that is refused by the server's fault forbids all); RFC 6585 (429).
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin

from protego import Protego
from rich.console import Console

from linkscore_lab.archives import ArchiveRecord, write_warc
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.site import ByUrl, Relevance, Reply, identity, resolve
from linkscore_lab.replay.crawl import CrawlPlan, crawl
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.prepare import (
    MAX_REDIRECTS,
    Blobs,
    SiteSource,
    StoredRecord,
    StoredSite,
    kept_record,
    prepare_site,
)
from linkscore_lab.replay.results import RunResult, print_summary
from linkscore_lab.replay.runs import NONE, Case, Experiment, read_policy
from linkscore_lab.replay.session import Progress, progress_on, run, tasks_of, write_files
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.limits.respect import text_of
from linkscore_scoring.urls.identity import host_of, validate_url

ORDERS = read_policy("breadth_first"), read_policy("harvest")
ROBOT = "linkscore"
AGENT = f"{ROBOT}/{version('linkscore')} (linkscore try: a few hundred pages, one at a time)"
# Bounds of one answer, chosen, not measured; the normal deviate of a 95 % interval.
MAX_BODY_BYTES, MAX_ANSWER_S, _DEVIATE = 4 << 20, 30.0, 1.96
_SHOWN = ("valid_ratio", "text_share", "duplicates")


MAX_DELAY_S = 60.0
"""Between two requests: a bound, chosen. A hundred fetches of each order then take three hours."""
MAX_ROBOTS_REDIRECTS = 5  # RFC 9309, 2.3.1.2
_SILENT = 599  # no status of HTTP: chosen, counts as a fault of the server
_FORBIDDEN = "User-agent: *\nDisallow: /"


class _AsTheyCome(urllib.request.HTTPErrorProcessor):
    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:
        """Return redirects and errors as the site gave them."""
        return response

    https_response = http_response


_OPENER = urllib.request.build_opener(_AsTheyCome)


def ask(url: str) -> Reply:
    """Return the answer of a site, of a page cut at `MAX_BODY_BYTES`; status 599 where none came."""
    request = urllib.request.Request(url, headers={"User-Agent": AGENT, "Accept": "text/html, */*;q=0.1"})  # noqa: S310 - http(s) alone
    started, body = time.monotonic(), b""
    try:
        with _OPENER.open(request, timeout=MAX_ANSWER_S) as answer:
            while len(body) < MAX_BODY_BYTES and time.monotonic() - started < MAX_ANSWER_S:
                if not (part := answer.read1(1 << 16)):
                    break
                body += part
            return Reply(answer.status, {name.title(): value for name, value in answer.headers.items()}, body)
    except (OSError, HTTPException, ValueError) as exc:
        return Reply(_SILENT, {}, str(exc).encode(errors="replace"))


class Web:
    """One site as both orders see it: each URL is asked for once, the next after a delay."""

    def __init__(self, start: str, asks: Callable[[str], Reply] = ask, delay_s: float = 0.0) -> None:
        self._ask, self._delay_s, self._next = asks, delay_s, 0.0
        self.answers: dict[str, Reply] = {}
        self._robots: dict[str, Protego] = {}
        to: str | None = validate_url(start, "site")
        while to and len(self.answers) <= 2 * MAX_REDIRECTS:  # with the robots.txt of each
            self.entry, self.host = to, host_of(to)
            if not self.allows(to):
                robots = self.get(urljoin(to, "/robots.txt"))
                away = f"does not answer: {robots.body.decode()}" if robots.status == _SILENT else ""
                why = away or "its robots.txt forbids it, or cannot be read"
                raise InvalidInput(f"{to}: {why}", field="site")
            to = self._redirect(to)
        first = self.answers[self.entry]
        if not 200 <= first.status < 300:
            why = f"no answer: {first.body.decode()}" if first.status == _SILENT else f"status {first.status}"
            raise InvalidInput(f"{self.entry} must be a page, got {why}", field="site")

    def allows(self, url: str) -> bool:
        """Say whether a URL is of the site and its robots.txt lets us fetch it."""
        return host_of(url) == self.host and self._rules(urljoin(url, "/robots.txt")).can_fetch(url, ROBOT)

    def _rules(self, robots: str) -> Protego:
        if robots not in self._robots:
            url = robots
            for _ in range(MAX_ROBOTS_REDIRECTS):
                url = self._redirect(url) or url
            reply = self.get(url)
            body = reply.body if reply.status == 200 else b""
            text = text_of(body, reply.headers.get("Content-Encoding", ""), MAX_BODY_BYTES)
            self._robots[robots] = Protego.parse(_FORBIDDEN if reply.status >= 500 else text)
            asked_s = self._robots[robots].crawl_delay(ROBOT) or 0.0
            if asked_s > MAX_DELAY_S:
                rule = f"{robots} asks for {asked_s:g} s between two requests, more than {MAX_DELAY_S:g}"
                raise InvalidInput(f"{rule}: try an archive of the site", field="site")
            self._delay_s = max(self._delay_s, asked_s)
        return self._robots[robots]

    def get(self, url: str) -> Reply:
        """Return the answer of a URL."""
        if url not in self.answers:
            time.sleep(max(0.0, self._next - time.monotonic()))
            self.answers[url] = reply = self._ask(url)
            self._delay_s *= 2 if reply.status in (429, 503) and self._delay_s < MAX_DELAY_S else 1
            self._next = time.monotonic() + self._delay_s
        return self.answers[url]

    def follow(self, url: str) -> tuple[str, Reply]:
        """Return where a URL leads to within the site, and the answer there; else the last redirect."""
        for _ in range(MAX_REDIRECTS):
            to = self._redirect(url)
            if to is None or not self.allows(to):
                break
            url = to
        return url, self.get(url)

    def _redirect(self, url: str) -> str | None:
        reply = self.get(url)
        location = reply.headers.get("Location") if 300 <= reply.status < 400 else None
        return resolve(url, location) if location else None


class _Numbers(dict[str, int]):
    """The number of each identity, given when it is first met; -1 for what may not be fetched."""

    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def get(self, key: str, default: Any = -1) -> Any:
        if key not in self:
            self[key] = self._number(key)
        return self[key]


class LiveSite(StoredSite):
    """A site of which a record is there as soon as its fetch begins."""

    def __init__(self, web: Web, began: Callable[[int], None]) -> None:
        super().__init__(web.host, [identity(web.entry)], [], [], {}, "", (), Blobs())
        self._web, self._began, self._n_begun, self.ends = web, began, 0, _Numbers(self._new)
        self._urls = {self.entries[0]: web.entry}

    def fetch(self, number: int) -> None:
        """Fetch the page of a record; one that leads to the page of another is a redirect."""
        self._began(self._n_begun)
        self._n_begun += 1
        asked = self.records[number]
        url, reply = self._web.follow(asked.url)
        self.records[number] = found = kept_record(ArchiveRecord(url, *reply), self.blobs)
        if self.ends.setdefault(found.key, number) != number:
            self.records[number] = replace(asked, status=301, location=found.key)
        if (event := self.event(number)) and event.features:
            self._urls.update(zip(event.features.links.keys, event.features.links.urls, strict=True))

    def _new(self, key: str) -> int:
        url = self._urls.get(key, key)
        if not key or not self._web.allows(url):
            return -1
        self.records.append(StoredRecord(url, key, 0, ""))
        return len(self.records) - 1


class _LiveScorer(InProcessScorer):
    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        """Fetch the page."""
        assert isinstance(site, LiveSite)
        site.fetch(number)
        return ()


def try_site(
    site: str,
    *,
    fetches: int = 100,
    relevant_url: str = "",
    delay_s: float = 1.0,
    warc: Path | None = None,
    report: Path | None = None,
    json_out: Path | None = None,
    console: Console | None = None,
) -> list[RunResult]:
    """Crawl a site in both orders, print their table and the verdict, write what was asked for.

    `site`: a URL, an archive, or nothing for the demonstration site. Target pages are those with
    `relevant_url` in their URL, else those with much text of their own, among all that were fetched; `warc`
    keeps those.
    """
    console = console or Console()
    relevance = ByUrl(relevant_url) if relevant_url else None
    with progress_on(console) as progress, TemporaryDirectory(prefix="linkscore-") as folder:
        if site and "://" not in site and not Path(site).exists():
            raise InvalidInput(f"{site}: is no file, and no absolute http or https URL", field="site")
        if site and Path(site).exists():
            names = [policy.name for policy in ORDERS]
            runs = run([Path(site)], names, relevance=relevance, budget=str(fetches), progress=progress)
        elif warc and (warc.exists() or not warc.parent.is_dir()):
            raise InvalidInput(f"{warc}: must be a new file in a folder that is there", field="--warc")
        else:
            web = Web(site, delay_s=delay_s) if site else Web(DemoSite().entry, DemoSite().respond)
            kept = warc or Path(folder) / f"{web.host}.warc.gz"
            runs = _live(web, kept, relevance, fetches, progress)
    print_summary(console, runs, _SHOWN)
    console.print(verdict(*runs), soft_wrap=True)
    write_files(console, runs, {}, json_out, report)
    return runs


def _live(
    web: Web, warc: Path, relevance: Relevance | None, fetches: int, progress: Progress
) -> list[RunResult]:
    """Crawl a site once in each order and count what came as a replay of it all does."""
    traces = []
    for policy in ORDERS:
        at = partial(progress.at, f"fetching {web.host}: {policy.name}", total=fetches)
        with LiveSite(web, at) as live:
            plan = CrawlPlan(live.entries, fetches)
            config = CrawlConfig("try", PolicyChoice(policy.name), seed=1)
            traces.append(crawl(live, plan, _LiveScorer(config)))
    write_warc(warc, {web.entry: web.answers[web.entry], **web.answers})
    source = SiteSource([warc])
    with prepare_site([source], workers=1) as stored:
        experiment = Experiment(stored)
        (task,) = tasks_of(experiment, relevance, (), progress)
        return [
            experiment.result(Case(task, NONE, policy, 1), fetches, task.wanted, trace, (0.0, 0.0), 0)
            for policy, trace in zip(ORDERS, traces, strict=True)
        ]


def verdict(plain: RunResult, scored: RunResult) -> str:
    """Say which order found more target pages a fetch, or that they are tied.

    The interval of their difference is Wald's; it takes the fetches as independent.
    """
    (a, n), (b, m) = ((run.curve[-1] if run.curve else 0, run.fetched or 1) for run in (plain, scored))
    gain = b / m - a / n
    half = _DEVIATE * sqrt(a * (n - a) / n**3 + b * (m - b) / m**3)
    said = f"linkscore {b} target pages of {m} fetches, breadth-first {a} of {n}"
    if abs(gain) > half:
        return f"winner: {'linkscore' if gain > 0 else 'breadth-first'}: {said} ({gain:+.2f} ±{half:.2f})"
    if max(n, m) < plain.budget:
        said += "; the site has no more pages, and to the last page every order finds the same"
    return f"tied: {said} ({gain:+.2f} ±{half:.2f})"
