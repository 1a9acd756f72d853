"""Browse logs of 1 and 10 million generated records: read, cleaned, counted; beside DuckDB on the same file.

The bare counterpart splits the file and counts clients by page and day, with the same memory and threads: no
cleaning, no identities, no referrers, no pseudonyms. Each runs in a process of its own, with its own peak.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pages import Corpus
from benchmarks.table import Row

SIZES = (1_000_000, 10_000_000)
MEMORY_MB = 256
_DAYS, _PAGES, _HUBS, _CLIENTS = 60, 20_000, 100, 400_000
_BARE = """
SELECT count(*), sum(n) FROM (
    SELECT url, CAST(floor(epoch(TRY_CAST(time AS TIMESTAMPTZ)) / 86400) AS INTEGER) AS day,
        count(DISTINCT client) AS n
    FROM read_csv('{path}', delim = '\t', quote = '', escape = '', header = false, auto_detect = false,
        columns = {{time: 'VARCHAR', client: 'VARCHAR', url: 'VARCHAR', referrer: 'VARCHAR'}})
    GROUP BY url, day)
"""


def run(corpus: Corpus) -> list[Row]:
    """Return records a second and peak megabytes, of files with both numbers of records."""
    rows = []
    with TemporaryDirectory() as folder:
        for n in SIZES:
            path = Path(folder) / f"{n}.tsv"
            generate(path, n)
            ours, bare = (_child(kind, path) for kind in ("counts", "bare"))
            sent = _child("sent", path)
            source = f"{n / 1e6:.0f}M records"
            rows += [
                Row("Browse log to counts, CPU", source, ours["cpu_s"], "s", bare["cpu_s"]),
                Row("Browse log to counts", source, n / ours["wall_s"], "records/s", n / bare["wall_s"]),
                Row("Browse log to counts, peak memory", source, ours["mb"], "MB", bare["mb"]),
                Row("Browse log to batches for a server, CPU", source, sent["cpu_s"], "s", bare["cpu_s"]),
                Row("Browse log to batches, peak memory", source, sent["mb"], "MB", bare["mb"]),
            ]
            path.unlink()
    return rows


def generate(path: Path, n: int) -> None:
    """Write a log in the order of time: pages and clients with a long tail, half of the records from a hub.

    Whatever `n` is, there are the same pages and about the same pairs of referrer and page.
    """
    from linkscore_server.browse_logs.visits import in_memory

    step = _DAYS * 86_400e6 / n
    with in_memory(memory_mb=1_024) as con:
        con.execute("SELECT setseed(0.5)")
        con.execute(f"""
            COPY (SELECT strftime(make_timestamp(1728000000000000 + CAST(i * {step} AS BIGINT)),
                    '%Y-%m-%dT%H:%M:%SZ') AS time,
                '10.' || CAST(floor(pow(random(), 2) * {_CLIENTS}) AS BIGINT) AS client,
                'https://news.example/' || page || '/story?page=1' AS url,
                CASE WHEN random() < .5 THEN 'https://news.example/hub/' || page % {_HUBS} ELSE '-' END
            FROM (SELECT i, CAST(floor(pow(random(), 3) * {_PAGES}) AS BIGINT) AS page
                FROM range({n}) AS r(i)))
            TO '{path}' (FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '')""")


def measure(kind: str, path: Path) -> None:
    """Do one of the three in this process and print seconds and peak megabytes."""
    import resource
    import time

    started = time.perf_counter()
    if kind == "bare":
        _bare(path)
    elif kind == "counts":
        from linkscore_lab.replay.browse_log import read_counts

        read_counts(path, memory_mb=MEMORY_MB)
    else:
        _sent(path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "wall_s": time.perf_counter() - started,
        "cpu_s": used.ru_utime + used.ru_stime,
        "mb": used.ru_maxrss / 1e3,
    }
    print(json.dumps(figures))


def _bare(path: Path) -> None:
    from linkscore_server.browse_logs.visits import workspace

    with workspace(memory_mb=MEMORY_MB) as con:
        con.execute(_BARE.format(path=path)).fetchall()


def _sent(path: Path) -> None:
    from linkscore_server.browse_logs.batching import Cleaning, ReadLog, batches_of
    from linkscore_server.browse_logs.log_files import log_file

    for message in batches_of(log_file(path), Cleaning(), ReadLog(), memory_mb=MEMORY_MB):
        message.SerializeToString()


def _child(kind: str, path: Path) -> dict[str, float]:
    code = "import sys, pathlib; from benchmarks.bench_browse import measure; "
    code += "measure(sys.argv[1], pathlib.Path(sys.argv[2]))"
    command = [sys.executable, "-c", code, kind, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
