"""The tree of URL patterns of a batch of URLs, split by the most concentrated key first (Liu 2011; Lei 2010).

`urls.pattern_tree` grows along the slots of a URL while a site is crawled and only ever merges; this tree
sees all URLs at once, picks the key of every split by entropy, and is cut afterwards by how people browse.
Nodes of both stand for patterns, ids are numbers from the root 0, and wildcards are ``*``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.key_values import (
    ABSENT,
    ANY,
    NO_VALUE,
    NUMBER,
    Codes,
    KeyColumns,
    KeyValues,
    key_values,
    label_of,
)

Ids = NDArray[np.int64]
ROOT = 0
"""Id of the root of every tree."""

# Which values stay when they are chosen by the largest drop (`salient`): rules for equal and for small
# frequencies,
# which the paper leaves open; chosen, not measured.
_FEW, _EVEN_SHARE, _LEAST_SHARE = 5, 0.05, 0.01

# Which values stay by default (`common`): URLs and share of a group that have the word. Measured on the
# first 20 days
# of three logs, research/notebook/visits-from-logs.md.
_MANY, _MANY_SHARE = 10, 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeParams:
    """When to split.

    Attributes
    ----------
    min_urls
        Fewest URLs of a pattern that is split further, >= 2. Chosen, not measured.
    by_drop
        Choose the values that stay by the largest drop of their frequencies, as the paper, instead of by how
        common they are; see `salient`.
    max_nodes
        A bound of memory; when it is full, patterns stay as they are.
    """

    min_urls: int = 10
    by_drop: bool = False
    max_nodes: int = 20_000


@dataclass(slots=True)
class PatternNode:
    """One pattern: what it adds to its parent's, and how it is split.

    Attributes
    ----------
    parent
        Id of the parent, smaller than its own; -1 for the root.
    fixed
        Label (`label_of`) of each key this node adds, the one its parent is split by first.
    key
        Key it is split by; empty for a leaf.
    children
        Child for each label of `key`.
    """

    parent: int
    fixed: dict[str, str] = field(default_factory=dict)
    key: str = ""
    children: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class PatternTree:
    """URL patterns as a tree; a URL is matched in O(its keys).

    Attributes
    ----------
    nodes
        Nodes by id, parents before children.
    """

    nodes: list[PatternNode]

    def __len__(self) -> int:
        return len(self.nodes)

    def match(self, pairs: KeyValues) -> tuple[int, bool]:
        """Return the finest pattern that a URL fits, and whether it is a leaf: else it is not covered."""
        at = ROOT
        if not _fits(self.nodes[at], pairs):
            return ROOT, False
        while self.nodes[at].key:
            node = self.nodes[at]
            below = next((node.children[x] for x in _labels(pairs, node.key) if x in node.children), -1)
            if below < 0 or not _fits(self.nodes[below], pairs):
                return at, False
            at = below
        return at, True

    def pattern(self, at: int) -> dict[str, str]:
        """Return the label of each key that a pattern fixes."""
        chain = list(self.lineage(at))
        return {key: label for node in reversed(chain) for key, label in self.nodes[node].fixed.items()}

    def lineage(self, at: int) -> Iterator[int]:
        """Yield a node and every node above it, the root last."""
        while at >= 0:
            yield at
            at = self.nodes[at].parent

    def parents(self) -> Ids:
        """Return the parent of each node, (n_nodes,) int64, -1 for the root."""
        return np.array([node.parent for node in self.nodes], dtype=np.int64)

    def leaves(self) -> NDArray[np.bool_]:
        """Return which nodes are leaves, (n_nodes,) bool."""
        return np.array([not node.key for node in self.nodes], dtype=np.bool_)

    def pruned(self, leaves: NDArray[np.bool_]) -> tuple[PatternTree, Ids]:
        """Return the tree above a cut, and the new id of each old node: for those below, their leaf's.

        Parameters
        ----------
        leaves
            (n_nodes,) bool: the cut, one node on every way from the root to a leaf.
        """
        ids, nodes = np.zeros(len(self.nodes), dtype=np.int64), list[PatternNode]()
        below = np.zeros(len(self.nodes), dtype=np.bool_)
        for at, node in enumerate(self.nodes):
            if node.parent >= 0 and (below[node.parent] or leaves[node.parent]):
                below[at], ids[at] = True, ids[node.parent]
                continue
            ids[at] = len(nodes)
            parent = int(ids[node.parent]) if node.parent >= 0 else -1
            nodes.append(PatternNode(parent, node.fixed, "" if leaves[at] else node.key))
        for at, node in enumerate(self.nodes):
            if not below[at] and not leaves[at]:
                nodes[ids[at]].children = {label: int(ids[x]) for label, x in node.children.items()}
        return PatternTree(nodes), ids

    def __post_init__(self) -> None:
        if not self.nodes or any(i >= len(self) for node in self.nodes for i in node.children.values()):
            raise ValueError("children must be nodes of the tree")


def pattern_tree(urls: Sequence[str], params: TreeParams | None = None) -> tuple[PatternTree, Ids]:
    """Return the tree of some distinct URLs, and the leaf of each, (n_urls,) int64.

    A group of URLs is split by the key whose values have the least entropy; some values stay, the others are
    one group or two (`generalised`), and URLs without the key another one. A key that does not
    split the group becomes part of its pattern. Groups below `min_urls` and groups without keys left are
    leaves. Cost O(depth x URLs x keys).

    References
    ----------
    Liu et al. 2011, section 3.1; Lei et al. 2010, section 3 (from memory); patent US8429110, claims 2 and 3.

    Examples
    --------
    Twelve threads and twelve members: the first segment splits them, ids are any number.

    >>> urls = [f"http://a.org/{kind}/{i}" for kind in ("thread", "member") for i in range(12)]
    >>> tree, leaf_of = pattern_tree(urls)
    >>> sorted(tree.pattern(leaf)["p0"] for leaf in set(leaf_of.tolist()))
    ['=member', '=thread']
    """
    return _Builder(KeyColumns([key_values(url) for url in urls]), params or TreeParams()).build()


class _Builder:
    """A tree under way."""

    def __init__(self, columns: KeyColumns, params: TreeParams) -> None:
        self.columns, self.params = columns, params
        self.nodes = [PatternNode(-1)]
        self.leaf = np.zeros(columns.n_urls, dtype=np.int64)

    def build(self) -> tuple[PatternTree, Ids]:
        """Split the root and what comes of it."""
        waiting = [(ROOT, np.arange(self.columns.n_urls), list(range(len(self.columns.keys))))]
        while waiting:
            at, rows, keys = waiting.pop()
            self.leaf[rows] = at
            if len(rows) >= self.params.min_urls or at == ROOT:
                waiting += self._split(at, rows, keys)
        return PatternTree(self.nodes), self.leaf

    def _split(self, at: int, rows: Ids, keys: list[int]) -> Iterator[tuple[int, Ids, list[int]]]:
        """Make the children of a node: by the first key, least entropy first, that parts its URLs."""
        node, left = self.nodes[at], self.columns.by_entropy(rows, keys)
        while left:
            key = left.pop(0)
            labels = generalised(self.columns, key, rows, by_drop=self.params.by_drop)
            name = self.columns.keys[key]
            distinct, group = np.unique(labels, return_inverse=True)
            if len(distinct) == 1:
                node.fixed[name] = str(distinct[0])
            elif len(rows) >= self.params.min_urls and len(self.nodes) < self.params.max_nodes:
                node.key = name
                for i, label in enumerate(distinct.tolist()):
                    node.children[label] = len(self.nodes)
                    self.nodes.append(PatternNode(at, {name: label}))
                    yield node.children[label], rows[group == i], left
                return


def _labels(pairs: KeyValues, key: str) -> list[str]:
    """Return the labels a value of a key may go under, the most telling first."""
    return label_of(pairs[key]) if key in pairs else [ABSENT]


def _fits(node: PatternNode, pairs: KeyValues) -> bool:
    return all(label in _labels(pairs, key) for key, label in node.fixed.items())


def salient(counts: Codes, n_urls: int) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool.

    Values are sorted by frequency and cut where its logarithm drops most; those above the drop stay if at
    least two URLs and 1 % of them have the value. Values that are all equally frequent stay if there are at
    most five and each has 5 % of the URLs; a single value stays.

    Parameters
    ----------
    counts
        URLs with each value, (n_values,), >= 1; URLs without the key are not counted.
    n_urls
        URLs of the group, those without the key included.

    References
    ----------
    Lei et al. 2010 (from memory); the rules for equal frequencies and for small ones are ours.
    """
    if len(counts) <= 1:
        return np.ones(len(counts), dtype=np.bool_)
    if counts.min() == counts.max():
        stay = len(counts) <= _FEW and counts[0] >= _EVEN_SHARE * n_urls
        return np.full(len(counts), stay, dtype=np.bool_)
    order = np.argsort(-counts, kind="stable")
    drops = -np.diff(np.log(counts[order]))
    stays = np.zeros(len(counts), dtype=np.bool_)
    stays[order[: int(np.argmax(drops)) + 1]] = True
    return np.asarray(stays & (counts >= max(2.0, _LEAST_SHARE * counts.sum())), dtype=np.bool_)


def common(counts: Codes, numeric: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool: words that many URLs share.

    A value stays if ten URLs and half a percent of them have it and it is no number; a single value stays.
    Ours: it keeps the sections of a site apart where the largest drop of `salient` joins all but the largest,
    and lets ids and years be any number. Chosen on the first 20 days of three logs.
    """
    if len(counts) <= 1:
        return np.ones(len(counts), dtype=np.bool_)
    return np.asarray((counts >= max(_MANY, _MANY_SHARE * counts.sum())) & ~numeric, dtype=np.bool_)


def generalised(columns: KeyColumns, key: int, rows: Codes, *, by_drop: bool) -> NDArray[np.str_]:
    """Return the label of a key for each of some URLs, (n_rows,): a value that stays, a wildcard, or absent.

    `by_drop` is the paper's way: values as `salient` says, and one wildcard for numbers and words alike.
    """
    codes = columns.codes[key, rows]
    counts = np.bincount(codes[codes != NO_VALUE], minlength=len(columns.values[key]))
    shown, numeric = np.flatnonzero(counts), columns.numeric[key]
    stays = shown[salient(counts[shown], len(rows)) if by_drop else common(counts[shown], numeric[shown])]
    labels = np.where(numeric & (not by_drop), NUMBER, ANY).astype(object)
    for value in stays.tolist():
        labels[value] = f"={columns.values[key][value]}"
    return np.asarray(np.append(labels, ABSENT)[codes], dtype=np.str_)
