"""What a fetch must be worth so that as many pages are worth one as fetches there may be."""

from __future__ import annotations

import math
from collections.abc import Callable

from linkscore_scoring.hashing import GOLDEN

_LOWEST, _HIGHEST = 1e-12, 1e12
"""Bounds of a price, in days of one page."""
_WIDER = 4.0
"""How far beyond the last price the next is looked for at once: it moves by less, as a rule. Chosen."""
_STEPS, _NEAR = 40, 0.99
"""A bound: narrowings of that; and the share of the fetches that there may be that is enough."""


def price_of(fetches: Callable[[float], float], per_day: float, near: float = 0.0) -> float:
    """Return a price at which there are no more than so many fetches a day.

    Parameters
    ----------
    fetches
        Price -> fetches a day; does not rise.
    per_day
        As many as there may be, > 0.
    near
        The price before, 0 if there was none.

    Examples
    --------
    >>> round(price_of(lambda price: 100.0 / price, 4.0), 1)
    25.1

    Four pages may be fetched, and the only one not more often than twice.

    >>> price_of(lambda price: 2.0, 4.0) == _LOWEST
    True
    """
    if not near and fetches(_LOWEST) <= per_day:
        return _LOWEST  # pages cannot be fetched as often as they may be
    low = high = near or 1.0
    many = few = fetches(low)
    while few > per_day and high < _HIGHEST:
        low, many, high = high, few, high * _WIDER
        few = fetches(high)
    while many <= per_day and low > _LOWEST:
        high, few, low = low, many, low / _WIDER
        many = fetches(low)
    if many <= per_day:
        return low
    for step in range(_STEPS):
        if _NEAR * per_day <= few <= per_day:
            break
        middle = math.sqrt(low * high) if step % 2 else _between(low, many, high, few, per_day)
        found = fetches(middle)
        if found > per_day:
            low, many = middle, found
        else:
            high, few = middle, found
    return high


def _between(low: float, many: float, high: float, few: float, per_day: float) -> float:
    """Return where fetches would be just below so many a day, were they a power of the price."""
    if not many > per_day > few > 0.0:
        return math.sqrt(low * high)
    aim = (1.0 + _NEAR) / 2.0 * per_day
    part = (math.log(many) - math.log(aim)) / (math.log(many) - math.log(few))
    return low * math.exp(math.log(high / low) * min(max(part, 0.0), 1.0))


def first_place(key: int, rounds: float) -> float:
    """Return when a page is due that was fetched once, in intervals, in [0, 1.5).

    While nothing is known of pages their intervals are alike, and those that were found together would be due
    together. So places are drawn by key. The first pages of a site queue up, each at a price for as many as
    there were then, or up to a third fewer, see `is_step`. Once all were fetched again, another one comes
    anywhere within its interval.

    Parameters
    ----------
    key
        Of the page.
    rounds
        How often the pages of its site were fetched again, on the average.

    Examples
    --------
    >>> [[round(first_place(key, rounds), 1) for key in range(1, 5)] for rounds in (0.0, 0.5, 2.0)]
    [[1.3, 1.1, 1.4, 1.2], [1.0, 0.7, 1.1, 0.9], [0.6, 0.2, 0.9, 0.5]]
    """
    begun = min(1.0, rounds)
    drawn = key * GOLDEN % 2**64 / 2.0**64
    return 1.0 - begun + (1.0 + begun) / 2.0 * drawn


def is_step(pages: int) -> bool:
    """Say whether a site of so many pages has grown enough to look for its price again: by half at most.

    Examples
    --------
    >>> [pages for pages in range(1, 50) if is_step(pages)]
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
    """
    odd = pages & -pages  # the largest power of two that divides it
    return pages // odd in (1, 3)
