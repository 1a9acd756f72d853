"""URLs as key-value pairs, one by one or a batch as columns, and labels of values in patterns (Liu 2011)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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


ABSENT, ANY, NUMBER = "-", "*", "#"
"""Labels of a key a URL does not have, of any value, and of any number; a value itself is ``=value``."""

NO_VALUE = -1
"""Code of a URL that does not have the key."""

MAX_KEYS = 64
"""A bound: keys of a batch of URLs, those that most URLs have; cost grows with each."""


def is_number(value: str) -> bool:
    """Say whether a value is a run of ASCII digits."""
    return value.isascii() and value.isdecimal()


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
        self.numeric = [np.array([is_number(v) for v in values], dtype=np.bool_) for values in self.values]

    def entropy(self, rows: Ints, key: int) -> float:
        """Return H of one key in nats."""
        counts = np.bincount(self.codes[key, rows] + 1)
        shares = counts[counts > 0] / len(rows)
        return float(-(shares * np.log(shares)).sum())


ROOT = 0
"""Id of the root of every tree."""

# Which values stay by default (`common`): URLs and share of a group that have the word. Measured on the first
# 20 days of three logs, research/notebook/visits-from-logs.md.
_MANY, _MANY_SHARE = 10, 0.005


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

    def pattern(self, at: int) -> dict[str, str]:
        """Return the label of each key that a pattern fixes."""
        fixed: dict[str, str] = {}
        while at >= 0:
            fixed = self.nodes[at].fixed | fixed
            at = self.nodes[at].parent
        return fixed

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
    return [f"={value}", NUMBER, ANY] if is_number(value) else [f"={value}", ANY]


def _fits(node: PatternNode, pairs: KeyValues) -> bool:
    return all(label in _labels(pairs, key) for key, label in node.fixed.items())


def common(counts: Ints, numeric: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool: words that many URLs share."""
    if len(counts) <= 1:
        return np.ones(len(counts), dtype=np.bool_)
    return np.asarray((counts >= max(_MANY, _MANY_SHARE * counts.sum())) & ~numeric, dtype=np.bool_)


def generalised(columns: KeyColumns, key: int, rows: Ints) -> NDArray[np.str_]:
    """Return a key's label for each of some URLs, (n_rows,): a word that many share, a wildcard, absent."""
    codes = columns.codes[key, rows]
    counts = np.bincount(codes[codes != NO_VALUE], minlength=len(columns.values[key]))
    shown, numeric = np.flatnonzero(counts), columns.numeric[key]
    stays = common(counts[shown], numeric[shown])
    labels = np.where(numeric, NUMBER, ANY).astype(object)
    for value in shown[stays].tolist():
        labels[value] = f"={columns.values[key][value]}"
    return np.asarray(np.append(labels, ABSENT)[codes], dtype=np.str_)


Labels = Callable[[KeyColumns, int, Ints], NDArray[np.str_]]
"""Gives the label of a key, by its number, for each of some URLs."""


def pattern_tree(urls: Sequence[str], labels: Labels = generalised) -> tuple[PatternTree, Ints]:
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
            distinct, group = np.unique(labels(columns, key, rows), return_inverse=True)
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


def text_of(pattern: Mapping[str, str]) -> str:
    """Return a pattern as people write it: ``a.org/tag/*``, ``a.org/show.php?t=#``; ``**`` is any rest."""
    words = {key: label.removeprefix("=") for key, label in pattern.items() if label != ABSENT}
    n = 1 + max((int(key[1:]) for key in words if key.startswith("p")), default=-1)
    path = "".join(f"/{words.get(path_key(i), ANY)}" for i in range(n))
    rest = "" if pattern.get(path_key(n)) == ABSENT else "/**"
    arguments = "&".join(f"{key[1:]}={words[key]}".lstrip("=") for key in sorted(words) if key[0] == "?")
    return f"{words.get(HOST, ANY)}{path + rest or '/'}{arguments and f'?{arguments}'}"
