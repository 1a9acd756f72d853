"""Small hand-made pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore_scoring.features.types import PathTrie

Build = Callable[..., PathTrie]


def build(*leaves: str) -> PathTrie:
    """Return the trie of leaf paths such as ``html/body.home/text()``; a path given twice counts twice."""
    trie = PathTrie()
    nodes: dict[tuple[int, str], int] = {}
    for leaf in leaves:
        at = -1
        for step in leaf.split("/"):
            if (at, step) not in nodes:
                tag, *classes = step.split(".")
                nodes[at, step] = len(trie.parents)
                trie.parents.append(at)
                trie.tags.append(tag)
                trie.classes.append(" ".join(sorted(classes)))
                trie.leaves.append(0)
            at = nodes[at, step]
        trie.leaves[at] += 1
    return trie


@pytest.fixture
def page() -> Build:
    return build


@pytest.fixture
def two_templates() -> list[PathTrie]:
    """Ten pages of each of two templates, with one to ten texts in a paragraph they share."""
    pages = []
    for i in range(10):
        more = ["html/body/p/text()"] * (i // 5)
        pages.append(build("html/body/div.post/a", "html/body/div.post/text()", "html/body/h1/text()", *more))
        pages.append(
            build("html/body/ul.list/li/a", "html/body/ul.list/li/img", "html/body/h2/text()", *more)
        )
    return pages
