"""Whatever a site shows in whatever order: only what changes nothing is taken for a copy."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.testing.crawl import page_of
from support.recorded_crawls import fetched

HOST = "http://a.test"
VALUES = ("", "1", "2")
ADDRESSES = tuple(product(range(6), VALUES, VALUES))
"""Number of a page, value of a query key that changes what it shows, and of one that changes nothing."""


def url_of(number: int, matters: str, void: str) -> str:
    """Return an address in which keys without a value are left out."""
    pairs = [f"{key}={value}" for key, value in (("q", matters), ("s", void)) if value]
    return f"{HOST}/p{number}" + ("?" + "&".join(pairs) if pairs else "")


@settings(max_examples=30)
@given(st.lists(st.sampled_from(ADDRESSES), unique=True, min_size=20))
def test_nothing_is_to_skip_on_a_site_whose_pages_all_differ(addresses: list[tuple[int, str, str]]) -> None:
    config = CrawlConfig("c", PolicyChoice("breadth_first"), limits={"copies": {"skip_above": 0.6}})
    crawl = CrawlModel(config, ticket_key=b"key")
    for at, address in enumerate(addresses):
        url = url_of(*address)
        page = page_of(url, ["html/body/p/text()"], texts=[(f"text {at}", 200)])
        crawl.apply(at + 1, fetched(url, page, site="a.test"))
    urls = [url_of(number, matters, void) for number, matters, void in product(range(9), "89", "89")]
    scored = CrawlQueries(crawl).score_links(urls, urls, [b""] * len(urls), [""] * len(urls))
    assert not any(scored.skip_reasons or ())
