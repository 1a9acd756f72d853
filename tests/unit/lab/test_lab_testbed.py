"""Budgets and wanted pages of a site, and how a comparison is shown."""

from __future__ import annotations

from urllib.request import urlopen

import pytest

from linkscore_lab.crawls import servers
from linkscore_lab.crawls.crawl import Target
from linkscore_lab.crawls.demo import Testbed
from linkscore_lab.crawls.servers import SiteServer
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.survey import PageFacts
from linkscore_scoring.errors import InvalidInput

PAGES = {f"u{n}": PageFacts((), f"c{n}") for n in range(10)}
TYPES = {"u0": "home", "u1": "thread", "u2": "thread"}
TESTBED = Testbed("s", Target("http://s.test/"), DemoSite(1, n_threads=10, n_members=2), PAGES, TYPES)


@pytest.mark.parametrize(("text", "budget"), [("25%", 2), ("100%", 10), ("7", 7), ("12.5%", 1)])
def test_a_budget_is_a_share_rounded_down_or_a_number(text: str, budget: int) -> None:
    assert TESTBED.budget(text) == budget


@pytest.mark.parametrize("text", ["", "0", "-3", "5%", "many", "%", "nan%", "1e400%"])
def test_a_budget_of_no_page_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="budget: must be a share"):
        TESTBED.budget(text)


@pytest.mark.parametrize("types", [[], ["post"]])
def test_types_the_site_has_not_are_refused(types: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"relevant: must be page types of s \(home, thread\)"):
        TESTBED.wanted(types)


def test_a_site_that_is_served_with_latency_waits_before_each_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(servers.time, "sleep", waits.append)
    with SiteServer(DemoSite(1), latency_s=0.2).running() as address, urlopen(f"{address}/") as reply:
        assert reply.read()
    assert waits == [0.2]
