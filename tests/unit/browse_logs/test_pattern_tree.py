"""The batch tree of URL patterns: which key splits, which values stay, and what fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.browse_logs.behavior.key_values import KeyColumns, key_values
from linkscore_scoring.browse_logs.behavior.pattern_text import text_of
from linkscore_scoring.browse_logs.behavior.pattern_tree import (
    PatternTree,
    TreeParams,
    common,
    pattern_tree,
    salient,
)
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import from_state, plain

URLS = [
    "http://h/",
    *(f"http://h/tag/t{n}" for n in range(30)),
    *(f"http://h/show.php?t={n}" for n in range(20)),
    *(f"http://h/show.php?start=10&t={n}" for n in range(12)),
]


def texts(tree: PatternTree) -> set[str]:
    return {text_of(tree.pattern(at)) for at in np.flatnonzero(tree.leaves()).tolist()}


def test_entropy_counts_urls_without_the_key_as_a_value() -> None:
    columns = KeyColumns([{"p0": "a"}, {"p0": "a"}, {"p0": "b"}, {}])
    expected = 0.5 * math.log(2) + 2 * 0.25 * math.log(4)
    assert columns.entropy(np.arange(4), 0) == pytest.approx(expected)


def test_values_above_the_largest_drop_of_the_logarithm_stay() -> None:
    counts = np.array([1, 90, 2, 80, 1])  # ln 90 - ln 80 = .12, ln 80 - ln 2 = 3.69, ln 2 - ln 1 = .69
    assert salient(counts, 174).tolist() == [False, True, False, True, False]


def test_a_value_of_one_url_never_stays_by_the_drop() -> None:
    assert salient(np.array([1, 1, 2]), 4).tolist() == [False, False, True]


def test_equal_values_stay_if_they_are_few_and_common() -> None:
    assert salient(np.full(5, 4), 20).all()
    assert not salient(np.full(6, 4), 24).any()
    assert not salient(np.full(3, 4), 1_000).any()


def test_common_words_stay_and_numbers_do_not() -> None:
    counts, numeric = np.array([50, 9, 40, 10]), np.array([False, False, True, False])
    assert common(counts, numeric).tolist() == [True, False, False, True]
    assert common(np.array([1]), np.array([True])).all(), "a single value stays"


def test_sections_and_arguments_become_patterns() -> None:
    tree, _ = pattern_tree(URLS)
    assert texts(tree) == {"h/", "h/tag/*/**", "h/show.php?t=#", "h/show.php?start=10&t=#"}


def test_every_url_fits_its_own_leaf_and_no_other() -> None:
    for params in (TreeParams(), TreeParams(by_drop=True), TreeParams(min_urls=2)):
        tree, leaf = pattern_tree(URLS, params)
        assert [tree.match(key_values(url)) for url in URLS] == [(at, True) for at in leaf.tolist()]


def test_a_url_that_fits_no_child_stops_at_the_node_above() -> None:
    tree, leaf = pattern_tree(URLS)
    inner, covered = tree.match(key_values("http://h/show.php?t=7&start=30"))
    assert not covered
    assert inner in set(tree.lineage(int(leaf[-1])))
    assert tree.match(key_values("http://elsewhere/tag/x")) == (0, False)


def test_the_papers_split_has_one_wildcard_for_all() -> None:
    tree, _ = pattern_tree(URLS, TreeParams(by_drop=True))
    assert not any("#" in text for text in texts(tree))


def test_a_full_tree_stops_splitting() -> None:
    tree, leaf = pattern_tree(URLS, TreeParams(max_nodes=1))
    assert len(tree) == 1
    assert not leaf.any()


def test_pruning_moves_urls_to_the_leaf_above_them() -> None:
    tree, leaf = pattern_tree(URLS)
    cut = np.zeros(len(tree), dtype=bool)
    cut[list(tree.nodes[0].children.values())] = True
    pruned, ids = tree.pruned(cut)
    assert pruned.leaves().sum() == cut.sum()
    assert [pruned.match(key_values(url)) for url in URLS] == [(at, True) for at in ids[leaf].tolist()]


def test_a_tree_survives_its_state_and_refuses_another() -> None:
    tree, leaf = pattern_tree(URLS)
    again = from_state(PatternTree, plain(tree))
    assert [again.match(key_values(url))[0] for url in URLS] == leaf.tolist()
    with pytest.raises(CorruptState, match="pattern tree"):
        from_state(PatternTree, {"nodes": [[-1, {}, "p0", {"=a": 7}]]})


def test_no_urls_make_a_root() -> None:
    tree, leaf = pattern_tree([])
    assert (len(tree), len(leaf)) == (1, 0)
