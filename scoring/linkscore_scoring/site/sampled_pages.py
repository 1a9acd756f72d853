"""Pages kept for learning a site, in as few bytes as they can be read from quickly."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Annotated, Any, Self, TypeAlias

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import State, from_state, stored_as

_SIGNED, _UNSIGNED = "hi", "BHIQ"
"""Codes of the types of numbers that may be below 0, and of those that may not."""
_LINK_COLUMNS = ("link_paths", "classless", "rows", "targets")


def _smallest(numbers: list[int]) -> bytes | array[int]:
    """Return numbers of 64 bits, not below 0, in the smallest items that hold them."""
    try:
        return bytes(numbers)  # of nearly all columns
    except ValueError:
        most = max(numbers)
    return array("H" if most < 2**16 else "I" if most < 2**32 else "Q", numbers)


def _plain(column: bytes | array[int]) -> tuple[str, bytes]:
    """Return numbers as plain values: the code of their type, and their bytes, little-endian."""
    if isinstance(column, bytes):
        return "B", column
    return column.typecode, _little_endian(column).tobytes()


def _column(plain: Any, codes: str) -> bytes | array[int]:
    """Return what `_plain` gave; TypeError or ValueError for anything else, or of another code."""
    code, data = plain
    if code not in codes or not isinstance(data, bytes):
        raise ValueError(f"want bytes of a type of {codes}, got {code!r:.20}")
    return data if code == "B" else _little_endian(array(code, data))


def _little_endian(column: array[int]) -> array[int]:
    """Return numbers in the order of bytes that is written, or back."""
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column


class NameColumn:
    """A column of names that repeat themselves: each name once, and its number where it stands.

    Examples
    --------
    >>> column = NameColumn.of(["li", "a", "li"])
    >>> list(column), column.names
    (['li', 'a', 'li'], ('li', 'a'))
    """

    __slots__ = ("_rows", "names")

    def __init__(self, names: tuple[str, ...], rows: bytes | array[int]) -> None:
        self.names = names
        self._rows = rows

    @classmethod
    def of(cls, column: list[str]) -> Self:
        """Return a column; its names are one object with equal names of other pages."""
        names = dict.fromkeys(column)
        numbers = dict(zip(names, range(len(names)), strict=True))
        return cls(tuple(map(intern, names)), _smallest(list(map(numbers.__getitem__, column))))

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def to_state(self) -> tuple[tuple[str, ...], tuple[str, bytes]]:
        """Return the names, and their numbers as plain values."""
        return self.names, _plain(self._rows)

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return what `to_state` gave; TypeError or ValueError for anything else."""
        names, rows = state[0], _column(state[1], _UNSIGNED)
        if max(rows, default=-1) >= len(names):
            raise ValueError(f"want numbers of {len(names)} names, got {max(rows)}")
        return cls(tuple(map(intern, names)), rows)


_Packed: TypeAlias = "tuple[array[int], NameColumn, NameColumn, bytes | array[int]]"
"""Parents, tags, classes and leaves of tag paths."""


class SampledPaths:
    """Tag paths of a page kept for learning: once packed some 11 bytes a node, where a `PathTrie` takes 40.

    Parameters
    ----------
    trie
        The tag paths; not to be changed any more.

    Notes
    -----
    State is that of packed paths, whether they are packed or not; before number 7 of snapshots it was that of
    a `PathTrie`.

    Examples
    --------
    >>> from linkscore_scoring.testing.pages import trie_of
    >>> trie = trie_of(["html/body/p/text()", "html/body/img"])
    >>> paths = SampledPaths(trie)
    >>> paths.pack()
    >>> paths.trie == trie, len(paths)
    (True, 5)
    """

    __slots__ = ("_loose", "_packed")

    def __init__(self, trie: PathTrie) -> None:
        self._loose: PathTrie | None = trie
        self._packed: _Packed | None = None

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._packed[0] if self._packed else self._unpacked().parents)

    def __eq__(self, other: object) -> bool:
        """Say whether the tag paths are the same."""
        return isinstance(other, SampledPaths) and self.trie == other.trie

    __hash__ = None  # type: ignore[assignment]

    @property
    def trie(self) -> PathTrie:
        """The tag paths; of packed ones made anew, some 25 us a page."""
        return self._unpacked()

    def pack(self) -> None:
        """Take up little memory from now on."""
        self._packed, self._loose = self._columns(), None

    def _columns(self) -> _Packed:
        if self._packed is not None:
            return self._packed
        trie = self._loose or PathTrie()
        parents = array("h" if len(trie.parents) < 2**15 else "i", trie.parents)
        return parents, NameColumn.of(trie.tags), NameColumn.of(trie.classes), _smallest(trie.leaves)

    def _unpacked(self) -> PathTrie:
        if self._packed is None:
            return self._loose or PathTrie()
        parents, tags, classes, leaves = self._packed
        return PathTrie(list(parents), list(tags), list(classes), list(leaves))

    def to_state(self) -> list[Any]:
        """Return the columns: parents, tags, classes, leaves."""
        parents, tags, classes, leaves = self._columns()
        return [_plain(parents), tags.to_state(), classes.to_state(), _plain(leaves)]

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return what `to_state` gave, packed; TypeError, ValueError or `CorruptState` for anything else."""
        if not isinstance(state, dict):
            parents, tags, classes, leaves = state
            paths = cls(PathTrie())
            packed = _column(parents, _SIGNED), *map(NameColumn.from_state, (tags, classes))
            paths._packed = (*packed, _column(leaves, _UNSIGNED))  # type: ignore[assignment]
            if len({len(column) for column in paths._columns()}) > 1:
                raise ValueError("want columns of the same length")
            paths._loose = None
            return paths
        paths = cls(from_state(PathTrie, state))
        try:
            paths.pack()
        except OverflowError as exc:
            raise ValueError(f"want numbers of fewer bits: {exc}") from exc
        return paths


@dataclass(frozen=True, slots=True)
class SampledLinks:
    """The distinct links of a page kept for learning: some 12 bytes each, where tuples of numbers take 100.

    Attributes
    ----------
    link_paths, classless
        Distinct pairs of link path id and class-free link path id, as two columns; uint64.
    rows
        For each link, the number of its pair.
    targets
        Identity hash of the target of each link; uint64.

    Examples
    --------
    >>> links = SampledLinks.of([0, 3, 3], [0, 1, 1], [7, 2**64 - 1, 7])
    >>> len(links), list(links) == [(0, 0, 7), (3, 1, 2**64 - 1), (3, 1, 7)]
    (3, True)
    """

    link_paths: array[int]
    classless: array[int]
    rows: bytes | array[int]
    targets: array[int]

    @classmethod
    def of(cls, link_paths: Sequence[int], classless: Sequence[int], targets: Sequence[int]) -> Self:
        """Return links given as columns of the same length."""
        numbers: dict[tuple[int, int], int] = {}
        rows = _smallest(
            [numbers.setdefault(pair, len(numbers)) for pair in zip(link_paths, classless, strict=True)]
        )
        distinct = zip(*numbers, strict=True) if numbers else ((), ())
        return cls(*(array("Q", column) for column in distinct), rows, array("Q", targets))  # type: ignore[call-arg]

    @classmethod
    def distinct(cls, link_paths: Sequence[int], classless: Sequence[int], targets: Sequence[int]) -> Self:
        """Return the distinct rows of columns of the same length, in their order."""
        links = dict.fromkeys(zip(link_paths, classless, targets, strict=True))
        return cls.of(*(zip(*links, strict=True) if links else ((), (), ())))

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        columns = (map(column.__getitem__, self.rows) for column in (self.link_paths, self.classless))
        return zip(*columns, self.targets, strict=True)

    def counts(self) -> dict[int, int]:
        """Return how many links each link path has."""
        counts: dict[int, int] = {}
        for row, count in Counter(self.rows).items():
            counts[self.link_paths[row]] = counts.get(self.link_paths[row], 0) + count
        return counts

    def to_state(self) -> State:
        """Return the columns; before number 7 of snapshots these were rows."""
        return {name: _plain(getattr(self, name)) for name in _LINK_COLUMNS}

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return what `to_state` gave; LookupError, ValueError or TypeError for anything else."""
        if isinstance(state, dict):
            codes = dict.fromkeys(_LINK_COLUMNS, "Q") | {"rows": _UNSIGNED}
            links = cls(**{name: _column(state[name], codes[name]) for name in _LINK_COLUMNS})  # type: ignore[arg-type]
            pairs = len(links.link_paths)
            if len(links.rows) != len(links.targets) or max(links.rows, default=-1) >= pairs:
                raise ValueError(f"want a row of {pairs} pairs for each of {len(links.targets)} links")
            if len(links.classless) != pairs:
                raise ValueError(f"want {pairs} class-free link paths, got {len(links.classless)}")
            return links
        try:
            return cls.of(*(tuple(zip(*state, strict=True)) or ((), (), ())))
        except OverflowError as exc:
            raise ValueError(f"want numbers of 64 bits: {exc}") from exc


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page kept for learning.

    Attributes
    ----------
    seq
        Sequence number of its event.
    key, hash
        Identity of the page's URL, as text and as 64-bit hash.
    kept_paths
        Its tag paths, as they are kept.
    links
        One for every distinct (link path, target) of the page.
    """

    seq: int
    key: str
    hash: int
    kept_paths: Annotated[SampledPaths, stored_as("paths")]
    links: SampledLinks

    @property
    def paths(self) -> PathTrie:
        """Its tag paths, to be read."""
        return self.kept_paths.trie
