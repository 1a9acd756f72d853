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
def two_templates() -> dict[str, PathTrie]:
    """Ten pages of each of two templates by key: posts with 4 to 13 texts, lists with 4 to 13 links."""
    pages = {}
    for i in range(10):
        pages[f"/post-{i}"] = build(
            "html/body/div.post/a", *["html/body/div.post/text()"] * (i + 4), "html/body/h1/text()"
        )
        pages[f"/list-{i}"] = build(
            *["html/body/ul.list/li/a"] * (i + 4), "html/body/ul.list/li/img", "html/body/h2/text()"
        )
    return pages
