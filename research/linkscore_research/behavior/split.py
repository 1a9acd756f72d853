"""The paper's split (Liu 2011): URLs as key-value pairs, and a tree by the key of least entropy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Ints

HOST = "host"
BARE = "?"
MAX_SEGMENTS = 12
"""A bound: path segments of one URL, those past it are one; cost and size of patterns grow with each."""

MAX_ARGUMENTS = 16
"""A bound: argument names of one URL, the first by name."""

KeyValues = dict[str, str]


def path_key(position: int) -> str:
    """Return the key of the path segment at a position, 0 for the first."""
    return f"p{position}"


@lru_cache(maxsize=8_192)
def key_values(url: str) -> KeyValues:
    """Return the key-value pairs of a URL, host first, then the path, then arguments by name; do not change.

    Liu, Cai, Zhang and Zhang 2011, section 3.1; keys after Lei et al. 2010.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return {}
    segments = (
        [unquote(segment) for segment in parts.path.strip("/").split("/")] if parts.path.strip("/") else []
    )
    if len(segments) > MAX_SEGMENTS:
        segments = [*segments[:MAX_SEGMENTS], "/".join(segments[MAX_SEGMENTS:])]
    pairs = {HOST: parts.netloc.lower()}
    pairs.update((path_key(i), segment) for i, segment in enumerate(segments))
    return pairs | _arguments(parts.query)


def key_order(key: str) -> tuple[int, int, str]:
    """Return what sorts keys as they stand in a URL: host, path by position, arguments by name."""
    if key == HOST:
        return 0, 0, ""
    return (2, 0, key) if key.startswith("?") else (1, int(key[1:]), "")


def _arguments(query: str) -> KeyValues:
    values: dict[str, list[str]] = defaultdict(list)
    for piece in filter(None, query.split("&")):
        name, equals, value = piece.partition("=")
        values[f"?{unquote(name)}" if equals else BARE].append(unquote(value if equals else name))
    return {key: ",".join(sorted(values[key])) for key in sorted(values)[:MAX_ARGUMENTS]}


ABSENT, ANY = "-", "*"
"""Labels of a key a URL does not have, and of any value; a value itself is ``=value``."""

NO_VALUE = -1
"""Code of a URL that does not have the key."""

MAX_KEYS = 64
"""A bound: keys of a batch of URLs, those that most URLs have; cost grows with each."""


class KeyColumns:
    """One column per key, one row per URL; at most the 64 keys that most URLs have, path before query."""

    def __init__(self, rows: Sequence[KeyValues]) -> None:
        uses: dict[str, int] = {}
        for row in rows:
            for key in row:
                uses[key] = uses.get(key, 0) + 1
        kept = sorted(uses, key=lambda key: (-uses[key], key_order(key)))[:MAX_KEYS]
        self.keys = sorted(kept, key=key_order)
        self.codes = np.full((len(self.keys), len(rows)), NO_VALUE, dtype=np.int64)
        self.values: list[list[str]] = []
        for column, key in zip(self.codes, self.keys, strict=True):
            known: dict[str, int] = {}
            column[:] = [known.setdefault(row[key], len(known)) if key in row else NO_VALUE for row in rows]
            self.values.append(list(known))

    def entropy(self, rows: Ints, key: int) -> float:
        """Return H of one key in nats."""
        counts = np.bincount(self.codes[key, rows] + 1)
        shares = counts[counts > 0] / len(rows)
        return float(-(shares * np.log(shares)).sum())


ROOT = 0
"""Id of the root of every tree."""

# Rules for equal and for small frequencies, which the paper leaves open; chosen, not measured.
_FEW, _EVEN_SHARE, _LEAST_SHARE = 5, 0.05, 0.01

MIN_URLS = 10
"""Fewest URLs of a pattern that is split further. Chosen, not measured."""

MAX_NODES = 20_000
"""A bound of memory; when it is full, patterns stay as they are."""


@dataclass(slots=True)
class PatternNode:
    """One pattern: what it adds to its parent's, and how it is split."""

    parent: int  # id of the parent, smaller than its own; -1 for the root
    # Label of each key this node adds, the one its parent is split by first.
    fixed: dict[str, str] = field(default_factory=dict)
    key: str = ""  # key it is split by; empty for a leaf
    children: dict[str, int] = field(default_factory=dict)  # child for each label of `key`


@dataclass(slots=True, eq=False)
class PatternTree:
    """URL patterns as a tree; a URL is matched in O(its keys)."""

    nodes: list[PatternNode]  # nodes by id, parents before children

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

    def parents(self) -> Ints:
        """Return the parent of each node, (n_nodes,) int64, -1 for the root."""
        return np.array([node.parent for node in self.nodes], dtype=np.int64)

    def leaves(self) -> NDArray[np.bool_]:
        """Return which nodes are leaves, (n_nodes,) bool."""
        return np.array([not node.key for node in self.nodes], dtype=np.bool_)


def _labels(pairs: KeyValues, key: str) -> list[str]:
    """Return the labels a value of a key may go under, the most telling first."""
    if (value := pairs.get(key)) is None:
        return [ABSENT]
    return [f"={value}", ANY]


def _fits(node: PatternNode, pairs: KeyValues) -> bool:
    return all(label in _labels(pairs, key) for key, label in node.fixed.items())


def salient(counts: Ints, n_urls: int) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool: the paper's way.

    Values are sorted by frequency and cut where its logarithm drops most (Lei et al. 2010); the rules for
    equal frequencies and for small ones are ours.
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


def by_drop(columns: KeyColumns, key: int, rows: Ints) -> NDArray[np.str_]:
    """Return a key's label for each of some URLs, (n_rows,): a value by `salient`, a wildcard, absent."""
    codes, values = columns.codes[key, rows], columns.values[key]
    counts = np.bincount(codes[codes != NO_VALUE], minlength=len(values))
    shown = np.flatnonzero(counts)
    labels = np.full(len(values), ANY, dtype=object)
    for value in shown[salient(counts[shown], len(rows))].tolist():
        labels[value] = f"={values[value]}"
    return np.asarray(np.append(labels, ABSENT)[codes], dtype=np.str_)


def pattern_tree(urls: Sequence[str]) -> tuple[PatternTree, Ints]:
    """Return the tree of some distinct URLs, and the leaf of each, (n_urls,) int64.

    A group of URLs is split by the key whose values have the least entropy; a key that does not split it
    becomes part of its pattern. Liu et al. 2011, section 3.1; Lei et al. 2010, section 3; patent US8429110.
    """
    columns = KeyColumns([key_values(url) for url in urls])
    nodes, leaf = [PatternNode(-1)], np.zeros(len(urls), dtype=np.int64)
    waiting = [(ROOT, np.arange(len(urls)), list(range(len(columns.keys))))]
    while waiting:
        at, rows, keys = waiting.pop()
        leaf[rows] = at
        # By entropy, least first; ties as in a URL.
        splits = keys if len(rows) >= MIN_URLS or at == ROOT else []
        left = sorted(splits, key=lambda key: (round(columns.entropy(rows, key), 12), key))
        while left:
            key = left.pop(0)
            distinct, group = np.unique(by_drop(columns, key, rows), return_inverse=True)
            name = columns.keys[key]
            if len(distinct) == 1:
                nodes[at].fixed[name] = str(distinct[0])
                continue
            if len(rows) >= MIN_URLS and len(nodes) < MAX_NODES:
                nodes[at].key = name
                for i, label in enumerate(distinct.tolist()):
                    nodes[at].children[label] = len(nodes)
                    waiting.append((len(nodes), rows[group == i], left))
                    nodes.append(PatternNode(at, {name: label}))
            break
    return PatternTree(nodes), leaf
