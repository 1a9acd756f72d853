"""From records to visits: one a client, page and day, with a pseudonym for the client.

A visit has the columns site, url (identity of the page), referrer (identity of a page of the same site; empty
for another site or none), day (days since 1970-01-01 UTC), second (of the day), client (64 bits of a salted
hash). Of several records of one client, page and day the first counts, at equal times the one with the lower
referrer; so the visits of two logs are the same whichever is read first.

While they are worked on, visits are numbers: the table names(id, site, url), and firsts(page, day, client,
first), where page is an id and first is second x 2^32 + id of the referrer, 0 for none.
"""

from __future__ import annotations

from collections import Counter

import duckdb

from linkscore_server.storage.visits.identities import make_pages, name

DAY_S = 86_400
COLUMNS = "site, url, referrer, day, second, client"
ORIGIN_BITS = 32
_TIME = f"t BETWEEN 0 AND {DAY_S * 100_000}"
_DAY = f"CAST(floor(t / {DAY_S}) AS INTEGER)"
_CLIENT = "CAST('0x' || substr(sha256(getvariable('salt') || client), 1, 16) AS UBIGINT)"
_SECOND = f"CAST(floor(t) % {DAY_S} AS BIGINT)"


def load(con: duckdb.DuckDBPyConnection, records: str, rule: str, salt: bytes) -> Counter[str]:
    """Clean records into names, firsts and the view visits; returns records by rule, visits under "".

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
    con.execute("SET VARIABLE salt = $1", [salt.hex()])  # not in the text of a query, which errors may show
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE cleaned AS
        SELECT t, {_CLIENT} AS client, CASE WHEN rule = '' THEN url END AS url,
            CASE WHEN rule = '' THEN referrer END AS referrer, rule
        FROM (SELECT *, CASE WHEN NOT bad AND NOT ({_TIME}) THEN 'bad_line' ELSE {rule} END AS rule
            FROM ({records}))""")
    make_pages(con, "cleaned")
    counts = Counter(dict(con.execute("SELECT rule, count(*) FROM cleaned GROUP BY rule").fetchall()))
    placed, made = _make_firsts(con)
    counts["bad_url"] += counts[""] - placed
    counts["repeat"], counts[""] = placed - made, made
    return +counts


def take_apart(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Make names, firsts and the view visits of visits that may be there more than once."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE taken AS SELECT {COLUMNS} FROM {source}")
    name(con, "SELECT site, url FROM taken UNION SELECT site, referrer FROM taken WHERE referrer <> ''")
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE firsts AS
        SELECT page.id AS page, day, client,
            min((second::BIGINT << {ORIGIN_BITS}) + coalesce(origin.id, 0)) AS first
        FROM taken JOIN names AS page USING (url)
        LEFT JOIN names AS origin ON origin.url = taken.referrer GROUP BY ALL""")
    con.execute("DROP TABLE taken")
    _show(con)


def _make_firsts(con: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Make firsts and visits of cleaned records; returns the records whose URL has a page, and the visits."""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE firsts AS
        SELECT page.id AS page, {_DAY} AS day, client, count(*) AS n,
            min(({_SECOND} << {ORIGIN_BITS}) + coalesce(origin.id, 0)) AS first
        FROM cleaned JOIN pages AS page ON cleaned.url = page.raw
        LEFT JOIN pages AS origin ON cleaned.referrer = origin.raw AND origin.site = page.site
        WHERE rule = '' GROUP BY ALL""")
    con.execute("DROP TABLE cleaned")
    _show(con)
    row = con.execute("SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM firsts").fetchone()
    assert row is not None
    return row


def _show(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"""
        CREATE OR REPLACE TEMP VIEW visits AS
        SELECT page.site AS site, page.url AS url, coalesce(origin.url, '') AS referrer, day,
            CAST(first >> {ORIGIN_BITS} AS INTEGER) AS second, client
        FROM firsts JOIN names AS page ON firsts.page = page.id
        LEFT JOIN names AS origin ON origin.id = first & {(1 << ORIGIN_BITS) - 1}""")
