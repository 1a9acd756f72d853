"""Pages kept for learning a site, in as few bytes as they can be read from quickly."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Annotated, Any, Self

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import State, from_state, stored_as, to_state


def _smallest(numbers: list[int]) -> bytes | array[int]:
    """Return numbers of 64 bits, not below 0, in the smallest items that hold them."""
    try:
        return bytes(numbers)  # of nearly all columns
    except ValueError:
        most = max(numbers)
    return array("H" if most < 2**16 else "I" if most < 2**32 else "Q", numbers)


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


class SampledPaths:
    """Tag paths of a page kept for learning: once packed some 11 bytes a node, where a `PathTrie` takes 40.

    Parameters
    ----------
    trie
        The tag paths; not to be changed any more.

    Notes
    -----
    State is that of a `PathTrie`, packed or not.

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
        self._packed: tuple[array[int], NameColumn, NameColumn, bytes | array[int]] | None = None

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
        if (trie := self._loose) is not None:
            parents = array("h" if len(trie.parents) < 2**15 else "i", trie.parents)
            names = NameColumn.of(trie.tags), NameColumn.of(trie.classes)
            self._packed = parents, *names, _smallest(trie.leaves)
            self._loose = None

    def _unpacked(self) -> PathTrie:
        if self._packed is None:
            return self._loose or PathTrie()
        parents, tags, classes, leaves = self._packed
        return PathTrie(list(parents), list(tags), list(classes), list(leaves))

    def to_state(self) -> State:
        """Return the state of the `PathTrie`."""
        state: State = to_state(self.trie)
        return state

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return what `to_state` gave, packed; ValueError or `CorruptState` for anything else."""
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

    def to_state(self) -> list[tuple[int, int, int]]:
        """Return the rows."""
        return list(self)

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return what `to_state` gave; ValueError or TypeError for anything else."""
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
