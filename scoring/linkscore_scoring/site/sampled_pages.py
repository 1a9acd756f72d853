"""Pages kept for learning a site, as bytes: a node of tag paths takes some 10 and a link some 15 of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from sys import intern

import msgpack

from linkscore_scoring.features.types import PathTrie

SampledLink = tuple[int, int, int]
"""Link path id, class-free link path id, and identity hash of the target."""


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page kept for learning.

    Attributes
    ----------
    seq
        Sequence number of its event.
    key, hash
        Identity of the page's URL, as text and as 64-bit hash.
    nodes
        Nodes of its tag paths.
    packed_paths, packed_links
        Its tag paths and its distinct links, in msgpack; `paths` and `links` read them, in some 25 us.

    Examples
    --------
    >>> from linkscore_scoring.testing.pages import trie_of
    >>> trie = trie_of(["html/body/p/text()", "html/body/img"])
    >>> page = SampledPage.of(1, "http://h/", 7, trie, [(3, 1, 2**64 - 1), (3, 1, 8)])
    >>> page.paths == trie, page.links == [(3, 1, 2**64 - 1), (3, 1, 8)], page.nodes
    (True, True, 5)
    """

    seq: int
    key: str
    hash: int
    nodes: int
    packed_paths: bytes
    packed_links: bytes

    @classmethod
    def of(cls, seq: int, key: str, hash_: int, trie: PathTrie, links: Iterable[SampledLink]) -> SampledPage:
        """Return a page with its tag paths and distinct links."""
        numbers: dict[tuple[int, int], int] = {}  # of the few pairs of link paths
        rows, targets = [], []
        for link_path, classless, target in links:
            rows.append(numbers.setdefault((link_path, classless), len(numbers)))
            targets.append(target)
        paths = [trie.parents, *_numbered(trie.tags), *_numbered(trie.classes), trie.leaves]
        packed = (msgpack.packb(columns) for columns in (paths, [list(numbers), rows, targets]))
        return cls(seq, key, hash_, len(trie.parents), *packed)

    @property
    def paths(self) -> PathTrie:
        """Its tag paths; names are one object with equal ones of other pages."""
        parents, tags, tag_rows, classes, class_rows, leaves = msgpack.unpackb(self.packed_paths)
        tags, classes = list(map(intern, tags)), list(map(intern, classes))
        return PathTrie(
            parents, [tags[row] for row in tag_rows], [classes[row] for row in class_rows], leaves
        )

    @property
    def links(self) -> list[SampledLink]:
        """One for every distinct link path and target of the page."""
        pairs, rows, targets = msgpack.unpackb(self.packed_links)
        return [(*pairs[row], target) for row, target in zip(rows, targets, strict=True)]


def _numbered(names: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the distinct names, and which of them stands where."""
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), rows
