"""Counts of a site's visits within a window of days: what mining reads."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np

from linkscore_scoring.site.browse.counts import BrowseCounts
from linkscore_server.browse.connection import text
from linkscore_server.browse.visits import first_visits

MAX_PAGES_A_DAY = 500
"""Pages of a site that a client requests on one day before it is taken for a program."""


def counts_of(
    con: duckdb.DuckDBPyConnection,
    visits: str,
    site: str,
    first_day: int,
    n_days: int,
    *,
    max_pages_a_day: int = MAX_PAGES_A_DAY,
) -> BrowseCounts:
    """Count the visits of a site by page and day, and by referrer and page.

    Parameters
    ----------
    con
        Where to run.
    visits
        FROM item of visits, see `visits`; a client, page and day may be there more than once.
    site
        Site as in the visits.
    first_day, n_days
        Window, days since 1970-01-01 UTC.
    max_pages_a_day
        On a day on which a client requests more pages of the site, its visits do not count.

    Notes
    -----
    Out of core but for the result, O(pages x days + pairs). URLs are in the order of their bytes, rows in
    that of their columns: the same visits give the same counts.
    """
    last_day = first_day + n_days - 1
    window = f"(SELECT * FROM {visits} WHERE site = {text(site)} AND day BETWEEN {first_day} AND {last_day})"
    con.execute(f"CREATE OR REPLACE TEMP TABLE windowed AS {first_visits(window)}")
    con.execute(f"""
        DELETE FROM windowed WHERE (client, day) IN (
            SELECT (client, day) FROM windowed GROUP BY client, day HAVING count(*) > {max_pages_a_day})""")
    con.execute("""
        CREATE OR REPLACE TEMP TABLE numbered AS
        SELECT url, row_number() OVER (ORDER BY url) - 1 AS id
        FROM (SELECT url FROM windowed UNION SELECT referrer FROM windowed WHERE referrer <> '')""")
    urls = [url for (url,) in con.execute("SELECT url FROM numbered ORDER BY id").fetchall()]
    clicks = con.execute(f"""
        SELECT id, day - {first_day} AS day, count(*) AS n FROM windowed JOIN numbered USING (url)
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    transits = con.execute("""
        SELECT coalesce(origin.id, -1) AS origin, page.id AS page, count(*) AS n
        FROM windowed JOIN numbered AS page USING (url)
        LEFT JOIN numbered AS origin ON origin.url = windowed.referrer
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    columns = [clicks[name] for name in ("id", "day", "n")] + [
        transits[name] for name in ("origin", "page", "n")
    ]
    return BrowseCounts(first_day, n_days, urls, *map(_integers, columns))


def span_of(con: duckdb.DuckDBPyConnection, visits: str, site: str) -> tuple[int, int, int]:
    """Return first day, last day and number of the visits of a site; (0, -1, 0) without any."""
    row = con.execute(f"SELECT min(day), max(day), count(*) FROM {visits} WHERE site = ?", [site]).fetchone()
    return (row[0], row[1], row[2]) if row and row[2] else (0, -1, 0)


def _integers(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(values).astype(np.int64)
