"""Whatever a site shows in whatever order: only what changes nothing is taken for a copy."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.limits.copies import Contents
from linkscore_scoring.limits.void_keys import Evidence, VoidKeys
from linkscore_scoring.site.texts import TextOwners
from linkscore_scoring.testing.pages import page_of
from support.recorded_crawls import fetched

HOST, PATH = "http://a.test", 7
VALUES = ("", "1", "2")
ADDRESSES = tuple(product(range(6), VALUES, VALUES))
"""Number of a page, value of a query key that changes what it shows, and of one that changes nothing."""


def url_of(number: int, matters: str, void: str) -> str:
    """Return an address in which keys without a value are left out."""
    pairs = [f"{key}={value}" for key, value in (("q", matters), ("s", void)) if value]
    return f"{HOST}/p{number}" + ("?" + "&".join(pairs) if pairs else "")


@given(st.lists(st.sampled_from(ADDRESSES), unique=True))
def test_each_page_seen_twice_speaks_once_for_its_key_in_any_order(
    addresses: list[tuple[int, str, str]],
) -> None:
    keys, contents = VoidKeys(), dict[int, int]()
    shows = {of: at for at, of in enumerate(product(range(6), VALUES), start=1)}
    for number, matters, void in addresses:
        url, content = url_of(number, matters, void), shows[number, matters]
        contents[hash_of(url)] = content
        keys.observe(PATH, url, hash_of(url), content, contents.get)
    seen_twice = [n for n in Counter(address[:2] for address in addresses).values() if n > 1]
    evidence = keys.evidence(PATH, "s") or Evidence()
    assert (evidence.tries, evidence.agreed) == (len(seen_twice), len(seen_twice))
    assert (keys.evidence(PATH, "q") or Evidence()).agreed == 0
    assert "q" not in keys.void(PATH, url_of(9, "8", "8"), 0.01)


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans())))
def test_a_content_speaks_once_and_never_for_more_than_all(spoken: list[tuple[int, bool]]) -> None:
    evidence = Evidence()
    for content, agrees in spoken:
        evidence.speak(content, agrees=agrees)
    assert evidence.tries == len({content for content, _ in spoken})
    assert 0 <= evidence.agreed <= evidence.tries
    assert 0 <= evidence.probability <= (evidence.agreed / evidence.tries if evidence.tries else 0)


@given(st.dictionaries(st.integers(1, 1 << 60), st.integers(25, 400), min_size=5), st.randoms())
def test_the_order_of_blocks_makes_no_other_content_and_other_blocks_do(
    blocks: dict[int, int], random: Random
) -> None:
    contents, texts = Contents(), TextOwners()
    moved = list(blocks.items())
    random.shuffle(moved)
    first = contents.take(1, blocks, texts, 3)
    assert first is not None
    assert contents.take(2, dict(moved), texts, 3) == first
    assert contents.take(3, {block + (1 << 61): size for block, size in blocks.items()}, texts, 3) != first


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
