"""What is asked of Scrapy's engine beyond its public interface; each does nothing where that is not found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def nudge(crawler: Any) -> None:
    """Ask the engine to look at the scheduler again: a pop may have waited for the page now scored."""
    slot = getattr(crawler.engine, "_slot", None)
    if slot is not None:
        slot.nextcall.schedule()


def flush_seen(crawler: Any) -> None:
    """Write what the duplicate filter knows to the job directory: a kill must not part it from the queue."""
    slot = getattr(crawler.engine, "_slot", None)
    duplicates = getattr(getattr(slot, "scheduler", None), "df", None)
    file = getattr(duplicates, "file", None)
    if file is not None:
        file.flush()


def on_last_failure(crawler: Any, tell: Callable[..., None]) -> bool:
    """Call `tell` for fetches that fail for good: the last word, behind all downloader middlewares."""
    middleware = getattr(crawler.engine.downloader, "middleware", None)
    methods = getattr(middleware, "methods", None)
    if methods is None:
        return False
    methods["process_exception"].append(tell)
    return True
