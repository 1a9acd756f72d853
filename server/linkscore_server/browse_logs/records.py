"""From records to visits: cleaned, the page of each URL worked out once, clients under pseudonyms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.urls.identity import host_of, validate_url
from linkscore_server.browse_logs.visits import DAY_S, ORIGIN_BITS, make_names, show_visits

if TYPE_CHECKING:
    import duckdb

SiteOf = Callable[[str], str]
_FUNCTION = "page_of"
_TIME = f"t BETWEEN 0 AND {DAY_S * 100_000}"  # to the year 2243: a later time is a broken clock
_DAY = f"CAST(floor(t / {DAY_S}) AS INTEGER)"
_CLIENT = "CAST('0x' || substr(sha256(getvariable('salt') || client), 1, 16) AS UBIGINT)"
_SECOND = f"CAST(floor(t) % {DAY_S} AS BIGINT)"


def add_page_function(con: duckdb.DuckDBPyConnection, site_of: SiteOf = host_of) -> None:
    """Give a connection the function `page_of(url)`: site and identity, a tab between; empty for a bad URL.

    Parameters
    ----------
    con
        Connection that has no such function yet.
    site_of
        URL -> site, as the crawl cuts sites; asked once for each scheme and host.
    """

    sites: dict[str, str] = {}

    def page_of(url: str) -> str:
        try:
            identity = validate_url(url, "url")
            origin = identity[: identity.find("/", len("https://"))]
            if origin not in sites:
                sites[origin] = site_of(identity)
            return f"{sites[origin]}\t{identity}"
        except (InvalidInput, ValueError):
            return ""

    con.create_function(_FUNCTION, page_of, ["VARCHAR"], "VARCHAR")


def _make_pages(con: duckdb.DuckDBPyConnection, records: str) -> None:
    """Make the tables names(id, site, url) and pages(raw, site, id) of the URLs of kept records.

    Ids count from 1 in the order of the URLs. Cost O(distinct URLs).
    """
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE addresses AS
        SELECT url AS raw FROM {records} WHERE rule = ''
        UNION SELECT referrer FROM {records} WHERE rule = '' AND referrer IS NOT NULL""")
    # A table of its own: in one query the filter on the page would be asked before repeats are gone.
    con.execute(f"CREATE OR REPLACE TEMP TABLE placed AS SELECT raw, {_FUNCTION}(raw) AS page FROM addresses")
    con.execute("""
        CREATE OR REPLACE TEMP TABLE addresses AS
        SELECT raw, split_part(page, '\t', 1) AS site, split_part(page, '\t', 2) AS url
        FROM placed WHERE page <> ''""")
    make_names(con, "SELECT DISTINCT site, url FROM addresses")
    con.execute("""
        CREATE OR REPLACE TEMP TABLE pages AS
        SELECT raw, names.site AS site, id FROM addresses JOIN names USING (url)""")
    con.execute("DROP TABLE addresses")
    con.execute("DROP TABLE placed")


def load_records(
    con: duckdb.DuckDBPyConnection, records: str, rule: str, salt: bytes, *, foreign: bool = False
) -> Counter[str]:
    """Clean records into names, first_visits and the view visits; returns records by rule, visits under "".

    Parameters
    ----------
    con
        Connection that knows `page_of`, see `add_page_function`.
    records
        SQL of records, as of `formats.record_sql`. It is run once.
    rule
        Expression of the cleaning rule, see `cleaning.rule_sql`.
    salt
        Secret of the hashes: client ids are hashed while the records are read, and stored nowhere else.
    foreign
        Keep referrers of other sites too, but for those with a query, which may hold words that people typed.

    Notes
    -----
    Out of core: nothing that grows with the log but the distinct URLs of one chunk is held in memory.
    """
    con.execute("SET VARIABLE salt = $1", [salt.hex()])  # not in the text of a query, which errors may show
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE cleaned AS
        SELECT t, {_CLIENT} AS client, CASE WHEN rule = '' THEN url END AS url,
            CASE WHEN rule = '' THEN referrer END AS referrer, rule
        FROM (SELECT *, CASE WHEN NOT bad AND NOT ({_TIME}) THEN 'bad_line' ELSE {rule} END AS rule
            FROM ({records}))""")
    _make_pages(con, "cleaned")
    counts = Counter(dict(con.execute("SELECT rule, count(*) FROM cleaned GROUP BY rule").fetchall()))
    placed, made = _make_first_visits(con, foreign=foreign)
    counts["bad_url"] += counts[""] - placed
    counts["repeat"], counts[""] = placed - made, made
    return +counts


def _make_first_visits(con: duckdb.DuckDBPyConnection, *, foreign: bool) -> tuple[int, int]:
    """Make first_visits and visits of cleaned records; returns how many have a page, and the visits."""
    kept = (
        "(origin.site = page.site OR NOT contains(origin.raw, '?'))" if foreign else "origin.site = page.site"
    )
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE first_visits AS
        SELECT page.id AS page, {_DAY} AS day, client, count(*) AS n,
            min(({_SECOND} << {ORIGIN_BITS}) + coalesce(origin.id, 0)) AS first
        FROM cleaned JOIN pages AS page ON cleaned.url = page.raw
        LEFT JOIN pages AS origin ON cleaned.referrer = origin.raw AND {kept}
        WHERE rule = '' GROUP BY ALL""")
    con.execute("DROP TABLE cleaned")
    show_visits(con)
    row = con.execute("SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM first_visits").fetchone()
    assert row is not None
    return row
