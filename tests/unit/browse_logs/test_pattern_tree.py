"""The batch tree of URL patterns: which key splits, which values stay, and what fits."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import pytest
import re2

from linkscore_scoring.browse_logs.patterns import (
    PatternTree,
    common,
    key_values,
    pattern_tree,
    regex_of,
    salient,
    text_of,
)
from linkscore_scoring.urls.identity import identity

URLS = [
    "http://h/",
    *(f"http://h/tag/t{n}" for n in range(30)),
    *(f"http://h/show.php?t={n}" for n in range(20)),
    *(f"http://h/show.php?start=10&t={n}" for n in range(12)),
]


def texts(tree: PatternTree) -> set[str]:
    return {text_of(tree.pattern(at)) for at in np.flatnonzero(tree.leaves()).tolist()}


def test_values_above_the_largest_drop_of_the_logarithm_stay() -> None:
    counts = np.array([1, 90, 2, 80, 1])  # ln 90 - ln 80 = .12, ln 80 - ln 2 = 3.69, ln 2 - ln 1 = .69
    assert salient(counts, 174).tolist() == [False, True, False, True, False]


def test_common_words_stay_and_numbers_do_not() -> None:
    counts, numeric = np.array([50, 9, 40, 10]), np.array([False, False, True, False])
    assert common(counts, numeric).tolist() == [True, False, False, True]
    assert common(np.array([1]), np.array([True])).all(), "a single value stays"


def test_sections_and_arguments_become_patterns() -> None:
    tree, _ = pattern_tree(URLS)
    assert texts(tree) == {"h/", "h/tag/*/**", "h/show.php?t=#", "h/show.php?start=10&t=#"}


def test_every_url_fits_its_own_leaf_and_no_other() -> None:
    for by_drop in (False, True):
        tree, leaf = pattern_tree(URLS, by_drop=by_drop)
        assert [tree.match(key_values(url)) for url in URLS] == [(at, True) for at in leaf.tolist()]


def test_a_url_that_fits_no_child_stops_at_the_node_above() -> None:
    tree, leaf = pattern_tree(URLS)
    inner, covered = tree.match(key_values("http://h/show.php?t=7&start=30"))
    assert not covered
    assert inner in set(tree.lineage(int(leaf[-1])))
    assert tree.match(key_values("http://elsewhere/tag/x")) == (0, False)


def test_the_papers_split_has_one_wildcard_for_all() -> None:
    tree, _ = pattern_tree(URLS, by_drop=True)
    assert not any("#" in text for text in texts(tree))


def test_pruning_moves_urls_to_the_leaf_above_them() -> None:
    tree, leaf = pattern_tree(URLS)
    cut = np.zeros(len(tree), dtype=bool)
    cut[list(tree.nodes[0].children.values())] = True
    pruned, ids = tree.pruned(cut)
    assert pruned.leaves().sum() == cut.sum()
    assert [pruned.match(key_values(url)) for url in URLS] == [(at, True) for at in ids[leaf].tolist()]


@pytest.mark.parametrize(
    ("url", "pairs"),
    [
        ("http://A.org/x/12/?q=z&p=3", {"host": "a.org", "p0": "x", "p1": "12", "?p": "3", "?q": "z"}),
        ("https://a.org:8080/", {"host": "a.org:8080"}),
        ("http://a.org/a%20b/C#top", {"host": "a.org", "p0": "a b", "p1": "C"}),
        ("http://a.org/s.php?bare", {"host": "a.org", "p0": "s.php", "?": "bare"}),
        ("http://a.org/?t=2&t=10&t=1", {"host": "a.org", "?t": "1,10,2"}),
        ("http://a.org/?e=", {"host": "a.org", "?e": ""}),
        ("http://[broken/", {}),
    ],
)
def test_a_url_has_the_pairs_one_reads_in_it(url: str, pairs: dict[str, str]) -> None:
    assert key_values(url) == pairs


SHOW = {"host": "=h", "p0": "=show.php", "p1": "-", "?start": "#", "?t": "#", "?u": "-"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ({}, "*/**"),
        ({"host": "=h", "p0": "-"}, "h/"),
        ({"host": "=h", "p0": "=tag", "p1": "*", "p2": "-"}, "h/tag/*"),
        ({"host": "=h", "p1": "=page"}, "h/*/page/**"),
        (SHOW, "h/show.php?start=#&t=#"),
        ({"host": "=h", "p0": "-", "?": "*"}, "h/?*"),
    ],
)
def test_a_pattern_reads_like_a_url(pattern: dict[str, str], text: str) -> None:
    assert text_of(pattern) == text


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ({"host": "=h", "p0": "=tag", "p1": "*", "p2": "-"}, ["http://h/tag/a", "https://h/tag/a/?x=1"],
         ["http://h/tag", "http://h/tag/a/b", "http://g/tag/a", "http://h.h/tag/a"]),
        (SHOW, ["http://h/show.php?t=1&start=20", "http://h/show.php?start=20&t=1"],
         ["http://h/show.php?t=1", "http://h/show.php?t=1&start=20&u=3", "http://h/showXphp?t=1&start=2"]),
        ({"host": "=h", "p0": "=a b", "?q": "-"}, ["http://h/a%20b", "http://h/a%20b/c"], ["http://h/a%20b?z=1"]),
        ({"host": "=h", "p0": "-"}, ["http://h", "http://h/"], ["http://h/x"]),
    ],
)  # fmt: skip
def test_an_expression_fits_what_the_pattern_fits(
    pattern: dict[str, str], fits: list[str], fits_not: list[str]
) -> None:
    expression = re2.compile(regex_of(pattern))
    assert [url for url in fits if not expression.search(url)] == []
    assert [url for url in fits_not if expression.search(url)] == []


def test_every_url_of_a_split_pattern_fits_its_expression() -> None:
    urls = [f"http://h/{kind}/{n}?{query}={n}" for kind in "abc" for query in ("x", "y+z") for n in range(12)]
    tree, leaf = pattern_tree(urls)
    for at in np.unique(leaf).tolist():
        expression = re2.compile(regex_of(tree.pattern(at)))
        of_leaf = [url for url, of in zip(urls, leaf.tolist(), strict=True) if of == at]
        assert all(expression.search(url) for url in of_leaf)
        assert all(tree.match(key_values(url)) == (at, True) for url in of_leaf)


@pytest.mark.parametrize("value", ["a:b", "c++", "50%", "kde qt", "größe", "日本", "(x)", "a/b"])
def test_a_value_fits_as_it_is_and_escaped(value: str) -> None:
    fits = re2.compile(regex_of({"host": "=a.org", "?q": f"={value}"})).fullmatch
    raw = f"https://a.org/?q={quote(value, safe=':+()')}"
    assert fits(raw)
    assert fits(identity(f"https://a.org/?q={quote(value, safe='')}"))
    assert fits(f"https://a.org/?q={quote(value, safe='').lower()}")
    assert not fits(f"https://a.org/?q=x{quote(value, safe='')}")
