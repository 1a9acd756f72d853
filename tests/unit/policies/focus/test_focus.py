"""FoCUS on a generated forum: all threads, little else, from any page; and when it has nothing to say."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.base import FOLLOW, SKIP
from linkscore_scoring.policies.focus.policy import Focus
from linkscore_scoring.types import INDEX, OTHER, PAGE_FLIP, THREAD
from support.focus.generated_forum import OTHER_PAGE, ROOT, Crawler, Forum, TypesAsWritten


@pytest.fixture(autouse=True)
def types_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscore_scoring.policies.focus.policy.load_page_types", lambda _: TypesAsWritten())


def site_of(crawler: Crawler) -> Any:
    return crawler.model.sites["h"].model


def policy_of(crawler: Crawler) -> Focus:
    policy = crawler.policy
    assert isinstance(policy, Focus)
    return policy


@pytest.mark.parametrize("start", ["/", "/board?b=1&page=3", "/faq"])
def test_every_thread_is_fetched_and_little_else_from_any_page(start: str) -> None:
    crawler = Crawler(Forum(), start).run()
    threads = Forum().threads()
    assert threads <= set(crawler.fetched)
    others = [path for path in crawler.fetched if path.startswith(("/user", "/faq", "/search"))]
    assert len(others) <= 9
    assert len(crawler.fetched) == len(threads) + len(others) + 1 + 3 * 4


@pytest.mark.parametrize("start", ["/topic?t=77", "/user?u=3"])
def test_the_entry_is_found_from_any_page(start: str) -> None:
    crawler = Crawler(Forum(), start).run(60)
    (seed, *_) = policy_of(crawler).suggest_seeds(3, site_of(crawler))
    assert seed.url == f"{ROOT}/"
    assert seed.value == 1.0


def test_links_are_typed_and_have_a_verdict() -> None:
    crawler = Crawler(Forum()).run(80)
    urls = [f"{ROOT}{path}" for path in ("/topic?t=119", "/board?b=2", "/board?b=2&page=3", "/user?u=6")]
    found = CrawlQueries(crawler.model).score_links(urls, urls, [b""] * 4, [""] * 4)
    assert found.url_types == [THREAD, INDEX, PAGE_FLIP, OTHER]
    assert found.verdicts == [FOLLOW, FOLLOW, FOLLOW, SKIP]
    assert sorted(found.scores, reverse=True)[0] == found.scores[0] == 0.9


def test_pages_of_a_thread_have_one_id_whichever_comes_first() -> None:
    for first in ("/topic?t=5", "/topic?t=5&page=2"):
        crawler = Crawler(Forum()).run(60)
        crawler._fetch(first, b"")
        assert crawler.last.note.thread_id == f"{ROOT}/topic?t=5"


def test_pages_are_typed_by_the_votes_for_their_pattern() -> None:
    crawler = Crawler(Forum()).run(60)
    types = {}
    for path in ("/", "/board?b=1", "/topic?t=5", "/user?u=1"):
        crawler._fetch(path, b"")
        types[path] = crawler.last.note.page_type
    assert types == {"/": 4, "/board?b=1": 1, "/topic?t=5": 2, "/user?u=1": 3}


def test_a_site_without_threads_is_left_to_the_fallback_and_the_reason_is_told() -> None:
    crawler = Crawler(Forum(thread_type=OTHER_PAGE)).run(150)
    policy = policy_of(crawler)
    assert not policy.is_ready(site_of(crawler))
    assert policy.describe(site_of(crawler)).startswith("abstains, no forum so far: 0 thread pages")
    assert policy.rules(site_of(crawler)) == []
    urls = [f"{ROOT}/topic?t=119"]
    assert CrawlQueries(crawler.model).score_links(urls, urls, [b""], [""]).verdicts is None
    assert len(crawler.fetched) == 150


def test_after_a_redesign_in_mid_crawl_the_new_threads_are_followed() -> None:
    crawler = Crawler(Forum()).run(120)
    crawler.forum = Forum(thread="/subject?s=")
    crawler.fetched = [path for path in crawler.fetched if not path.startswith("/board")]
    for path in ("/board?b=0", "/board?b=1", "/board?b=2"):
        crawler._fetch(path, b"")
    crawler.run()
    found = Forum(thread="/subject?s=").threads().intersection(crawler.fetched)
    assert len(found) >= 0.9 * 240
    urls = [f"{ROOT}/subject?s=500"]
    assert CrawlQueries(crawler.model).score_links(urls, urls, [b""], [""]).verdicts == [FOLLOW]


def test_indexes_that_show_nothing_new_are_skipped_after_some_pages() -> None:
    crawler = Crawler(Forum(tags=30), dry_pages=5).run()
    tags = [path for path in crawler.fetched if path.startswith("/tag")]
    assert Forum().threads() <= set(crawler.fetched)
    assert 5 <= len(tags) <= 12
    urls = [f"{ROOT}/tag?n=29", f"{ROOT}/board?b=2"]
    found = CrawlQueries(crawler.model).score_links(urls, urls, [b""] * 2, [""] * 2)
    assert found.url_types == [INDEX, INDEX]
    assert found.verdicts is not None
    assert found.verdicts[0] == SKIP
    everything = Crawler(Forum(tags=30), dry_pages=0).run().fetched
    assert len([path for path in everything if path.startswith("/tag")]) == 30


def test_indexes_that_show_the_most_new_threads_come_first() -> None:
    crawler = Crawler(Forum(tags=30)).run()
    urls = [f"{ROOT}/tag?n=29", f"{ROOT}/board?b=2", f"{ROOT}/topic?t=119", f"{ROOT}/board?b=2&page=3"]
    policy = policy_of(crawler)
    tags, boards = (policy.model.pattern_of(url) for url in urls[:2])
    of_tags, of_boards = policy.model.news_of([tags, boards])
    assert of_boards < of_tags  # which were first to show most threads
    found = CrawlQueries(crawler.model).score_links(urls, urls, [b""] * 4, [""] * 4)
    assert found.scores[1] < found.scores[0] < found.scores[3] < found.scores[2]


def test_a_bucket_is_worth_what_its_links_are_while_the_way_is_known() -> None:
    crawler = Crawler(Forum()).run(70)
    urls = [f"{ROOT}{path}" for path in sorted(Forum().threads())] + [f"{ROOT}/user?u=1", f"{ROOT}/new/x"]
    found = CrawlQueries(crawler.model).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
    values = CrawlQueries(crawler.model).plan_fetches(found.bucket_names, 0).values
    assert [values[bucket] for bucket in found.buckets] == found.scores.tolist()
