"""Bags of plain tag paths, the page features of Xu 2018."""

from __future__ import annotations

from collections.abc import Mapping

from linkscore_scoring.features.types import PathTrie

Bag = Mapping[str, int]


def plain_bag(trie: PathTrie) -> dict[str, int]:
    """Return the bag of XPaths of a page: tag path without classes -> number of displayed leaves.

    Paths that differ only in classes are added up. Cost O(nodes x depth).

    Source: Xu 2018, section 3.2.
    """
    paths: list[str] = []
    bag: dict[str, int] = {}
    for parent, tag, leaves in zip(trie.parents, trie.tags, trie.leaves, strict=True):
        path = f"{paths[parent]}/{tag}" if parent >= 0 else tag
        paths.append(path)
        if leaves:
            bag[path] = bag.get(path, 0) + leaves
    return bag
