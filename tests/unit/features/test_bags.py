"""Bags of tag paths and normal forms of link paths."""

from __future__ import annotations

import pytest

from linkscore_scoring.features.types import (
    PathTrie,
    link_path_id,
    link_path_without_class,
    normalise_link_path,
    plain_bag,
)

# html > div.post-7 > text() twice, html > div.post-8.odd > (a once > text() once)
TRIE = PathTrie(
    parents=[-1, 0, 1, 0, 3, 4],
    tags=["html", "div", "text()", "div", "a", "text()"],
    classes=["", "post-7", "", "odd post-8", "", ""],
    leaves=[0, 0, 2, 0, 1, 1],
)


def test_the_plain_bag_adds_up_paths_that_differ_in_class_only() -> None:
    assert plain_bag(TRIE) == {"html/div/text()": 2, "html/div/a": 1, "html/div/a/text()": 1}


def test_an_empty_trie_has_an_empty_bag() -> None:
    assert plain_bag(PathTrie()) == {}


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("html/a[post-12 b b]", "html/a[b post-#]"),
        ("html/a[p1 p2]", "html/a[p#]"),
        ("html/a[]", "html/a[]"),
        ("html/a", "html/a[]"),
        ("html/a[w-[1/2]]", "html/a[w-[#/#]]"),
    ],
)
def test_link_paths_are_normalised(raw: str, normal: str) -> None:
    assert normalise_link_path(raw) == normal


def test_an_link_path_without_class_is_its_element_path() -> None:
    assert link_path_without_class("html/body/a[x y]") == "html/body/a"


def test_the_link_path_id_is_the_same_in_every_process() -> None:
    assert link_path_id("html/body/a[]") == 11518657910686667514
