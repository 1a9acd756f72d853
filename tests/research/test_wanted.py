"""Crawls for what is wanted in words: tasks from tags that pages carry, and every order on one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.stored import StoredSite
from linkscore_research.wanted.measure import ORDERS, TIMES, Bench
from linkscore_research.wanted.tasks import TAGS, TagTask, WantedSite, tag_tasks
from linkscore_scoring.features.types import Words
from support.tagged_blog import POSTS, TOPICS, tagged_blog


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> SiteSource:
    return tagged_blog(tmp_path_factory.mktemp("blog"))


@pytest.fixture(scope="module")
def site(sources: SiteSource) -> Iterator[StoredSite]:
    with prepare_site([sources], workers=1, words=Words.COUNTED) as made:
        yield made


@pytest.fixture(scope="module")
def tasks(site: StoredSite) -> list[TagTask]:
    return list(tag_tasks(WantedSite("blog", frozenset({"post"}), 5, 50, TAGS), site))


def test_a_task_is_the_posts_of_a_tag_and_its_query_the_tag(tasks: list[TagTask]) -> None:
    assert sorted(task.tag for task in tasks) == sorted(TOPICS)
    assert all(len(task.pages) == POSTS for task in tasks)
    assert all(task.wanted.queries[0].text == task.tag for task in tasks)


def test_tasks_of_several_sites_are_what_at_least_two_of_them_have(
    sources: SiteSource, tmp_path: Path
) -> None:
    shop = {"http://shop.test/": "<a href='/1'>1</a>"}
    shop["http://shop.test/1"] = "<title>x</title><a rel='tag' href='/t'>Maps</a>"
    labels = tmp_path / "shop.labels.tsv"
    labels.write_text("url\tpage_type\nhttp://shop.test/1\tpost\n")
    parts = [sources, SiteSource([write_warc(tmp_path / "shop.warc.gz", shop)], labels)]
    spec = WantedSite("both", frozenset({"post"}), 5, 50, TAGS, ("blog", "shop"))
    with prepare_site(parts, workers=1, words=Words.COUNTED) as both:
        (task,) = tag_tasks(spec, both)
        assert task.tag == "maps"
        assert len(task.pages) == POSTS + 1
        outcome = Bench(both).run(task, "topic")
    assert outcome.recall[-1] == 1.0


@pytest.mark.parametrize("order", [name for name in ORDERS if name != "crawl4ai"])
def test_every_order_crawls_a_task(order: str, site: StoredSite, tasks: list[TagTask]) -> None:
    outcome = Bench(site).run(tasks[-1], order)
    assert len(outcome.recall) == len(TIMES)
    assert sorted(outcome.recall) == list(outcome.recall)
    assert 0.0 <= outcome.area <= 1.0


def test_words_find_what_layout_cannot_tell(site: StoredSite, tasks: list[TagTask]) -> None:
    bench = Bench(site)
    at_twice = {name: bench.run(tasks[-1], name).recall[1] for name in ("topic", "harvest", "oracle")}
    assert at_twice["topic"] == at_twice["oracle"] == 1.0
    assert at_twice["harvest"] < 1.0
