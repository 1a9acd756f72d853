"""Which page of which site a URL is, worked out once for each distinct URL of a log."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.urls.identity import host_of, validate_url

SiteOf = Callable[[str], str]
_FUNCTION = "page_of"


def teach(con: duckdb.DuckDBPyConnection, site_of: SiteOf = host_of) -> None:
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


def make_pages(con: duckdb.DuckDBPyConnection, records: str) -> None:
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
    name(con, "SELECT DISTINCT site, url FROM addresses")
    con.execute("""
        CREATE OR REPLACE TEMP TABLE pages AS
        SELECT raw, names.site AS site, id FROM addresses JOIN names USING (url)""")
    con.execute("DROP TABLE addresses")
    con.execute("DROP TABLE placed")


def name(con: duckdb.DuckDBPyConnection, pages: str) -> None:
    """Make the table names(id, site, url) of a query of distinct sites and URLs, ids in URL order."""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE names AS
        SELECT row_number() OVER (ORDER BY url) AS id, site, url FROM ({pages})""")
