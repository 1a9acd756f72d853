"""FoCUS on a generated forum: all threads, little else, from any page; and when it has nothing to say."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.policies.base import FOLLOW, SKIP, make_params
from linkscore_scoring.policies.focus import Focus
from linkscore_scoring.state import packed, unpacked
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


@pytest.mark.parametrize("start", ["/", "/topic?t=77", "/user?u=3", "/board?b=1&page=3", "/faq"])
def test_every_thread_is_fetched_and_little_else_from_any_page(start: str) -> None:
    crawler = Crawler(Forum(), start).run()
    threads = Forum().threads()
    assert threads <= set(crawler.fetched)
    others = [path for path in crawler.fetched if path.startswith(("/user", "/faq", "/search"))]
    assert len(others) <= 9
    assert len(crawler.fetched) == len(threads) + len(others) + 1 + 3 * 4


@pytest.mark.parametrize("start", ["/", "/topic?t=77", "/user?u=3"])
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


def test_rules_are_expressions_of_the_four_kinds() -> None:
    crawler = Crawler(Forum()).run()
    rules = policy_of(crawler).rules(site_of(crawler))
    assert {rule.kind for rule in rules} == {"index", "thread", "index_flip", "thread_flip"}
    assert all(0.5 < rule.confidence <= 1.0 and rule.matches for rule in rules)


def test_pages_of_a_thread_have_one_id_whichever_comes_first() -> None:
    for first in ("/topic?t=5", "/topic?t=5&page=2"):
        crawler = Crawler(Forum()).run(60)
        crawler._fetch(first, b"")
        assert crawler.last.thread_id == f"{ROOT}/topic?t=5"


def session_free(path: str) -> str:
    return re.sub(r"[?&]sid=[0-9a-f]{32}", "", path)


class SessionForum(Forum):
    """Gives the links of every page a new session id, and takes any."""

    fetches = 0

    def page(self, path: str) -> PageFeatures | None:
        self.fetches += 1
        session = hashlib.md5(str(self.fetches).encode()).hexdigest()
        found = super().page(session_free(path))
        if found is not None:
            found.url = found.key = ROOT + path
            urls = [f"{url}{'&' if '?' in url else '?'}sid={session}" for url in found.links.urls]
            found.links.urls, found.links.keys = urls, list(urls)
        return found


class SessionCrawler(Crawler):
    """Fetches no page twice under two session ids."""

    def _next(self) -> tuple[str, bytes] | None:
        seen = set(map(session_free, self.fetched))
        while (link := super()._next()) is not None and session_free(link[0]) in seen:
            self.fetched.append(link[0])
        return link


def test_session_ids_stay_out_of_rules_and_thread_ids() -> None:
    crawler = SessionCrawler(SessionForum()).run(100)
    assert site_of(crawler).sessions.names() == ["sid"]
    rules = policy_of(crawler).rules(site_of(crawler))
    assert {"index", "thread"} <= {rule.kind for rule in rules}
    assert not [rule.pattern for rule in rules if "sid" in rule.pattern]
    for session in ("a1b2c3d4" * 4, "0f1e2d3c" * 4):
        crawler._fetch(f"/topic?t=5&page=2&sid={session}", b"")
        assert crawler.last.thread_id == f"{ROOT}/topic?t=5"


def test_pages_are_typed_by_the_votes_for_their_pattern() -> None:
    crawler = Crawler(Forum()).run(60)
    types = {}
    for path in ("/", "/board?b=1", "/topic?t=5", "/user?u=1"):
        crawler._fetch(path, b"")
        types[path] = crawler.last.page_type
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


def test_pages_without_layout_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    forum = Forum()
    make = forum.page

    def bare(path: str) -> Any:
        page = make(path)
        if page is not None:
            page.layout = None
        return page

    monkeypatch.setattr(forum, "page", bare)
    crawler = Crawler(forum).run(40)
    assert "page layouts are known of 0 of 40 pages" in policy_of(crawler).describe(site_of(crawler))


def test_a_redesign_in_mid_crawl_is_noticed_and_learned_anew() -> None:
    crawler = Crawler(Forum()).run(120)
    before = policy_of(crawler).relearned
    crawler.forum = Forum(thread="/subject?s=")
    crawler.fetched = [path for path in crawler.fetched if not path.startswith("/board")]
    for path in ("/board?b=0", "/board?b=1", "/board?b=2"):
        crawler._fetch(path, b"")
    crawler.run()
    assert before == 0
    assert policy_of(crawler).relearned >= 1
    assert "learned again" in policy_of(crawler).describe(site_of(crawler))
    found = Forum(thread="/subject?s=").threads().intersection(crawler.fetched)
    assert len(found) >= 0.9 * 240
    urls = [f"{ROOT}/subject?s=500", f"{ROOT}/topic?t=500"]
    assert CrawlQueries(crawler.model).score_links(urls, urls, [b""] * 2, [""] * 2).verdicts == [FOLLOW, SKIP]


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
    low, high = policy.model.news_of([tags, boards])
    assert low < high
    found = CrawlQueries(crawler.model).score_links(urls, urls, [b""] * 4, [""] * 4)
    assert found.scores[0] < found.scores[1] < found.scores[3] < found.scores[2]


def test_requests_name_unfetched_pages_and_a_reason() -> None:
    crawler = Crawler(Forum(), "/topic?t=77").run(3)
    wanted = policy_of(crawler).suggest_fetches(5, site_of(crawler))
    assert wanted
    assert not {suggestion.url.removeprefix(ROOT) for suggestion in wanted} & set(crawler.fetched)
    assert all(suggestion.reason and 0.0 < suggestion.urgency <= 1.0 for suggestion in wanted)


def test_a_crawl_restored_while_the_way_is_known_goes_on_alike() -> None:
    one, two = Crawler(Forum()).run(70), Crawler(Forum()).run(70)
    model = CrawlModel(one.model.config, ticket_key=b"key")
    model.load_state(unpacked(packed(one.model.to_state())))
    one.model = model
    assert one.run(100).fetched == two.run(100).fetched
    assert packed(one.model.to_state()) == packed(two.model.to_state())


def test_a_bucket_is_worth_what_its_links_are_while_the_way_is_known() -> None:
    crawler = Crawler(Forum()).run(70)
    urls = [f"{ROOT}{path}" for path in sorted(Forum().threads())] + [f"{ROOT}/user?u=1", f"{ROOT}/new/x"]
    found = CrawlQueries(crawler.model).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
    values = CrawlQueries(crawler.model).rank_buckets(found.bucket_names)[1]
    assert [values[bucket] for bucket in found.buckets] == found.scores.tolist()


def test_a_fallback_that_falls_back_is_refused() -> None:
    with pytest.raises(InvalidParams, match="neither falls back"):
        make_params(Focus, {"fallback": "focus"})
