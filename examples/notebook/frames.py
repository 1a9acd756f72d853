"""What replays found, asked in SQL: ``python frames.py out.json``, of `linkscore replay --json out.json`.

Frames are columns by name. DuckDB reads them as they are; so do pandas.DataFrame and polars.DataFrame.
"""

from __future__ import annotations

import sys

import duckdb

from linkscore_lab.replay import read_results
from linkscore_lab.replay.frames import curves_frame, runs_frame

results = read_results(sys.argv[1])
runs, curves = runs_frame(results.runs), curves_frame(results.runs)

print("How well did each policy do, over starts and seeds?")
print(
    duckdb.sql("""
    SELECT site, policy, count(*) AS crawls, avg(valid_ratio) AS mean, min(valid_ratio) AS worst
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
        SELECT c.run, site, policy, min(n) AS n
        FROM curves c
        JOIN runs r ON r.run = c.run
        JOIN (SELECT run, max(found) AS most FROM curves GROUP BY run) m ON m.run = c.run
        WHERE most > 0 AND 2 * found >= most
        GROUP BY ALL
    )
    GROUP BY ALL
    ORDER BY site, fetches
    """)
)
