"""Cash flows from page to page and none is lost."""

from __future__ import annotations

import random

import pytest

from support.link_graph.webs import Web


def test_a_page_splits_its_cash_among_its_links() -> None:
    web = Web("opic")
    web.fetch("a", "b", "c")
    assert web.values("abcd") == [0, 1 / 2, 1 / 2, 0]
    web.fetch("b", "c", "d")
    assert web.values("abcd") == [0, 0, 3 / 4, 1 / 4]
    web.fetch("c", "a", "d", "d", "c")
    assert web.values("abcd") == [3 / 8, 0, 0, 5 / 8]
    assert web.policy.total() == 1


def test_cash_of_a_page_without_links_goes_to_the_root_and_from_there_to_the_seed() -> None:
    web = Web("opic")
    web.fetch("a", "b", "c")
    web.fetch("b")
    assert web.policy.root == 1 / 2
    web.fetch("a", "b", "c")
    assert web.policy.root == 0
    assert web.values("abc") == [0, 1 / 4, 3 / 4], "a had nothing but what the root gave it"
    assert web.policy.total() == 1


def test_a_failed_page_gives_to_the_root_and_gets_nothing_any_more() -> None:
    web = Web("opic")
    web.fetch("a", "b", "c")
    web.fail("b")
    assert web.policy.root == 1 / 2
    web.fetch("c", "b", "d")
    assert web.values("bcd") == [0, 0, 1 / 2]


def test_cash_follows_a_redirect() -> None:
    web = Web("opic")
    web.fetch("a", "b", "c")
    web.fetch("x", "d", asked="b")
    assert web.values("bxd") == [0, 0, 1 / 2]
    web.fetch("c", "b", "e")
    assert web.values("bx") == [1 / 4, 1 / 4], "one page, two URLs"


@pytest.mark.parametrize("max_urls", [30, 1_000])
def test_cash_is_conserved_whatever_happens(max_urls: int) -> None:
    rng, web = random.Random(5), Web("opic", max_urls=max_urls)
    for step in range(300):
        name, links = str(rng.randrange(60)), [str(rng.randrange(60)) for _ in range(rng.randrange(6))]
        if step % 11 == 0:
            web.fail(name)
        else:
            web.fetch(name, *links, asked=str(rng.randrange(60)) if step % 7 == 0 else name)
        assert abs(web.policy.total() - 1) < 1e-9
        if step % 97 == 0:
            web.restart()
