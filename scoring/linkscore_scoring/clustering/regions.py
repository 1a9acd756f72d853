"""Repetitive regions of a page: the lists, tables and threads it is made of, read off its tag paths."""

from __future__ import annotations

from linkscore_scoring.features.bags import normal_tokens
from linkscore_scoring.features.types import PathTrie

NO_REGION = "no region"
"""Feature of a page that has displayed leaves and no region that counts."""


def regions_of(
    trie: PathTrie, *, min_depth: int = 3, min_share: float = 0.3, min_repeats: int = 3
) -> dict[str, float]:
    """Return the regions of a page: location -> share of the page's displayed leaves, in (0, 1].

    Parameters
    ----------
    trie
        Tag paths of the page.
    min_depth
        A region lies this many elements deep or deeper; ``html`` is 1 deep.
    min_share
        Regions with a smaller share are dropped.
    min_repeats
        A path with this many displayed leaves or more is repeated.

    Notes
    -----
    A node of the trie is repetitive when half or more of the distinct leaf paths below it are repeated, so
    that rows may have parts which others lack. A region is an outermost repetitive node that is deep enough;
    its location is the tag path with the classes of the last element, digits as ``#``. A page with leaves and
    without region has `NO_REGION` with share 1, an empty page nothing. Cost O(nodes).
    """
    leaves, paths, repeated = _totals(trie, min_repeats)
    total = sum(trie.leaves)
    depths: list[int] = []
    inside: list[bool] = []
    found: dict[str, float] = {}
    for node, parent in enumerate(trie.parents):
        depths.append(depths[parent] + 1 if parent >= 0 else 1)
        covered = parent >= 0 and inside[parent]
        starts = not covered and depths[node] >= min_depth and 2 * repeated[node] >= paths[node] > 0
        inside.append(covered or starts)
        if starts and leaves[node] >= min_share * total:
            name = _location(trie, node)
            found[name] = found.get(name, 0.0) + leaves[node] / total
    return found or ({NO_REGION: 1.0} if total else {})


def _totals(trie: PathTrie, min_repeats: int) -> tuple[list[int], list[int], list[int]]:
    """Return for every node: displayed leaves, distinct leaf paths, and repeated ones, at it and below."""
    leaves = list(trie.leaves)
    paths = [int(n > 0) for n in trie.leaves]
    repeated = [int(n >= min_repeats) for n in trie.leaves]
    for node in range(len(leaves) - 1, 0, -1):
        parent = trie.parents[node]
        for column in (leaves, paths, repeated):
            column[parent] += column[node]
    return leaves, paths, repeated


def _location(trie: PathTrie, node: int) -> str:
    tags = []
    at = node
    while at >= 0:
        tags.append(trie.tags[at])
        at = trie.parents[at]
    return ".".join(["/".join(reversed(tags)), *normal_tokens(trie.classes[node])])
