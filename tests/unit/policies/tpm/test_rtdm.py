"""Tree edit distance by levels; costs counted by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.policies.tpm.rtdm import (
    MAX_CHILDREN,
    MAX_DEPTH,
    MAX_NODES,
    Tree,
    distance,
    similarity,
    tree_of,
)
from linkscore_scoring.testing.pages import trie_of


def t(label: str, *children: Tree) -> Tree:
    return Tree(label, children)


ROW = t("tr", t("td"), t("td"))
PAGE = t("", t("h1"), t("table", ROW))


def test_equal_trees_are_alike() -> None:
    assert distance(PAGE, t("", t("h1"), t("table", ROW))) == 0
    assert similarity(PAGE, PAGE) == 1.0


def test_an_inserted_leaf_costs_one() -> None:
    more = t("", t("h1"), t("img"), t("table", ROW))
    assert distance(PAGE, more) == 1
    assert similarity(PAGE, more) == pytest.approx(1 - 1 / (6 + 7))


def test_an_inserted_subtree_costs_its_nodes() -> None:
    assert distance(PAGE, t("", t("h1"), t("table", ROW, ROW))) == 3


def test_a_leaf_of_another_name_costs_one() -> None:
    assert distance(PAGE, t("", t("h2"), t("table", ROW))) == 1


def test_below_another_name_nothing_is_shared() -> None:
    """table -> ul: renamed (1), its 3 nodes deleted, 3 inserted; dropping it for the new one would cost 8."""
    assert distance(PAGE, t("", t("h1"), t("ul", ROW))) == 7


def test_names_of_the_roots_do_not_count() -> None:
    assert distance(t("a", t("p")), t("b", t("p"))) == 0


def test_order_of_siblings_counts() -> None:
    assert distance(t("", t("p"), t("b", t("i"))), t("", t("b", t("i")), t("p"))) == 2


@pytest.mark.parametrize(
    "other", [t(""), t("", ROW), t("", t("table", ROW, ROW), t("h1")), t("", t("ul", t("li")))]
)
def test_the_distance_is_symmetric_and_at_most_all_nodes(other: Tree) -> None:
    assert distance(PAGE, other) == distance(other, PAGE)
    assert 0.0 <= similarity(PAGE, other) <= 1.0


def test_a_page_is_the_tree_of_its_tag_paths() -> None:
    """Repeated rows of one class are one node; classes are part of the label, digits as #."""
    page = trie_of(["html/ul/li/text()", "html/ul/li/text()", "html/ul/li[odd row-17]/text()"])
    rows = t("li", t("text()")), t("li.odd row-#", t("text()"))
    assert tree_of(page) == t("", t("html", t("ul", *rows)))


def test_a_page_without_paths_is_a_bare_root() -> None:
    assert tree_of(PathTrie()) == t("")


def test_large_pages_are_cut() -> None:
    wide = trie_of([f"html/p[{n}]" for n in range(MAX_CHILDREN + 5)])
    assert tree_of(wide).size == 2 + MAX_CHILDREN
    deep = trie_of(["/".join(["div"] * (MAX_DEPTH + 5))])
    assert tree_of(deep).size == 1 + MAX_DEPTH
    many = trie_of([f"html/p[{n % 100}]/b[{n}]" for n in range(MAX_NODES + 5)])
    assert tree_of(many).size == 1 + MAX_NODES


def test_two_deep_pages_can_be_compared() -> None:
    one = trie_of(["/".join(["div"] * MAX_DEPTH)])
    other = trie_of(["/".join([*["div"] * (MAX_DEPTH - 1), "p"])])
    assert distance(tree_of(one), tree_of(other)) == 1
