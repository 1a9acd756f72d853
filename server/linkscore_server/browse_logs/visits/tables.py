"""Visits as tables of DuckDB: what a visit is, and the counts of visits that mining reads.

A visit has the columns site, url (identity of the page), referrer (identity of a page of the same site; of
another one its site, a tab, and the identity; empty if unknown or not kept), day (days since 1970-01-01 UTC),
second (of the day), client (64 bits of a salted hash). Of several records of one client, page and day the
first counts, at equal times the one with the lower referrer; so the visits of two logs are the same whichever
is read first.

While they are worked on, visits are numbers: the table names(id, site, url), and first_visits(page, day,
client, first), where page is an id and first is second x 2^32 + id of the referrer, 0 for none. The view
visits shows them with their columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkscore_server.browse_logs.visits.base import SiteSpan
from linkscore_server.browse_logs.visits.connection import text

if TYPE_CHECKING:
    import duckdb

    from linkscore_scoring.browse_logs.counts import BrowseCounts

COLUMNS = "site, url, referrer, day, second, client"
DAY_S = 86_400  # seconds
ORIGIN_BITS = 32
"""Bits of the referrer's id in `first`: a second above them orders visits by time, then by referrer."""

# Of a stored visit: the site and the identity of its referrer.
_ORIGIN_SITE = "CASE WHEN contains(referrer, '\t') THEN split_part(referrer, '\t', 1) ELSE site END"
_ORIGIN = "split_part(referrer, '\t', -1)"

MAX_PAGES_A_DAY = 500
"""Pages of a site that a client requests on one day before it is taken for a program."""


def counts_of(
    con: duckdb.DuckDBPyConnection,
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
        Connection with the tables names and first_visits.
    site
        Site as in names; referrers of other sites are `OUTSIDE`. Empty: all sites, and none is outside.
    first_day, n_days
        Window, days since 1970-01-01 UTC.
    max_pages_a_day
        On a day on which a client requests more pages of a site, its visits of that site do not count.

    Notes
    -----
    Out of core but for the result, O(pages x days + pairs). URLs are in the order of their bytes, rows in
    that of their columns: the same visits give the same counts.
    """
    from linkscore_scoring.browse_logs.counts import BrowseCounts

    own = f"SELECT id, site FROM names WHERE site = {text(site)}" if site else "SELECT id, site FROM names"
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE windowed AS
        SELECT page, day - {first_day} AS day, client, first & {(1 << ORIGIN_BITS) - 1} AS origin, site
        FROM first_visits JOIN ({own}) AS own ON page = own.id
        WHERE day BETWEEN {first_day} AND {first_day + n_days - 1}""")
    busy = f"""
        SELECT (site, client, day) FROM windowed GROUP BY site, client, day
        HAVING count(*) > {max_pages_a_day}"""
    deleted = con.execute(f"DELETE FROM windowed WHERE (site, client, day) IN ({busy})").fetchone()
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE used AS
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS row FROM (
            SELECT page AS id FROM windowed
            UNION SELECT origin FROM windowed SEMI JOIN ({own}) AS own ON origin = own.id)""")
    urls = con.execute("SELECT url FROM names JOIN used USING (id) ORDER BY row").fetchall()
    clicks = con.execute("""
        SELECT row, day, count(*) AS n FROM windowed JOIN used ON page = id
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    transits = con.execute("""
        SELECT coalesce(source.row, -1) AS origin, target.row AS page, count(*) AS n
        FROM windowed JOIN used AS target ON windowed.page = target.id
        LEFT JOIN used AS source ON windowed.origin = source.id
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    return BrowseCounts(
        first_day,
        n_days,
        [url for (url,) in urls],
        click_urls=_integers(clicks["row"]),
        click_days=_integers(clicks["day"]),
        clicks=_integers(clicks["n"]),
        from_urls=_integers(transits["origin"]),
        to_urls=_integers(transits["page"]),
        transits=_integers(transits["n"]),
        left_out=deleted[0] if deleted else 0,
    )


def digest_of(con: duckdb.DuckDBPyConnection) -> str:
    """Return the digest of the table or view visits, the same in whatever order they are."""
    row = con.execute(f"SELECT bit_xor(md5_number(concat_ws('\t', {COLUMNS}))) FROM visits").fetchone()
    return f"{(row and row[0]) or 0:032x}"


def spans_of(con: duckdb.DuckDBPyConnection) -> dict[str, SiteSpan]:
    """Return the span of each site of the tables names and first_visits."""
    rows = con.execute("""
        SELECT site, min(day), max(day), count(*)
        FROM first_visits JOIN names ON page = id GROUP BY site""").fetchall()
    return {site: SiteSpan(first, last, n) for site, first, last, n in rows}


def _integers(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(values).astype(np.int64)


def load_stored(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Make names, first_visits and the view visits of stored visits, which may be there more than once."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE taken AS SELECT {COLUMNS} FROM {source}")
    make_names(
        con,
        f"SELECT site, url FROM taken UNION SELECT {_ORIGIN_SITE}, {_ORIGIN} FROM taken WHERE referrer <> ''",
    )
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE first_visits AS
        SELECT page.id AS page, day, client,
            min((second::BIGINT << {ORIGIN_BITS}) + coalesce(origin.id, 0)) AS first
        FROM taken JOIN names AS page USING (url)
        LEFT JOIN names AS origin ON origin.url = {_ORIGIN} GROUP BY ALL""")
    con.execute("DROP TABLE taken")
    show_visits(con)


def make_names(con: duckdb.DuckDBPyConnection, pages: str) -> None:
    """Make the table names(id, site, url) of a query of distinct sites and URLs, ids in URL order."""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE names AS
        SELECT row_number() OVER (ORDER BY url) AS id, site, url FROM ({pages})""")


def show_visits(con: duckdb.DuckDBPyConnection) -> None:
    """Make the view visits over names and first_visits."""
    con.execute(f"""
        CREATE OR REPLACE TEMP VIEW visits AS
        SELECT page.site AS site, page.url AS url,
            CASE WHEN origin.id IS NULL THEN '' WHEN origin.site = page.site THEN origin.url
                ELSE concat(origin.site, '\t', origin.url) END AS referrer, day,
            CAST(first >> {ORIGIN_BITS} AS INTEGER) AS second, client
        FROM first_visits JOIN names AS page ON first_visits.page = page.id
        LEFT JOIN names AS origin ON origin.id = first & {(1 << ORIGIN_BITS) - 1}""")
