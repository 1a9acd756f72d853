"""One real Scrapy crawl of a site in a child process: strictly breadth-first, or in the order of a policy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from linkscore_lab.crawls.servers import ended, stop

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
    fetched: Callable[[PageFetch], None] = lambda fetch: None,
    log: Path | None = None,
) -> Crawl:
    """Crawl a site from its entry in `mode` until `budget` pages are downloaded or none is left.

    `fetched` is called with each fetch as it happens. Scrapy's log goes to `log`, standard error if None.
    Raises `ChildFailed`.
    """
    with tempfile.TemporaryDirectory(prefix="linkscore-crawl-") as folder:
        plan = Path(folder) / "plan.json"
        told = {"entry": entry, "budget": budget, "settings": dict(mode.settings)}
        plan.write_text(json.dumps(told), encoding="utf-8")
        command = [sys.executable, "-m", "linkscore_lab.crawls.spider", str(plan)]
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
                fetched(crawl.fetches[-1])
            if process.wait() or not crawl.stats:
                raise ended(f"the crawl {mode.name} ended with status {process.returncode}", log)
        finally:
            process.stdin.close()
            stop(process)
            process.stdout.close()
    return crawl
