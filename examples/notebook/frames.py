"""What replays found, asked in SQL: ``python frames.py out.json``, of `linkscore replay --json out.json`.

The file is a table with a row for each crawl; DuckDB reads it as it is.
"""

from __future__ import annotations

import sys

import duckdb

# A row holds the curve of a crawl: a number for each fetch.
rows = "read_json(?, maximum_object_size = 1000000000)"
duckdb.execute(f"CREATE TABLE runs AS SELECT unnest(runs, max_depth := 2) FROM {rows}", [sys.argv[1]])

print("How well did each policy do, over starts and seeds?")
print(
    duckdb.sql("""
    SELECT site, policy, count(*) AS crawls,
        avg(metrics.valid_ratio) AS mean, min(metrics.valid_ratio) AS worst
    FROM runs
    GROUP BY ALL
    ORDER BY site, mean DESC
    """)
)

print("After how many fetches did it have half of what it found?")
print(
    duckdb.sql("""
    SELECT site, policy, median(n) AS fetches
    FROM (
        SELECT site, policy, len(list_filter(curve, lambda found: 2 * found < curve[-1])) + 1 AS n
        FROM runs
        WHERE curve[-1] > 0
    )
    GROUP BY ALL
    ORDER BY site, fetches
    """)
)
