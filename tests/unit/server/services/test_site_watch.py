"""What is told of a site while it is crawled: once, at its size, and never at the cost of a call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from linkscore_scoring.engine.reports import SiteAdvice, TrapKind, TrapReport
from linkscore_scoring.site.crawl_history import Tally
from linkscore_scoring.types import SiteWarning
from linkscore_server.observability import Metrics
from linkscore_server.services.scoring import SiteWatch

SITE = "a.test"


def trap(shape: str) -> TrapReport:
    return TrapReport(TrapKind.ENDLESS, 1, 0, Tally(), Tally(), 0.5, 0.0, 9, [], shape)


class Crawl:
    """Stands in for the actor of a crawl: advice as set, and how often it was asked."""

    def __init__(self) -> None:
        self.key, self.asked = "c", 0
        self.advice = SiteAdvice(by_reward=False)
        self.model = self
        self.config = type("Config", (), {"name": "c"})

    def use(self) -> None:
        """Nothing puts it away."""

    async def ask(self, question: Callable[[], Any]) -> Any:
        self.asked += 1
        return self.advice


def told(metrics: Metrics, kind: str) -> float:
    return metrics.registry.get_sample_value("linkscore_site_notices_total", {"kind": kind}) or 0.0


async def fetch(watch: SiteWatch, crawl: Crawl, n: int) -> None:
    for _ in range(n):
        watch.fetched(crawl, SITE)  # type: ignore[arg-type]
        await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_what_is_new_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics, crawl = Metrics(), Crawl()
    watch = SiteWatch(metrics)
    crawl.advice.traps = [trap("a.test/calendar")]
    with caplog.at_level(logging.WARNING):
        await fetch(watch, crawl, 90)
        assert (crawl.asked, told(metrics, "trap_endless"), told(metrics, "needs_examples")) == (3, 1.0, 0.0)
        crawl.advice.traps.append(trap("a.test/print"))
        crawl.advice.warnings = [SiteWarning("needs_examples", "three examples would help")]
        await fetch(watch, crawl, 200)
    assert (told(metrics, "trap_endless"), told(metrics, "needs_examples")) == (2.0, 1.0)
    assert [record.getMessage().partition(": ")[2][:15] for record in caplog.records] == [
        "a.test/calendar",
        "a.test/print lo",
        "three examples ",
    ]
