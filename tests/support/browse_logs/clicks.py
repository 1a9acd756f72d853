"""Browse counts from a table of clicks, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts


def counts_of(
    clicks: Mapping[str, Mapping[int, int]],
    *,
    n_days: int = 10,
    transits: Sequence[tuple[str, str, int]] = (),
) -> BrowseCounts:
    """Return the counts of pages: clicks by day; visits without named referrer come from outside."""
    urls = list(dict.fromkeys([*clicks, *(url for a, b, _ in transits for url in (a, b))]))
    number = {url: row for row, url in enumerate(urls)}
    cells = [(number[url], day, n) for url, days in clicks.items() for day, n in days.items()]
    ways = [(number[a], number[b], n) for a, b, n in transits]
    named = {url: sum(n for _, b, n in transits if b == url) for url in urls}
    rest = {url: sum(days.values()) - named[url] for url, days in clicks.items()}
    ways += [(OUTSIDE, number[url], n) for url, n in rest.items() if n > 0]
    columns = [np.array(column, dtype=np.int64) for column in zip(*cells, strict=True)]
    flows = [np.array(column, dtype=np.int64) for column in zip(*ways, strict=True)]
    return BrowseCounts(20_000, n_days, urls, *columns, *flows)
