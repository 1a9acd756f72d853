"""Crawlee for Python, as it is installed, in the order of a server; skipped where it is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from support.crawlee.crawl_checks import NOWHERE, check_whole_crawl, kinds
from support.fake_linkscore import FakeLinkscore

pytest.importorskip("crawlee", reason="crawlee is not installed: make test-clients has it")
pytestmark = pytest.mark.filterwarnings("default")  # what other packages warn of is theirs

from crawlee import ConcurrencySettings  # noqa: E402
from crawlee.crawlers import BeautifulSoupCrawler  # noqa: E402
from crawlee.storage_clients import MemoryStorageClient  # noqa: E402

from linkscore.crawlee import LinkscoreRequestManager  # noqa: E402


def crawler_of(manager: LinkscoreRequestManager, **options: Any) -> BeautifulSoupCrawler:
    crawler = BeautifulSoupCrawler(
        request_manager=manager,
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(desired_concurrency=1, max_concurrency=1),
        request_handler_timeout=timedelta(seconds=60),
        configure_logging=False,
        **{"max_request_retries": 0, **options},
    )

    @crawler.router.default_handler
    async def handle(context: Any) -> None:
        await context.enqueue_links()
        if "thread" in context.request.url:
            await manager.reward(context.request, items=1)

    return manager.attach(crawler)


async def test_the_best_bucket_is_crawled_first(fake: FakeLinkscore, site: tuple[str, list[str]]) -> None:
    start, asked = site
    manager = LinkscoreRequestManager(f"127.0.0.1:{fake.port}", crawl="c")
    await crawler_of(manager).run([start])
    check_whole_crawl(fake, asked, manager.session.counts)
    assert {event.url.split("/")[3] for event in fake.feedback} == {"thread"}
    assert all(event.ticket for event in fake.feedback)
    assert await manager.is_finished()
    assert await manager.get_total_count() == await manager.get_handled_count() == 22
    await manager.close()


async def test_retries_go_first_and_are_reported_once(
    fake: FakeLinkscore, site: tuple[str, list[str]]
) -> None:
    start, asked = site
    manager = LinkscoreRequestManager(f"127.0.0.1:{fake.port}", crawl="c")
    crawler = crawler_of(manager, max_request_retries=1)
    failing = {"thread/1"}

    @crawler.pre_navigation_hook
    async def fail_once(context: Any) -> None:
        if context.request.url.split("/", 3)[3] in failing:
            failing.clear()
            raise RuntimeError("the network")

    await crawler.run([start])
    assert kinds(asked) == ["thread", "tag", "gone"]
    assert manager.session.counts["failed"] == 3
    await manager.close()


async def test_a_crawl_goes_on_without_the_server(site: tuple[str, list[str]]) -> None:
    start, asked = site
    manager = LinkscoreRequestManager(NOWHERE, crawl="c", timeout_s=1.0)
    await crawler_of(manager).run([start])
    assert len(set(asked)) == 22
    assert kinds(asked)[:3] == ["tag", "gone", "thread"]
    assert manager.session.counts["fallback"] == 9 + 12
    await manager.close()
