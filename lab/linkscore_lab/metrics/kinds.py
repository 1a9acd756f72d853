"""Figures of forum crawling: threads, and the index pages that must be crossed to reach them.

Source: Jiang, Song, Yu and Lin 2013 (FoCUS), effectiveness and coverage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linkscore_lab.metrics.ratios import ratio

ENTRY, INDEX, THREAD = "ENTRY", "INDEX", "THREAD"
PERMALINK_SUFFIX = "_permalink"


@dataclass(frozen=True, slots=True)
class Kinds:
    """What kind of page each identity is.

    Attributes
    ----------
    types
        Page type by identity; pages without label are absent.
    kinds
        ENTRY, INDEX, THREAD or OTHER by page type.
    uncovered
        Types that coverage leaves out: pages that show nothing a thread page does not show.
    """

    types: Mapping[str, str]
    kinds: Mapping[str, str]
    uncovered: frozenset[str]

    @classmethod
    def of(
        cls, types: Mapping[str, str], kinds: Mapping[str, str], uncovered: Collection[str] | None = None
    ) -> Kinds:
        """Return the kinds; `uncovered` None leaves out the types whose name ends in ``_permalink``."""
        if uncovered is None:
            uncovered = [name for name in kinds if name.endswith(PERMALINK_SUFFIX)]
        return cls(types, kinds, frozenset(uncovered))

    def kind(self, key: str) -> str:
        """Return the kind of a page, empty when nobody knows it."""
        return self.kinds.get(self.types.get(key, ""), "")

    def covered(self, keys: Iterable[str]) -> set[str]:
        """Return the THREAD-kind pages among `keys` that coverage counts."""
        return {key for key in keys if self.kind(key) == THREAD and self.types.get(key) not in self.uncovered}


def has_threads(pages: Iterable[str], kinds: Kinds) -> bool:
    """Say whether the figures of forum crawling mean anything on this site."""
    return any(kinds.kind(key) == THREAD for key in pages)


def effectiveness(order: Sequence[str], kinds: Kinds) -> float:
    """Return THREAD-kind fetches / fetches."""
    return ratio(sum(kinds.kind(key) == THREAD for key in order), len(order))


def path_share(order: Sequence[str], kinds: Kinds) -> float:
    """Return entry, index and thread fetches / fetches: a forum's index pages must be crossed."""
    return ratio(sum(kinds.kind(key) in (ENTRY, INDEX, THREAD) for key in order), len(order))


def coverage(order: Iterable[str], pages: Collection[str], kinds: Kinds) -> float:
    """Return the share of the reachable THREAD-kind pages that was fetched, `Kinds.uncovered` left out."""
    retrievable = kinds.covered(pages)
    return ratio(len(retrievable.intersection(order)), len(retrievable))
