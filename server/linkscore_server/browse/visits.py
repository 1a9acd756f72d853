"""From records to visits: one a client, page and day, with a pseudonym for the client.

A visit has the columns site, url (identity of the page), referrer (identity of a page of the same site; empty
for another site or none), day (days since 1970-01-01 UTC), second (of the day), client (64 bits of a salted
hash). Of several records of one client, page and day the first counts, at equal times the one with the lower
referrer; so the visits of two logs are the same whichever is read first.
"""

from __future__ import annotations

from collections import Counter

import duckdb

from linkscore_server.browse.connection import text
from linkscore_server.browse.identities import make_pages

DAY_S = 86_400
COLUMNS = "site, url, referrer, day, second, client"
_FIRST = f"t BETWEEN 0 AND {DAY_S * 100_000}"


def load(con: duckdb.DuckDBPyConnection, records: str, rule: str, salt: bytes) -> Counter[str]:
    """Clean records into the table visits; returns how many records each rule left out, "" the visits made.

    Parameters
    ----------
    con
        Connection that knows `page_of`, see `identities.teach`.
    records
        SQL of records, as of `formats.base.record_sql`. It is run once.
    rule
        Expression of the cleaning rule, see `cleaning.rule_sql`.
    salt
        Secret of the hashes: client ids are hashed while the records are read, and stored nowhere else.

    Notes
    -----
    Out of core: nothing that grows with the log but the distinct URLs of one chunk is held in memory.
    """
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE cleaned AS
        SELECT t, {client_sql(salt)} AS client, CASE WHEN rule = '' THEN url END AS url,
            CASE WHEN rule = '' THEN referrer END AS referrer, rule
        FROM (SELECT *, CASE WHEN NOT bad AND NOT ({_FIRST}) THEN 'bad_line' ELSE {rule} END AS rule
            FROM ({records}))""")
    make_pages(con, "cleaned")
    counts = Counter(dict(con.execute("SELECT rule, count(*) FROM cleaned GROUP BY rule").fetchall()))
    placed, made = _make_visits(con)
    counts["bad_url"] += counts[""] - placed
    counts["repeat"], counts[""] = placed - made, made
    return +counts


def client_sql(salt: bytes) -> str:
    """Return the expression of a client's pseudonym: the first 64 bits of SHA-256 of salt and id."""
    return f"CAST('0x' || substr(sha256({text(salt.hex())} || client), 1, 16) AS UBIGINT)"


def first_visits(source: str) -> str:
    """Return the SQL of one visit a client, page and day of a relation that may hold several."""
    return f"""
        SELECT site, url, split_part(first, '\t', 2) AS referrer, day,
            CAST(split_part(first, '\t', 1) AS INTEGER) AS second, client
        FROM (SELECT site, url, day, client, min(printf('%05d', second) || '\t' || referrer) AS first
            FROM {source} GROUP BY site, url, day, client)"""


def _make_visits(con: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Make the table visits; returns the records whose URL has a page, and the visits."""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE placed AS
        SELECT page.site, page.url, CASE WHEN origin.site = page.site THEN origin.url ELSE '' END AS referrer,
            CAST(floor(t / {DAY_S}) AS INTEGER) AS day, CAST(floor(t) % {DAY_S} AS INTEGER) AS second, client
        FROM cleaned JOIN pages AS page ON cleaned.url = page.raw
        LEFT JOIN pages AS origin ON cleaned.referrer = origin.raw WHERE rule = ''""")
    con.execute("DROP TABLE cleaned")
    con.execute(f"CREATE OR REPLACE TEMP TABLE visits AS {first_visits('placed')}")
    counts = con.execute("SELECT (SELECT count(*) FROM placed), (SELECT count(*) FROM visits)").fetchone()
    con.execute("DROP TABLE placed")
    assert counts is not None
    return counts
