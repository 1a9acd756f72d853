"""A small log, made up: rows as dicts, and files of them in any format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import zstandard

from linkscore_server.browse_logs.reading import FORMATS, LogFile, rule_sql
from linkscore_server.browse_logs.visits import COLUMNS, load_records, workspace

DAY = 20_000  # 2024-10-04
MIDNIGHT = DAY * 86_400
SALT = b"s" * 32
SITE = "a.org"
AGENT = "Mozilla/5.0"


def row(second: int, client: str, path: str, referrer: str = "-", **more: object) -> dict[str, object]:
    return {
        "time": MIDNIGHT + second,
        "client": client,
        "url": f"http://{SITE}{path}",
        "referrer": referrer,
        "user_agent": AGENT,
        "method": "GET",
        "status": 200,
    } | more


# Two people on two days; the second day has a repeated visit and one from a search engine.
ROWS = [
    row(10, "10.0.0.1", "/"),
    row(20, "10.0.0.1", "/x?b=2&a=1", f"http://{SITE}/"),
    row(30, "10.0.0.2", "/", "https://search.org/?q=secret"),
    row(86_410, "10.0.0.1", "/x?a=1&b=2", f"http://{SITE}/"),
    row(86_420, "10.0.0.1", "/x?a=1&b=2"),
    row(86_430, "10.0.0.2", "/tags", f"http://{SITE}/x?b=2&a=1"),
]
X = f"http://{SITE}/x?a=1&b=2"
# (url, referrer, day, second) of each visit, clients aside.
VISITS = {
    (f"http://{SITE}/", "", DAY, 10),
    (f"http://{SITE}/", "", DAY, 30),
    (X, f"http://{SITE}/", DAY, 20),
    (X, f"http://{SITE}/", DAY + 1, 10),
    (f"http://{SITE}/tags", X, DAY + 1, 30),
}


def iso(time: object) -> str:
    return datetime.fromtimestamp(float(str(time)), UTC).isoformat()


def as_delimited(rows: Sequence[dict[str, object]], delimiter: str, header: bool) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writerow(rows[0])
    writer.writerows([{**r, "time": iso(r["time"])}.values() for r in rows])
    return text.getvalue().encode()


def as_json(rows: Sequence[dict[str, object]]) -> bytes:
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


def as_access_log(rows: Sequence[dict[str, object]], *, vhost: bool) -> bytes:
    lines = []
    for r in rows:
        time = datetime.fromtimestamp(float(str(r["time"])), UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        path = str(r["url"]).removeprefix(f"http://{SITE}")
        front = f"{SITE}:80 " if vhost else ""
        lines.append(
            f'{front}{r["client"]} - - [{time}] "{r["method"]} {path} HTTP/1.1" {r["status"]} 123 '
            f'"{r["referrer"]}" "{r["user_agent"]}"\n'
        )
    return "".join(lines).encode()


def write_parquet(rows: Sequence[dict[str, object]], path: Path) -> None:
    source = path.with_suffix(".json")
    source.write_bytes(as_json(rows))
    with duckdb.connect() as con:
        con.execute(
            f"COPY (SELECT * REPLACE (make_timestamp(time * 1000000) AS time) FROM read_json('{source}')) "
            f"TO '{path}' (FORMAT parquet)"
        )


def packed(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data)
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def visits_of(file: LogFile, **cleaning: object) -> tuple[set[tuple[object, ...]], dict[str, int]]:
    """Return the visits of a file, clients aside, and the outcomes."""
    with workspace(threads=1) as con:
        outcomes = load_records(con, FORMATS[file.format](file), rule_sql(**cleaning), SALT)  # type: ignore[arg-type]
        found = con.execute(f"SELECT {COLUMNS} FROM visits").fetchall()
    assert all(site == SITE for site, *_ in found)
    return {tuple(visit[1:5]) for visit in found}, dict(outcomes)
