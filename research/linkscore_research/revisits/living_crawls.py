"""Real crawlers keep a living site fresh: a clock and a server for a crawler such as that of `scrapy_runs`.

A site that lives is served over HTTP at a simulated time. Every few days of it a crawler runs once, in a
process of its own, against a server whose clock is the simulated one. Beside it stands what fetching every
known page in each run would have reached: the same arithmetic, without fetches.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from linkscore_research.revisits.histories import YEAR_DAYS, SiteHistory, living
from linkscore_research.revisits.living_site import LivingSite, served
from linkscore_research.revisits.replay import START_S, Measured, measured
from linkscore_scoring.revisits.pages import DAY_S
from linkscore_server.app import Application
from linkscore_server.settings import Settings

PATIENCE_S = 900.0
"""A bound: a run of a crawler takes seconds, on a crowded machine a minute."""
_SERVER = Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory")


@dataclass(frozen=True)
class Run:
    """One run of a crawler."""

    site: str  # Addresses of the site and of the server
    target: str
    folder: Path  # What the crawler keeps from run to run
    day: float  # Of the site
    pages: int  # Known pages that may be fetched
    every: float  # Days until the next run


@dataclass(frozen=True)
class Runs:
    """What a crawler reached, and fetching every page in each run."""

    ours: Measured  # Measured alike; fetches are of known pages, the front page among them
    full: Measured
    bodies: int  # Of our fetches of known pages, those that the site answered with a body


Crawl = Callable[[Run], None]


def compare(crawl: Crawl, prog: str, said: str | None, argv: Sequence[str], start_s: float = START_S) -> None:
    """Let a crawler keep the sites fresh that the arguments say; print a line of each."""
    parser = argparse.ArgumentParser(prog=prog, description=said)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100], help="living sites")
    parser.add_argument("--pages", type=int, default=150)
    parser.add_argument("--days", type=float, default=365.0)
    parser.add_argument("--every", type=float, default=7.0, help="days between two runs")
    parser.add_argument("--share", type=float, default=0.1, help="fetches, of those of a full recrawl")
    given = parser.parse_args(argv)
    print(f"{'site':12} {'fetches':>8} {'of full':>8} {'bodies':>7} {'fresh':>6} {'full':>6} {'of full':>8}")
    for seed in given.seeds:
        site = living(seed, pages=given.pages, years=given.days / YEAR_DAYS)
        found = run(site, given.every, given.share, crawl, start_s)
        share = found.ours.fetches / max(1, found.full.fetches)
        fresh, full = found.ours.freshness, found.full.freshness
        print(
            f"{site.name:12} {found.ours.fetches:8} {share:8.3f} {found.bodies:7} {fresh:6.3f} {full:6.3f} "
            f"{fresh / full:8.3f}",
            flush=True,
        )


def run(history: SiteHistory, every: float, share: float, crawl: Crawl, start_s: float = START_S) -> Runs:
    """Let a crawler run every so many days, with a share of the fetches of a full recrawl.

    The first run, which finds the site by its front page, counts for neither, nor do first fetches of pages.
    `start_s` is what the server takes for the time at which the history begins.
    """
    site = LivingSite(history)
    with (
        TemporaryDirectory() as folder,
        served(site) as address,
        _serving(lambda: start_s + site.day * DAY_S) as target,
    ):
        for day in np.arange(0.0, history.days, every).tolist():
            site.day = day
            there = sum(page.born <= day < page.gone for page in history.pages)
            pages = max(1, round(share * there))
            crawl(Run(address, target, Path(folder) / "job", day, pages, every))
    return _counted(site, every)


@contextmanager
def _serving(clock: Callable[[], float]) -> Iterator[str]:
    """Serve linkscore in this process, with a clock, and keep nothing; gives its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    app = asyncio.run_coroutine_threadsafe(_started(clock), loop).result(PATIENCE_S)
    try:
        yield app.address
    finally:
        asyncio.run_coroutine_threadsafe(app.stop(), loop).result(PATIENCE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _started(clock: Callable[[], float]) -> Application:
    app = Application(_SERVER, clock=clock)
    await app.start()
    return app


def _counted(site: LivingSite, every: float) -> Runs:
    """Return what was reached from what the site was asked."""
    history = site.history
    ours: list[list[float]] = [[] for _ in history.pages]
    front = bodies = wasted = 0
    for row, day, status in site.asked:
        is_again = day > 0.0 and (row < 0 or bool(ours[row]))
        bodies += is_again and status == 200
        wasted += is_again and status == 304
        if row < 0:
            front += is_again
        else:
            ours[row].append(day)
    full: list[list[float]] = [
        np.arange(np.ceil(page.born / every) * every, history.days, every).tolist() for page in history.pages
    ]
    again = [sum(max(0, len(found) - 1) for found in each) for each in (ours, full)]
    runs = len(np.arange(every, history.days, every))
    return Runs(
        measured(history, ours, _found(ours), again[0] + front, wasted),
        measured(history, full, _found(full), again[1] + runs, 0),
        bodies,
    )


def _found(fetches: list[list[float]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([found[0] if found else np.nan for found in fetches])
