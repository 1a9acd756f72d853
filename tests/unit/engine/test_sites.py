"""The plain table of sites: a dictionary that makes what an event is about."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.hashing import hash64
from support.recorded_crawls import model, page


def test_a_site_is_made_by_its_first_event_and_found_by_its_hash() -> None:
    crawl = model()
    assert (len(crawl.sites), "h" in crawl.sites) == (0, False)
    crawl.apply(1, page("http://h/"))
    assert list(crawl.sites) == ["h"]
    assert crawl.sites.host(hash64("h")) == "h"
    assert crawl.sites.in_memory == [crawl.sites["h"]]
    assert crawl.sites.kept_value("h") is None
    assert [(name, facts.pages) for name, facts in crawl.sites.facts()] == [("h", 1)]


def test_all_sites_take_over_a_configuration() -> None:
    crawl = model()
    crawl.apply(1, page("http://h/"))
    crawl.apply(crawl.seq + 1, ConfigChanged(CrawlConfig("c", PolicyChoice("depth_first")).to_state()))
    assert [shard.served.name for shard in crawl.sites.in_memory] == ["depth_first"]
    assert crawl.sites.writable("new.example").served.name == "depth_first"
