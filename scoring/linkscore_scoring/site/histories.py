"""What a group of fetches brought over time: a few bins of counts, so that early and late can be compared."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter, itemgetter
from typing import Any

MAX_BINS = 16
MAX_EXAMPLES = 3
Bin = list[float]
"""Site fetch number of the bin's first fetch, then the fields of a `Tally`."""


@dataclass(slots=True)
class Tally:
    """Sums over some fetches.

    Attributes
    ----------
    fetched
        Number of fetches.
    text
        Sum of novelty rewards: x / (x + 400), x = characters of long text the site had never shown.
    hub
        Sum of what the links found first there are worth, at most 1 a fetch.
    copies
        Fetches that showed long text and none of it new, or were led to a page fetched before.
    silent
        Fetches without any long text, failed ones included.
    grown
        Links of the same group found first there.
    reported
        Fetches with feedback.
    reward
        Sum of the rewards of feedback.
    """

    fetched: float = 0.0
    text: float = 0.0
    hub: float = 0.0
    copies: float = 0.0
    silent: float = 0.0
    grown: float = 0.0
    reported: float = 0.0
    reward: float = 0.0

    def worth(self, *, by_reward: bool) -> float:
        """Return the mean reward of feedback, or the mean novelty reward; 0 without any fetch to judge by."""
        if by_reward:
            return self.reward / self.reported if self.reported else 0.0
        return self.text / self.fetched if self.fetched else 0.0

    def use(self, *, by_reward: bool) -> float:
        """Return the worth of a fetch with that of the links it led to."""
        return self.worth(by_reward=by_reward) + (self.hub / self.fetched if self.fetched else 0.0)

    def values(self) -> list[float]:
        """Return the fields in order."""
        return list(_fields_of(self))


_REPORTED, _REWARD = 7, 8
_fields_of = attrgetter(*(field.name for field in fields(Tally)))


class History:
    """The tallies of a group of fetches in at most 16 bins, oldest first; bins widen in pairs as they fill.

    Adding costs O(1) amortised. Totals are exact; a half is exact to the bin.

    Attributes
    ----------
    bins
        See `Bin`.
    examples
        URLs of the latest fetches, at most 3.
    fetched
        Number of fetches.
    """

    __slots__ = ("_width", "bins", "examples", "fetched")

    def __init__(self) -> None:
        self.bins: list[Bin] = []
        self.examples: list[str] = []
        self.fetched = 0.0
        self._width = 1

    def add(self, at: int, values: Sequence[float]) -> None:
        """Count a fetch, the site's number `at`, by the fields of its tally."""
        self.fetched += values[0]
        if not self.bins or self.bins[-1][1] >= self._width:
            self.bins.append([at, *values])
            if len(self.bins) > MAX_BINS:
                self._widen()
            return
        _add(self.bins[-1], values)

    def amend(self, at: int, values: Sequence[float]) -> None:
        """Add to the bin of a fetch counted before."""
        if self.bins:
            self.fetched += values[0]
            _add(self._bin(at), values)

    def rate(self, at: int, reported: int, reward: float) -> None:
        """Add feedback to the bin of a fetch counted before: reports, and reward or a change of it."""
        if self.bins:
            counts = self._bin(at)
            counts[_REPORTED] += reported
            counts[_REWARD] += reward

    def saw(self, url: str) -> None:
        """Note a URL as the latest example."""
        self.examples = [*self.examples[-MAX_EXAMPLES + 1 :], url]

    def take(self, other: History) -> None:
        """Take in the fetches of another group."""
        self.bins = sorted([*map(list, self.bins), *map(list, other.bins)], key=itemgetter(0))
        self.examples = [*other.examples, *self.examples][-MAX_EXAMPLES:]
        self.fetched += other.fetched
        while len(self.bins) > MAX_BINS:
            self._widen()

    def total(self) -> Tally:
        """Return the tally of all fetches."""
        return _tally(self.bins)

    def halves(self) -> tuple[Tally, Tally]:
        """Return the tallies of the first and of the last half of the fetches, to the bin."""
        cut = self._cut(0.5)
        return _tally(self.bins[:cut]), _tally(self.bins[cut:])

    def latest(self, share: float, *, at_least: int = 1) -> Tally:
        """Return the tally of the last `share` of the fetches or of `at_least` so many, to the bin."""
        share = max(share, at_least / max(1.0, self.fetched))
        return _tally(self.bins[min(self._cut(1.0 - share), len(self.bins) - 1) :])

    def _bin(self, at: int) -> Bin:
        if at >= self.bins[-1][0]:
            return self.bins[-1]
        return self.bins[max(0, bisect_right(self.bins, at, key=itemgetter(0)) - 1)]

    def _cut(self, share: float) -> int:
        """Return how many bins hold about the first `share` of the fetches."""
        left, wanted = 0.0, share * self.fetched
        for cut, counts in enumerate(self.bins):
            if abs(left + counts[1] - wanted) >= abs(left - wanted):
                return cut
            left += counts[1]
        return len(self.bins)

    def _widen(self) -> None:
        pairs = [self.bins[i : i + 2] for i in range(0, len(self.bins), 2)]
        for first, *rest in pairs:
            for counts in rest:
                _add(first, counts[1:])
        self.bins = [first for first, *_ in pairs]
        self._width *= 2

    def to_state(self) -> list[Any]:
        """Return the history as plain values."""
        return [self._width, self.bins, self.examples]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> History:
        """Rebuild a history."""
        made = cls()
        made._width, made.bins, made.examples = state[0], [list(b) for b in state[1]], list(state[2])
        made.fetched = sum(counts[1] for counts in made.bins)
        return made


def merged(histories: Iterable[History]) -> History:
    """Return one history of the fetches of several groups."""
    made = History()
    for history in histories:
        made.take(history)
    return made


def _add(counts: Bin, values: Sequence[float]) -> None:
    for i, value in enumerate(values, 1):
        if value:
            counts[i] += value


def _tally(bins: Sequence[Bin]) -> Tally:
    return Tally(*map(sum, list(zip(*bins, strict=True))[1:])) if bins else Tally()
