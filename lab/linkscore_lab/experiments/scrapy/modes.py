"""The orders a demonstration compares: breadth-first as the baseline, and linkscore under a policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from linkscore_lab.experiments.scrapy.crawl import Mode

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
    """Return the order linkscore gives.

    Parameters
    ----------
    policy
        Name of the policy.
    address
        ``host:port`` of the service.
    crawl
        What to call the crawl there; a new name starts without memory.
    params
        Parameters of the policy that differ from their defaults.
    feedback
        Whether wanted pages yield an item, which the middleware reports.
    """
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
