"""Small hand-made pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore_scoring.clustering.base import SamplePage, with_in_links
from linkscore_scoring.features.types import PathTrie, link_path_id
from linkscore_scoring.hashing import hash64

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


def link(raw: str, target: str) -> tuple[int, int, int]:
    """Return a link under a raw link path to the page of a key."""
    return link_path_id(raw), link_path_id(raw.partition("[")[0]), hash64(target)


TO_POST, TO_LIST, TO_OTHER = "html/body/ul/li/a[]", "html/body/div/a[]", "html/body/p/a[]"


@pytest.fixture
def two_templates() -> list[SamplePage]:
    """Ten pages of each of two templates: posts with 4 to 13 texts and lists with 4 to 13 links.

    The i-th list links to posts i and i + 1, the i-th post to lists i and i + 1, in a ring; every page links
    to three URLs that nobody fetches.
    """
    pages = []
    for i in range(10):
        post = ["html/body/div.post/a", *["html/body/div.post/text()"] * (i + 4), "html/body/h1/text()"]
        index = [*["html/body/ul.list/li/a"] * (i + 4), "html/body/ul.list/li/img", "html/body/h2/text()"]
        following = (i + 1) % 10
        for kind, leaves, link_path in (("post", post, TO_LIST), ("list", index, TO_POST)):
            other = "list" if kind == "post" else "post"
            links = [link(link_path, f"/{other}-{n}") for n in (i, following)]
            links += [link(TO_OTHER, f"/gone-{kind}-{i}-{n}") for n in range(3)]
            pages.append(SamplePage(f"/{kind}-{i}", build(*leaves), links))
    return with_in_links(pages, pages)
