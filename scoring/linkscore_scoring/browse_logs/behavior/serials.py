"""Numbers in URLs that grow as pages are born: ids of threads, years and months of posts.

A browse log shows which numbers do: the higher the number, the later the page's first visit. Beyond the
highest number known lie the pages that nobody could visit yet, and people visit new pages most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.key_values import ANY, HOST, NUMBER, KeyValues, is_number

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Keys = tuple[str, ...]

# Pages first visited after the first day, and correlation of number and day, from which a number is taken
# to grow; and
# those from which a shape with the same keys has the number too. Measured on the first 20 days of three logs.
MIN_PAGES, MIN_RELATED_PAGES = 20, 5
# See above: correlations of the same two rules. The first was .8 and is .791 on forum_phpbb with 1 % of stray
# lines; on the logs as they are nothing lies between.
MIN_CORRELATION, MIN_RELATED = 0.75, 0.3

_FIRM_VISITS = 3
"""Visits that make a number firm: a mistyped one must not set the highest known. Chosen on the same logs."""

_NEIGHBOURS = 8
"""Firm numbers in a row by whose span a number is told from a stray one. Chosen, not measured."""

_STRETCH = 2.0
"""Times the usual span of so many that they may span. At 4 one log with 1 % of stray lines had its frontier
at 896 instead of 875 (forum_phpbb)."""

_STEP = 2.0
"""A bound: span that always passes. Where many pages share a number the usual span is 0, and from December
to January a number of years and months, 13 values a year, makes a step of 2."""

_BASE_SHARE = 0.99
"""Share of the visits whose values set how many a part of a number may have. Chosen: 1 % may be stray."""

_SLACK_DAYS = 3.0
"""Days by which a page's number may be late for its first visit. Chosen on the same logs."""

_MAX_DIGITS = 15
"""A bound: digits of a number that are read, so that it is exact in float64."""


@dataclass(slots=True)
class Serial:
    """A growing number of URLs of one shape.

    Attributes
    ----------
    keys, bases
        The keys that make it, the slowest first, and how many values each may have: year and month are one
        number.
    frontier
        Highest number that is firm, three visits or more, and has firm neighbours below.
    rate
        Numbers a day, > 0.
    newborn
        Visits a day that pages born within the log had, on average.
    """

    keys: Keys
    bases: tuple[int, ...]
    frontier: float
    rate: float
    newborn: float

    def days_ahead(self, pairs: KeyValues) -> float:
        """Return how long after the log a URL's page is born at the usual rate, in days; < 0 for before."""
        return (number_of(pairs, self.keys, self.bases) - self.frontier) / self.rate


def shape_of(pairs: KeyValues, pattern: Mapping[str, str]) -> str:
    """Return the kind of URL a number belongs to: keys, ``#`` for numbers, ``*`` for what is not fixed."""
    return "&".join(f"{key}{_label(key, value, pattern)}" for key, value in pairs.items() if key != HOST)


def number_of(pairs: KeyValues, keys: Keys, bases: Sequence[int]) -> float:
    """Return the number that some keys of a URL make together; parts beyond their base count as its last."""
    number = float(pairs[keys[0]][:_MAX_DIGITS])
    for key, base in zip(keys[1:], bases[1:], strict=True):
        number = number * base + min(int(pairs[key][:_MAX_DIGITS]), base - 1)
    return number


def find_serials(
    pairs: Sequence[KeyValues], shapes: Sequence[str], first_days: Ids, visits: Ids, n_days: int
) -> dict[str, Serial]:
    """Return the growing number of each shape that has one.

    A number grows if its ranks and the days of first visits correlate by .75, over at least 20 pages first
    visited after the first day, each counting as often as it was visited. Another shape with the same keys
    has the number too if it correlates by .3 over at least five there: the second page of a thread has the
    thread's id.

    Parameters
    ----------
    pairs, shapes
        Key-value pairs and shape of each URL, (n_urls,) each.
    first_days
        Day of the first visit, (n_urls,), -1 for none.
    visits
        Visits, (n_urls,).
    n_days
        Days of the log.

    Notes
    -----
    Ours. The bounds were chosen on the first 20 days of three logs. Cost O(n_urls log n_urls).
    """
    rows = defaultdict(list)
    for row, shape in enumerate(shapes):
        if NUMBER in shape:
            rows[shape].append(row)
    found = []
    for shape, members in rows.items():
        kind = _Kind(shape, [pairs[row] for row in members], first_days[members], visits[members])
        found += [
            (correlation, kind, keys) for keys in kind.candidates() if (correlation := kind.grows(keys))
        ]
    serials: dict[str, Serial] = {}
    for keys, first in sorted(_grown(found).items(), key=lambda item: item[1][0]):
        kin = [kind for c, kind, others in found if others == keys and c >= MIN_RELATED and kind.is_some]
        serials |= _serials(keys, first[1], kin, n_days)
    return serials


class _Kind:
    """The URLs of one shape."""

    def __init__(self, shape: str, pairs: Sequence[KeyValues], first_days: Ids, visits: Ids) -> None:
        self.shape, self.pairs, self.first_days, self.visits = shape, pairs, first_days, visits

    @property
    def is_large(self) -> bool:
        return int((self.first_days > 0).sum()) >= MIN_PAGES

    @property
    def is_some(self) -> bool:
        return int((self.first_days > 0).sum()) >= MIN_RELATED_PAGES

    def candidates(self) -> Iterable[Keys]:
        """Yield each key that is a number, and the path's numbers that stand side by side."""
        numeric = [key for key, value in self.pairs[0].items() if is_number(value) and key != HOST]
        yield from ((key,) for key in numeric)
        path = [key for key in numeric if key.startswith("p")]
        places = [int(key[1:]) for key in path]
        if len(path) > 1 and places == list(range(places[0], places[0] + len(path))):
            yield tuple(path)

    def numbers(self, keys: Keys, bases: Sequence[int]) -> Floats:
        return np.array([number_of(pairs, keys, bases) for pairs in self.pairs], dtype=np.float64)

    def bases(self, keys: Keys) -> tuple[int, ...]:
        """Return how many values each key has, but for the highest that 1 % of the visits show."""
        return tuple(1 + self._high_value(key) for key in keys)

    def _high_value(self, key: str) -> int:
        values = np.array([int(pairs[key][:_MAX_DIGITS]) for pairs in self.pairs], dtype=np.int64)
        order = np.argsort(values, kind="stable")
        weights = np.cumsum(self.visits[order])
        return int(values[order][np.searchsorted(weights, _BASE_SHARE * weights[-1])])

    def grows(self, keys: Keys) -> float:
        """Return the correlation of number and day of birth, stray numbers apart; 0 if there is none."""
        numbers = self.numbers(keys, self.bases(keys))
        born = (self.first_days > 0) & (numbers <= self.highest(numbers))
        if born.sum() < 2:
            return 0.0
        ranks = np.argsort(np.argsort(numbers[born], kind="stable")).astype(np.float64)
        return _correlation(ranks, self.first_days[born], self.visits[born])

    def frontier(self, numbers: Floats) -> float:
        """Return the highest firm number that is not stray, 0 if there is none."""
        return min(self.highest(numbers), float(numbers[self.visits >= _FIRM_VISITS].max(initial=0.0)))

    def highest(self, numbers: Floats) -> float:
        """Return the highest firm number that stands as close to those below it as numbers do there.

        Numbers of pages that were born lie close together; stray ones (mistyped, made up, of another site) do
        not, however often they are visited. The span of eight firm numbers in a row tells: at most twice
        the median over pages born within the log, each counting once. Infinite if fewer are firm.
        """
        firm = self.visits >= _FIRM_VISITS
        order = np.argsort(numbers[firm], kind="stable")
        known, born = numbers[firm][order], (self.first_days[firm] > 0)[order]
        if len(known) < _NEIGHBOURS:
            return np.inf
        tops, born = known[_NEIGHBOURS - 1 :], born[_NEIGHBOURS - 1 :]
        spans = tops - known[: len(tops)]
        usual = float(np.median(spans[born] if born.any() else spans))
        return float(tops[spans <= max(_STRETCH * usual, _STEP)].max(initial=tops[0]))


def _grown(found: Sequence[tuple[float, _Kind, Keys]]) -> dict[Keys, tuple[float, _Kind]]:
    """Return the keys that grow for sure and the shape that shows it best; of a shape only its best keys."""
    best: dict[str, tuple[float, _Kind, Keys]] = {}
    for correlation, kind, keys in found:
        if kind.is_large and correlation >= max(MIN_CORRELATION, best.get(kind.shape, (0.0,))[0]):
            best[kind.shape] = correlation, kind, keys
    grown: dict[Keys, tuple[float, _Kind]] = {}
    for correlation, kind, keys in best.values():
        if correlation > grown.get(keys, (0.0,))[0]:
            grown[keys] = correlation, kind
    return grown


def _serials(keys: Keys, first: _Kind, kin: Sequence[_Kind], n_days: int) -> dict[str, Serial]:
    """Return the serial of each related shape; bases, frontier and rate are those of the first."""
    bases = first.bases(keys)
    numbers = first.numbers(keys, bases)
    frontier = first.frontier(numbers)
    rate = _rate(numbers, first, frontier, n_days)
    if rate <= 0.0:
        return {}
    made = {}
    for kind in kin:
        newborn = _newborn(kind.numbers(keys, bases), kind, frontier, rate, n_days)
        if newborn > 0.0:
            made[kind.shape] = Serial(keys, bases, frontier, rate, newborn)
    return made


def _rate(numbers: Floats, kind: _Kind, frontier: float, n_days: int) -> float:
    """Return the numbers a day: the median way to the frontier by days left, pages by visits."""
    born = (kind.first_days > 0) & (kind.first_days < n_days - 1) & (numbers < frontier)
    if not born.any():
        return 0.0
    rates = (frontier - numbers[born]) / (n_days - kind.first_days[born])
    order = np.argsort(rates, kind="stable")
    weights = np.cumsum(kind.visits[born][order])
    return float(rates[order][np.searchsorted(weights, weights[-1] / 2.0)])


def _newborn(numbers: Floats, kind: _Kind, frontier: float, rate: float, n_days: int) -> float:
    """Return the visits a day of pages whose number says that they were born when they were first seen."""
    ahead = (numbers - frontier) / rate
    born = (kind.first_days > 0) & (-ahead <= n_days - kind.first_days + _SLACK_DAYS) & (ahead <= _SLACK_DAYS)
    days = (n_days - kind.first_days[born]).sum()
    return float(kind.visits[born].sum() / days) if days else 0.0


def _correlation(x: Floats, y: Ids, weights: Ids) -> float:
    """Return the weighted correlation, 0 if one side does not vary."""
    total = float(weights.sum())
    if total <= 0.0:
        return 0.0
    dx, dy = x - (weights * x).sum() / total, y - (weights * y).sum() / total
    spread = float((weights * dx * dx).sum() * (weights * dy * dy).sum())
    return float((weights * dx * dy).sum() / np.sqrt(spread)) if spread > 0.0 else 0.0


def _label(key: str, value: str, pattern: Mapping[str, str]) -> str:
    if is_number(value):
        return NUMBER
    literal = f"={value}"
    return literal if pattern.get(key) == literal else ANY
