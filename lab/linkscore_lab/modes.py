"""The orders a demonstration compares: breadth-first as the baseline, and linkscore under a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkscore_lab.crawl import Mode

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


def scored(policy: str, address: str, crawl: str, *, feedback: bool = False) -> Mode:
    """Return the order linkscore gives.

    Parameters
    ----------
    policy
        Name of the policy.
    address
        ``host:port`` of the service.
    crawl
        Name of the crawl there; a new one starts without memory.
    feedback
        Whether wanted pages yield an item, which the middleware reports.
    """
    return Mode(
        policy,
        {
            "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkScoreSpiderMiddleware": 543},
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "LINKSCORE_ADDRESS": address,
            "LINKSCORE_CRAWL": crawl,
            "LINKSCORE_POLICY": policy,
        },
        feedback,
    )


def make_mode(policy: str, address: str, crawl: str, *, feedback: bool = False) -> Mode:
    """Return Scrapy's own breadth-first for that name, else linkscore under `policy`."""
    return breadth_first() if policy == BREADTH_FIRST else scored(policy, address, crawl, feedback=feedback)


def with_settings(mode: Mode, extra: Mapping[str, Any]) -> Mode:
    """Return `mode` with more Scrapy settings, e.g. ``{"CONCURRENT_REQUESTS": 8}``."""
    return Mode(mode.name, {**mode.settings, **extra}, mode.feedback)
