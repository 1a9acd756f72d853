"""Examples of a crawl reach the sites they are of, survive a restart, and may be added."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, decode, encode
from linkscore_scoring.errors import InvalidInput
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


def test_examples_survive_the_log_and_a_restart() -> None:
    config = CrawlConfig("c", examples=(HERE, ANYWHERE))
    event = decode(encode(ConfigChanged(config.to_state())))
    assert isinstance(event, ConfigChanged)
    assert CrawlConfig.from_state(event.config) == config
    model, again = (CrawlModel(CrawlConfig("c", examples=(HERE,)), ticket_key=b"k") for _ in range(2))
    visit(model, "http://h/2", page_of("http://h/2", ["html/body[post]/text()"]))
    again.load_state(model.to_state())
    assert shown(again) == 1
    assert again.to_state() == model.to_state()


def test_a_configuration_from_before_there_were_examples_is_read() -> None:
    state = CrawlConfig("c").to_state()
    del state["examples"]
    assert CrawlConfig.from_state(state).examples == ()


def test_one_example_for_a_url_is_kept() -> None:
    config = CrawlConfig("c", examples=(HERE, THERE)).with_examples([ExamplePage("http://h/1", "http://h/1")])
    assert [page.url for page in config.examples] == ["http://other/1", "http://h/1"]
    assert not config.examples[1].page_type


def test_more_than_a_hundred_examples_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 100 entries, got 101"):
        CrawlConfig("c", examples=(ANYWHERE,) * 101).check()
