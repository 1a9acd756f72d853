"""Do the pages behind followed links still turn out as predicted? A window for each URL pattern."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

WINDOW = 12
_ALARM = 1e-6
_NOISE, _PRIOR = 0.3, 20.0
_MOST_PATTERNS = 5_000


class PredictionWatch:
    """Surprises of the latest 12 pages of each URL pattern, against the rate of surprises before them.

    A pattern has changed when its latest pages rule out chance: the probability of as many surprises or more,
    binomial with the rate before them (shrunk to .3: page types are noisy), is below 1e-6. After a short past
    twelve in a row are needed, after a long good one four. Half of the latest six must be surprises, so that
    a bad day that is over does not alarm.

    Notes
    -----
    Why not ADWIN (`classifiers.drift`): a pattern brings few pages, and the question is not when the mean
    changed but whether the latest pages can be what the earlier ones were. Cost O(window) a page.
    """

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, int, list[int]]] = {}

    def add(self, pattern: int, *, surprise: bool) -> bool:
        """Take in a page of a pattern; say whether the pattern has just changed, and start it anew then."""
        pages, surprises, window = self._rows.get(pattern, (0, 0, []))
        window = [*window, int(surprise)]
        if len(window) > WINDOW:
            pages, surprises = pages + 1, surprises + window[0]
            window = window[1:]
        if _is_odd(pages, surprises, window):
            self._rows.pop(pattern, None)
            return True
        if pattern in self._rows or len(self._rows) < _MOST_PATTERNS:
            self._rows[pattern] = (pages, surprises, window)
        return False

    def follow(self, resolve: Callable[[int], int]) -> None:
        """Drop the windows of patterns that were generalised; the wider pattern has one of its own."""
        self._rows = {pattern: row for pattern, row in self._rows.items() if resolve(pattern) == pattern}

    def to_state(self) -> dict[str, Any]:
        """Return the windows as plain values."""
        return {"rows": [[pattern, *row] for pattern, row in self._rows.items()]}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the windows of `to_state`."""
        self._rows = {int(p): (int(n), int(s), list(map(int, window))) for p, n, s, window in state["rows"]}


def _is_odd(pages: int, surprises: int, window: list[int]) -> bool:
    """Say whether the latest pages of a window cannot be chance, for the best starting point of a change."""
    latest = window[-6:]
    if 2 * sum(latest) < len(latest) or sum(window) < 4:
        return False
    for start in range(len(window) - 3):
        tail, before = window[start:], window[:start]
        rate = (surprises + sum(before) + _NOISE * _PRIOR) / (pages + len(before) + _PRIOR)
        if tail_prob(len(tail), sum(tail), rate) < _ALARM:
            return True
    return False


def tail_prob(n: int, k: int, rate: float) -> float:
    """Return the probability of `k` or more of `n` at a rate."""
    return sum(comb(n, i) * rate**i * (1.0 - rate) ** (n - i) for i in range(k, n + 1))
