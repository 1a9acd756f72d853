"""What pages are worth as time goes by: of small sites it is told without them, from a few numbers a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats
from linkscore_scoring.revisits.pages import DAY_S, RevisitSettings
from linkscore_scoring.revisits.rates import Waiting, worth

FORECAST_PAGES = 16
"""Pages of a site that is not looked at to tell whether it has some that are due: .8 KB. Chosen."""
_COLUMNS = 2 + len(Waiting._fields)


def days_since(last: NDArray[Any], now_s: float) -> Floats:
    """Return how many days went by since the last fetches, in seconds since the epoch."""
    waited: Floats = np.maximum(0.0, now_s - last) / DAY_S
    return waited


def due_worth(
    waiting: Waiting, waited: Floats, is_gone: NDArray[np.bool_], settings: RevisitSettings
) -> Floats:
    """Return what a fetch of each page is worth after so many days: infinite if it waited too long, -1 if it
    is not due. One that is gone is looked at once more after the longest interval."""
    seconds = waited * DAY_S
    is_late = seconds >= settings.longest_s
    found = np.where(is_late, np.inf, worth(waiting, waited))
    return np.where((seconds < settings.least_s) | (is_gone & ~is_late), -1.0, found)


def forecast(last: NDArray[Any], gone: NDArray[Any], waiting: Waiting) -> bytes:
    """Return the pages of a site as `sites_due` takes them."""
    return np.column_stack([last, gone, *waiting]).astype(np.float64).tobytes()


def sites_due(sites: Mapping[str, bytes], now_s: float, settings: RevisitSettings, n: int) -> set[str]:
    """Return the sites that have the n pages due first, by the `forecast` of each; of equals the first."""
    pages = np.frombuffer(b"".join(sites.values())).reshape(-1, _COLUMNS)
    last, gone, *waiting = pages.T
    values = due_worth(Waiting(*waiting), days_since(last, now_s), gone != 0.0, settings)
    best = np.argsort(-values, kind="stable")[:n]
    names = [name for name, each in sites.items() for _ in range(len(each) // (8 * _COLUMNS))]
    return {names[row] for row in best[values[best] >= 0.0].tolist()}
