"""Pages whose last fetches failed: nothing was seen of them, so they stay due, and wait longer each time."""

from __future__ import annotations

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.revisits.pages import ENTRY_BYTES
from linkscore_scoring.state import Flat, Stateful, Stored

MOST = 20_000
"""A bound: pages whose failures are remembered; of others the next fetch is as due as it was."""
_DOUBLINGS = 40
"""A bound: an hour doubled so often is 100 million years, and a float holds it."""


class Failures(Stateful):
    """By key, the fetches that failed in a row and when the last one was, in seconds since the epoch.

    Examples
    --------
    Of an hour at least and a day at most.

    >>> failures = Failures()
    >>> for hour in (0, 10, 20):
    ...     _ = failures.add(7, hour * 3_600.0)
    >>> failures.until(7, 3_600.0, 86_400.0) / 3_600.0
    24.0
    """

    _failed: Stored[Flat[dict[int, tuple[int, float]]]]

    def __init__(self) -> None:
        self._failed = {}

    def __len__(self) -> int:
        return len(self._failed)

    def add(self, key: int, now_s: float) -> list[int]:
        """Take in a failed fetch; return keys that are forgotten for it."""
        count, last = self._failed.get(key, (0, now_s))
        self._failed[key] = (min(count + 1, _DOUBLINGS), max(last, now_s))
        return [old for old, _ in drop_oldest(self._failed, MOST)]

    def forget(self, key: int) -> None:
        """Take in that a page came."""
        self._failed.pop(key, None)

    def until(self, key: int, least_s: float, longest_s: float) -> float:
        """Return when a page may be tried again: after the least interval, doubled with each failure."""
        count, last = self._failed.get(key, (0, 0.0))
        return last + min(least_s * 2.0 ** (count - 1), longest_s) if count else 0.0

    def memory_bytes(self) -> int:
        """Estimate what they take in memory: a pair beside each entry."""
        return (ENTRY_BYTES + 90) * len(self._failed)
