"""What others wait for while a large site is written, evicted or read back: ``python -m benchmarks.stalls``.

A site of 10,000 pages, generated, is one of two of its crawl. Meanwhile somebody gives feedback to the other
site and somebody to another crawl, one event after the other. A row is one kind of work: how long it took,
and the longest that any event waited of another crawl, of another site of the crawl, and the one of the site
itself that came as the work began. Each is the median of some rounds; the first row is the machine's own.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.generated_site import site_pages
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven, PageFetched
from linkscore_scoring.features.html import Extractor
from linkscore_server.app import tune_interpreter
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import Store, open_store

LARGE, SMALL, PAGES, ROUNDS = "forum.test", "small.test", 10_000, 5
COLUMNS = ("while the site is", "for, ms", "another crawl, ms", "another site, ms", "the site itself, ms")
_A_CALL = 50
_PAUSE_S, _NOTHING_S = 0.002, 0.3
_numbers = itertools.count()


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    with TemporaryDirectory(prefix="linkscore-bench-") as folder:
        asyncio.run(measure(open_store(folder), args.pages, args.rounds))


async def measure(store: Store, pages: int, rounds: int) -> None:
    """Fill the crawls, and print a row for each kind of work."""
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    large, other = [await registry.create(CrawlConfig(name)) for name in ("large", "other")]
    await fill(large, pages)
    tune_interpreter()
    print(f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", sep="\n")
    for what, prepare, work in kinds(registry, large):
        found = []
        for _ in range(rounds):
            await prepare()
            found.append(await waits(large, other, work))
        cells = [f"{median(column):.0f}" for column in zip(*found, strict=True)]
        print(f"| {' | '.join([what, *cells])} |", flush=True)
    await registry.close()
    store.close()


async def fill(actor: CrawlActor, pages: int) -> None:
    """Send the pages of the large site, and an event of the small one."""
    extractor, found_pages = Extractor(), site_pages(pages)
    while call := list(itertools.islice(found_pages, _A_CALL)):
        events = []
        for url, body in call:
            found = extractor.extract(body, url=url, content_type="text/html")
            events.append(PageFetched("", LARGE, url, found.key, 200, "", b"", 0.0, found))
        await actor.submit_all(events)
    await actor.submit(told(SMALL))


Work = Callable[[], Awaitable[object]]


def kinds(registry: CrawlRegistry, actor: CrawlActor) -> list[tuple[str, Work, Work]]:
    """Return each kind of work by its name: what comes before it, and itself."""
    sites, budget = actor.model.sites, registry.memory.budget

    async def has_changed() -> None:
        await actor.submit(told(LARGE))

    async def is_evicted() -> None:
        if not sites.away([LARGE]):
            await has_changed()
            await evict()

    async def evict() -> None:
        budget.limit = budget.used - 1
        await actor.evict_sites(1)
        budget.limit = Settings().site_memory_mb << 20

    async def nothing() -> None:
        await asyncio.sleep(0)

    return [
        ("left alone", nothing, lambda: asyncio.sleep(_NOTHING_S)),
        ("written", has_changed, actor.save),
        ("evicted", has_changed, evict),
        ("read back by an event", is_evicted, lambda: actor.submit(told(LARGE))),
        ("read back by a question", is_evicted, lambda: actor.site(LARGE)),
    ]


async def waits(actor: CrawlActor, other: CrawlActor, work: Work) -> tuple[float, ...]:
    """Return how long the work took, and the longest that an event waited beside it, by whose it was."""

    async def done() -> float:
        started = time.perf_counter()
        await work()
        return _ms_since(started)

    working = asyncio.create_task(done())
    beside = [asyncio.create_task(longest(crawl, working)) for crawl in (other, actor)]
    await asyncio.sleep(_PAUSE_S)
    started = time.perf_counter()
    await actor.submit(told(LARGE))
    own = _ms_since(started)
    return await working, *(await asyncio.gather(*beside)), own


async def longest(actor: CrawlActor, until: asyncio.Task[float]) -> float:
    """Return the longest that an event of the small site waited until some work was done."""
    waited = 0.0
    while not until.done():
        started = time.perf_counter()
        await actor.submit(told(SMALL))
        waited = max(waited, _ms_since(started))
        await asyncio.sleep(_PAUSE_S)
    return waited


def told(site: str) -> FeedbackGiven:
    """Return an event that is new."""
    n = next(_numbers)
    return FeedbackGiven(f"{n}", site, f"http://{site}/{n}", b"", 1.0, 0.0)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3


if __name__ == "__main__":
    main()
