"""Examples of a crawl reach the sites they are of, survive a restart, and may be added."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.policies.harvest import Harvest
from linkscore_scoring.testing.crawl import visit
from linkscore_scoring.testing.pages import page_of, trie_of
from linkscore_scoring.types import ExamplePage

HERE = ExamplePage("http://h/1", "http://h/1", "post", trie_of(["html/body[post]/text()"]))
THERE = ExamplePage("http://other/1", "http://other/1")
ANYWHERE = ExamplePage(paths=trie_of(["html/text()"]))


def shown(model: CrawlModel) -> int:
    policy = model.sites["h"].served
    assert isinstance(policy, Harvest)
    return len(policy.likeness)


def test_a_site_gets_its_examples_and_those_without_url() -> None:
    model = CrawlModel(CrawlConfig("c", examples=(HERE, THERE, ANYWHERE)), ticket_key=b"k")
    visit(model, "http://h/", page_of("http://h/"))
    assert shown(model) == 2


def test_examples_added_reach_sites_that_are_there() -> None:
    model = CrawlModel(CrawlConfig("c"), ticket_key=b"k")
    visit(model, "http://h/", page_of("http://h/"))
    config = model.config.with_examples([HERE, THERE])
    model.apply(2, ConfigChanged(config.to_state()))
    assert shown(model) == 1


def test_one_example_for_a_url_is_kept() -> None:
    config = CrawlConfig("c", examples=(HERE, THERE)).with_examples([ExamplePage("http://h/1", "http://h/1")])
    assert [page.url for page in config.examples] == ["http://other/1", "http://h/1"]
    assert not config.examples[1].page_type
