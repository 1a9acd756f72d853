"""The batch tree of URL patterns: which key splits, which values stay, and what fits."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.browse_logs.patterns import (
    PatternTree,
    key_values,
    pattern_tree,
    text_of,
)

URLS = [
    "http://h/",
    *(f"http://h/tag/t{n}" for n in range(30)),
    *(f"http://h/show.php?t={n}" for n in range(20)),
    *(f"http://h/show.php?start=10&t={n}" for n in range(12)),
]


def texts(tree: PatternTree) -> set[str]:
    return {text_of(tree.pattern(at)) for at in np.flatnonzero(tree.leaves()).tolist()}


def test_sections_and_arguments_become_patterns() -> None:
    tree, _ = pattern_tree(URLS)
    assert texts(tree) == {"h/", "h/tag/*/**", "h/show.php?t=#", "h/show.php?start=10&t=#"}


def test_every_url_fits_its_own_leaf_and_no_other() -> None:
    tree, leaf = pattern_tree(URLS)
    assert [tree.match(key_values(url)) for url in URLS] == [(at, True) for at in leaf.tolist()]


def test_every_url_of_a_split_pattern_fits_it() -> None:
    urls = [f"http://h/{kind}/{n}?{query}={n}" for kind in "abc" for query in ("x", "y+z") for n in range(12)]
    tree, leaf = pattern_tree(urls)
    for at in np.unique(leaf).tolist():
        of_leaf = [url for url, of in zip(urls, leaf.tolist(), strict=True) if of == at]
        assert all(tree.match(key_values(url)) == (at, True) for url in of_leaf)
