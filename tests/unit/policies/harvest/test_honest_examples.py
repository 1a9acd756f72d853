"""Honest examples find no less than none: the forum of examples/site.py, where tags look like threads."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.testing.crawl import GeneratedSite, SimulatedCrawl
from linkscore_scoring.types import ExamplePage

PAGE = runpy.run_path(str(Path(__file__).parents[4] / "examples/site.py"))["page"]
H, THREADS, FETCHES = "http://forum.test", 360, 100


class Forum(GeneratedSite):
    """The pages of the forum as a site to crawl."""

    def __init__(self) -> None:
        self._read: dict[str, PageFeatures] = {}

    def is_wanted(self, url: str) -> bool:
        return "/thread/" in url

    def page(self, url: str) -> PageFeatures | None:
        html = PAGE(url.removeprefix(H))
        if html is not None and url not in self._read:
            self._read[url] = extract(html.encode(), url=url, content_type="text/html; charset=utf-8")
        return self._read.get(url)


@pytest.fixture(scope="module")
def forum() -> Forum:
    return Forum()


def found(forum: Forum, *examples: ExamplePage) -> float:
    model = CrawlModel(CrawlConfig("c", examples=examples), ticket_key=b"key")
    return SimulatedCrawl(model, forum, seeds=[f"{H}/"]).fetch(FETCHES).wanted_share()


def drawn(forum: Forum, seed: int, *, with_url: bool) -> list[ExamplePage]:
    examples = []
    for thread in random.Random(seed).sample(range(THREADS), 3):
        page = forum.page(f"{H}/thread/{thread}")
        assert page is not None
        url = page.url if with_url else ""
        examples.append(ExamplePage(url, url, "thread", page.paths))
    return examples


@pytest.mark.parametrize("with_url", [True, False], ids=["html and url", "html only"])
def test_three_examples_find_no_less_than_none(forum: Forum, with_url: bool) -> None:
    none = found(forum)
    assert min(found(forum, *drawn(forum, seed, with_url=with_url)) for seed in (1, 2)) >= none
