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


def with_settings(mode: Mode, extra: Mapping[str, Any]) -> Mode:
    """Return `mode` with more Scrapy settings, e.g. ``{"CONCURRENT_REQUESTS": 8}``."""
    return Mode(mode.name, {**mode.settings, **extra}, mode.feedback)
