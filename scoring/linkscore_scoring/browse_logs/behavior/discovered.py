"""How much pages of each URL pattern showed in a crawl, beside what the browse log promised."""

from __future__ import annotations

from collections.abc import Container

from linkscore_scoring.errors import reading_state
from linkscore_scoring.state import State

_PRIOR_PAGES = 1.0


class Discovered:
    """Demand that was expected and found, by pattern; bounded by the patterns there are."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float, int]] = {}

    def add(self, pattern: str, *, expected: float, found: float) -> None:
        """Take in one page: the demand its pattern promised, and that of the pages it showed first."""
        before = self._sums.get(pattern, (0.0, 0.0, 0))
        self._sums[pattern] = before[0] + expected, before[1] + found, before[2] + 1

    def factor(self, pattern: str) -> float:
        """Return found over expected, one page that keeps its promise added to both; 1 without a page."""
        expected, found, pages = self._sums.get(pattern, (0.0, 0.0, 0))
        prior = _PRIOR_PAGES * expected / max(pages, 1)
        return (found + prior) / (expected + prior) if expected > 0.0 else 1.0

    def keep(self, patterns: Container[str]) -> None:
        """Forget all other patterns."""
        self._sums = {name: sums for name, sums in self._sums.items() if name in patterns}

    def to_state(self) -> State:
        """Return the sums as plain values."""
        return {"sums": [[name, *sums] for name, sums in self._sums.items()]}

    @classmethod
    def from_state(cls, state: State) -> Discovered:
        """Rebuild sums.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        made = cls()
        with reading_state("discovered"):
            made._sums = {str(p): (float(e), float(f), int(n)) for p, e, f, n in state["sums"]}
        return made
