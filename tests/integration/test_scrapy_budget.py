"""Real Scrapy crawls with a budget (docs/guides/budgets.md): they end at the very fetch, and lose nothing."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linkscore import Client
from support.crawlers import scrapy_run
from support.crawlers.page_server import serving_pages
from support.server_process import ServerProcess, serving

at: dict[int, Callable[[], object]] = {}
"""What happens before the fetch of a number is answered."""


def body_of(path: str) -> str | None:
    """Return a page of sixty items on six lists, and of a calendar without end."""
    kind, _, number = path.strip("/").partition("/")
    n = int(number or 0)
    return {
        "": "".join(f'<li><a href="/list/{i}">l</a></li>' for i in range(6)) + '<a href="/week/1">w</a>',
        "list": "".join(f'<h3><a href="/item/{i}">i</a></h3>' for i in range(10 * n, 10 * n + 10)),
        "item": f"<p>{f'what item {n} is, ' * 30}</p>",
        "week": f'<table><tr><td><a href="/week/{n + 1}">next</a></table>',
    }.get(kind)


@pytest.fixture
def shop() -> Iterator[tuple[str, list[str]]]:
    at.clear()
    numbers = itertools.count(1)  # `len(seen)` may skip one: many threads answer

    def answered(path: str) -> str | None:
        at.pop(next(numbers), int)()
        return body_of(path)

    with serving_pages(answered) as (host, seen):
        yield f"http://{host}", seen


def crawl(base: str, target: str, **settings: Any) -> dict[str, Any]:
    many = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
    run = scrapy_run.crawl(base, LINKSCORE_TARGET=target, **many, **settings)
    assert "Traceback" not in run.log
    return run.stats


def test_a_crawl_ends_at_its_last_fetch_with_many_in_flight(
    shop: tuple[str, list[str]], server: ServerProcess
) -> None:
    base, seen = shop
    stats = crawl(base, server.target, LINKSCORE_CRAWL="last", LINKSCORE_BUDGET={"max_fetches": 30})
    assert (len(seen), stats["finish_reason"]) == (30, "linkscore_budget")
    with Client(server.target) as client:
        assert client.get_crawl(crawl="last").page_count == 30


def test_what_waited_goes_on_with_more_budget(
    shop: tuple[str, list[str]], server: ServerProcess, tmp_path: Path
) -> None:
    base, seen = shop
    job = {"LINKSCORE_CRAWL": "more", "JOBDIR": str(tmp_path / "job")}
    crawl(base, server.target, LINKSCORE_BUDGET={"max_site_fetches": 20}, **job)
    first = len(seen)
    assert first < 20 + 16
    crawl(base, server.target, LINKSCORE_BUDGET={"max_fetches": 60}, **job)
    assert len(seen) == 60
    assert sorted(path for path in set(seen) if seen.count(path) > 1) == ["/"]  # the start, as Scrapy does
    with Client(server.target) as client:
        assert client.get_crawl(crawl="more").page_count == 60


@pytest.mark.parametrize("path", ["/item/", "/no-such-thing/"])
def test_more_starts_than_the_budget_allows_are_not_all_begun(
    shop: tuple[str, list[str]], server: ServerProcess, path: str
) -> None:
    base, seen = shop
    starts = [f"{path}{n}" for n in range(40)]
    stats = crawl(
        base,
        server.target,
        LINKSCORE_CRAWL=f"starts-{path[1]}",
        LINKSCORE_BUDGET={"max_fetches": 5},
        START=starts,
    )
    assert (len(seen), stats["finish_reason"]) == (5, "linkscore_budget")


def test_a_crawl_whose_server_never_comes_back_ends_at_its_last_fetch(
    shop: tuple[str, list[str]], tmp_path: Path
) -> None:
    base, seen = shop
    with serving(tmp_path) as running:
        at[40] = running.kill
        stats = crawl(
            base, running.target, LINKSCORE_CRAWL="c", LINKSCORE_BUDGET={"max_fetches": 60}, PATIENCE_S=0
        )
    assert (len(seen), stats["finish_reason"]) == (60, "linkscore_budget")


@pytest.mark.slow
def test_a_server_that_comes_back_gets_every_page_of_a_crawl_that_waits_for_it(
    shop: tuple[str, list[str]], tmp_path: Path
) -> None:
    base, seen = shop
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(serving(tmp_path))
        at[40] = running.kill
        at[60] = lambda: stack.enter_context(serving(tmp_path, "--listen", running.target))
        stats = crawl(
            base,
            running.target,
            LINKSCORE_CRAWL="c",
            LINKSCORE_BUDGET={"max_fetches": 60},
            PATIENCE_S=400,
            PROBE_LONGEST_S=1,
            PROBE_TIMEOUT_S=60,
        )
        assert (len(seen), stats["finish_reason"]) == (60, "linkscore_budget")
        with Client(running.target) as client:
            assert client.get_crawl(crawl="c").page_count == 60
