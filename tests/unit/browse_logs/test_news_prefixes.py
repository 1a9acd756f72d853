"""URL prefix trees: the example of the paper, delimiters, lookup."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.news.prefixes import (
    PrefixTrie,
    find_prefixes,
    lowest_nodes,
    misfits_of,
    steps_of,
)
from linkscore_scoring.browse_logs.news.rates import CountedRates

PAPER = ["index.html", "folder/page.htm", "news.jsp?p=1", "news.jsp?p=2"]


def found(pages: dict[str, bool], **settings: float) -> list[str]:
    urls = [f"http://website.com/{path}" for path in pages]
    rate = CountedRates(np.array(list(pages.values()), dtype=np.bool_))
    steps = [steps_of(url) for url in urls]
    return [prefix.text for prefix in find_prefixes(steps, rate, **settings)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "steps"),
    [
        ("http://a.test/", ["a.test/"]),
        ("https://a.test:81/x", ["a.test:81/"]),
        ("http://a.test/x/", ["a.test/", "x/"]),
        ("http://a.test/x?p=1", ["a.test/", "x?"]),
        ("http://a.test/x/?p=/b/", ["a.test/", "x/", "?"]),
        ("http://a.test/x//y#/z", ["a.test/", "x/", "/"]),
    ],
)
def test_nodes_above_a_page(url: str, steps: list[str]) -> None:
    assert steps_of(url) == steps


def test_the_program_of_the_papers_figure_3_is_a_news_prefix() -> None:
    assert found(dict(zip(PAPER, [False, False, True, True], strict=True))) == ["website.com/news.jsp?"]


def test_the_topmost_node_is_taken_and_nothing_below_it() -> None:
    pages = {f"news/{month}/{i}": True for month in "ab" for i in range(3)} | {"about": False, "help": False}
    assert found(pages) == ["website.com/news/"]


def test_the_share_must_exceed_theta() -> None:
    pages = {f"news/{i}": i > 0 for i in range(5)} | {"about": False}
    assert found(pages) == []
    assert found(pages, theta=0.79) == ["website.com/news/"]


def test_small_nodes_are_left_out() -> None:
    pages = {f"news/{i}": True for i in range(4)} | {"a": False}
    assert found(pages, min_pages=5) == []
    assert found(pages, min_pages=4) == ["website.com/news/"]


def test_a_node_of_mixed_folders_is_looked_into() -> None:
    pages = {f"2026/05/{i}": True for i in range(19)} | {f"2026/06/{i}": False for i in range(3)}
    assert found(pages) == ["website.com/"]
    steps = [steps_of(f"http://website.com/{path}") for path in pages]
    rate = CountedRates(np.array(list(pages.values())))
    misfits = misfits_of(lowest_nodes(steps, 3), rate, len(steps))
    assert misfits.tolist() == [False] * 19 + [True] * 3
    chosen = find_prefixes(steps, rate, misfits=misfits, max_misfits=0.1)
    assert [prefix.text for prefix in chosen] == ["website.com/2026/05/"]
    chosen = find_prefixes(steps, rate, misfits=misfits, max_misfits=0.2)
    assert [prefix.text for prefix in chosen] == ["website.com/"]


def test_a_folder_and_a_program_of_one_name_stay_apart() -> None:
    pages = {"x/1": True, "x/2": True, "x?p=1": False, "x?p=2": False}
    assert found(pages) == ["website.com/x/"]


def test_a_prefix_ends_where_its_folder_ends() -> None:
    trie = PrefixTrie(["a.test/news/", "a.test/view.php?"])
    urls = ["news/1", "news/x/2", "newsletter/1", "news", "view.php?t=1", "view.php", "view.php/x"]
    assert [trie.find(f"https://a.test/{url}") for url in urls] == [0, 0, -1, -1, 1, -1, -1]
    assert trie.find("http://b.test/news/1") == -1


def test_pages_are_grouped_by_the_lowest_node_that_is_large_enough() -> None:
    urls = ["http://a.test/x/1/p", "http://a.test/x/2/p", "http://a.test/y/p", "http://a.test/z"]
    groups = lowest_nodes([steps_of(url) for url in urls], 2)
    assert sorted(group.tolist() for group in groups) == [[0, 1], [2, 3]]


PATHS = st.lists(st.sampled_from(["a", "b", "", "a?", "c?x=1"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=40))
def test_prefixes_are_an_antichain_and_find_their_own_pages(pages: list[tuple[str, bool]]) -> None:
    urls = [f"http://a.test/{path}" for path, _ in pages]
    rate = CountedRates(np.array([news for _, news in pages], dtype=np.bool_))
    prefixes = find_prefixes([steps_of(url) for url in urls], rate, theta=0.6)
    texts = [prefix.text for prefix in prefixes]
    assert not any(a != b and a.startswith(b) for a in texts for b in texts)
    trie = PrefixTrie(texts)
    for url in urls:
        above = ["".join(steps_of(url)[:depth]) for depth in range(1, len(steps_of(url)) + 1)]
        expected = [texts.index(text) for text in above if text in texts]
        assert [trie.find(url)] == (expected or [-1])
