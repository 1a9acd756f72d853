"""How much the next fetches will bring, and when to stop."""

from __future__ import annotations

from typing import Any

from linkscore_scoring.errors import reading_state


class YieldTrend:
    """Targets per fetch, smoothed exponentially over a window of fetches.

    A label that comes late counts at once when it comes, so the trend lags behind by the delay.

    Parameters
    ----------
    window
        Fetches after which a target counts 1 / e of what it did.
    """

    def __init__(self, *, window: int = 500) -> None:
        self.window = window
        self.fetches = self.targets = 0
        self._mass = self._found = 0.0

    @property
    def rate(self) -> float:
        """Smoothed targets per fetch; 0 before the first fetch."""
        return self._found / self._mass if self._mass else 0.0

    def fetched(self) -> None:
        """Count a fetch."""
        keep = 1.0 - 1.0 / self.window
        self.fetches += 1
        self._mass = keep * self._mass + 1.0
        self._found *= keep

    def found(self) -> None:
        """Count a target."""
        self.targets += 1
        self._found += 1.0

    def expected(self, fetches: int) -> float:
        """Return how many targets the next fetches bring if the trend holds."""
        return self.rate * fetches

    def is_exhausted(self, least: float) -> bool:
        """Say whether the yield is below `least`, after a window of fetches; never if `least` is 0."""
        return least > 0.0 and self.fetches >= self.window and self.rate < least

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {"counts": [self.fetches, self.targets], "sums": [self._mass, self._found]}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the counts of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("yield trend"):
            self.fetches, self.targets = map(int, state["counts"])
            self._mass, self._found = map(float, state["sums"])
