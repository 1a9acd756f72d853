"""One real Scrapy crawl of a site in a child process: strictly breadth-first, or in the order of a policy."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkscore_lab.crawls.child import Child
from linkscore_lab.crawls.spider.plan import PageFetch, SpiderPlan

BREADTH_FIRST = "breadth_first"


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


def scored(
    policy: str, address: str, crawl: str, *, params: Mapping[str, Any] | None = None, feedback: bool = False
) -> Mode:
    """Return the order linkscore gives."""
    return Mode(
        policy,
        {
            "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
            "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "LINKSCORE_TARGET": address,
            "LINKSCORE_CRAWL": crawl_id(crawl),
            "LINKSCORE_POLICY": (policy, dict(params)) if params else policy,
        },
        feedback,
    )


def crawl_id(name: str) -> str:
    """Return `name` as the service wants it, 1 to 63 of ``a-z0-9_-``; its end tells names apart: kept."""
    return re.sub(r"[^a-z0-9_-]", "-", name.lower())[-63:].lstrip("-_")


def make_mode(
    policy: str, address: str, crawl: str, *, params: Mapping[str, Any] | None = None, feedback: bool = False
) -> Mode:
    """Return Scrapy's own breadth-first for that name, else linkscore under `policy`."""
    if policy == BREADTH_FIRST:
        return breadth_first()
    return scored(policy, address, crawl, params=params, feedback=feedback)


def with_settings(mode: Mode, extra: Mapping[str, Any]) -> Mode:
    """Return `mode` with more Scrapy settings, e.g. ``{"CONCURRENT_REQUESTS": 8}``."""
    return Mode(mode.name, {**mode.settings, **extra}, mode.feedback)


@dataclass(frozen=True, slots=True)
class Mode:
    """How a crawl orders its queue."""

    name: str  # What tables and reports call it
    settings: Mapping[str, Any] = field(default_factory=dict)  # Extra Scrapy settings
    feedback: bool = False  # Whether wanted pages yield an item, as a real extraction would


@dataclass(frozen=True, slots=True)
class Target:
    """What is crawled, the same for each mode."""

    entry: str  # URL of the first request
    via: str = ""  # Address of the server of a stored site; empty for a site that answers at its own URLs
    known: frozenset[str] | None = None  # Identities worth a request, or None: everything on the entry's host


@dataclass(slots=True)
class Crawl:
    """What one crawl did."""

    mode: str  # Name of the mode
    fetches: list[PageFetch] = field(default_factory=list)  # Downloaded pages in order
    dropped: int = 0  # Links dropped before the queue because they lead to no page here
    stats: dict[str, Any] = field(default_factory=dict)  # Scrapy's own stats at the end

    @property
    def unscored(self) -> int:
        """Links that went on in Scrapy's own order because the service gave no answer."""
        return int(self.stats.get("linkscore/fallback", 0))

    @property
    def pages_per_s(self) -> float:
        """Fetches per second of crawling, start-up not counted; 0 for an empty crawl."""
        seconds = self.fetches[-1].elapsed_s if self.fetches else 0.0
        return len(self.fetches) / seconds if seconds > 0 else 0.0


def run_crawl(
    target: Target,
    mode: Mode,
    budget: int,
    *,
    wanted: Iterable[str] = (),
    fetched: Callable[[PageFetch], None] = lambda fetch: None,
    log: Path | None = None,
) -> Crawl:
    """Crawl `target` in `mode` until `budget` pages are downloaded or none is left."""
    with tempfile.TemporaryDirectory(prefix="linkscore-crawl-") as folder:
        plan = _write_plan(Path(folder), target, mode, budget, wanted)
        with Child.start("linkscore_lab.crawls.spider", [str(plan)], log) as child:
            return _read_crawl(child, mode.name, fetched)


def _write_plan(folder: Path, target: Target, mode: Mode, budget: int, wanted: Iterable[str]) -> Path:
    known = _write_lines(folder / "known.txt", target.known) if target.known is not None else ""
    rewards = _write_lines(folder / "rewards.txt", wanted) if mode.feedback else ""
    plan = folder / "plan.json"
    plan.write_text(
        SpiderPlan(target.entry, budget, target.via, known, rewards, mode.settings).dumps(), encoding="utf-8"
    )
    return plan


def _write_lines(path: Path, lines: Iterable[str]) -> str:
    path.write_text("\n".join(sorted(lines)), encoding="utf-8")
    return str(path)


def _read_crawl(child: Child, mode: str, fetched: Callable[[PageFetch], None]) -> Crawl:
    crawl = Crawl(mode)
    for line in child.lines():
        if line.startswith('{"stats"'):
            crawl.stats = json.loads(line)["stats"]
            continue
        fetch = PageFetch.loads(line)
        crawl.fetches.append(fetch)
        fetched(fetch)
    crawl.dropped = int(crawl.stats.get("lab/dropped", 0))
    return crawl
