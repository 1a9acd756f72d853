"""The same log in every format gives the same visits; bad lines are counted and shown by shape."""

from __future__ import annotations

import codecs
import gzip
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.reading import FORMATS, ReadLog, batches_of, log_file
from linkscore_server.browse_logs.visits import workspace
from support.browse_logs.visit_logs import (
    ROWS,
    SITE,
    VISITS,
    as_access_log,
    as_delimited,
    as_json,
    packed,
    visits_of,
    write_parquet,
)

OUTCOMES = {"": 5, "repeat": 1}
TEXTS = {
    "header.csv": as_delimited(ROWS, ",", header=True),
    "header.tsv": as_delimited(ROWS, "\t", header=True),
    "bare.csv": as_delimited(
        [{k: r[k] for k in ("time", "client", "url", "referrer")} for r in ROWS], ",", False
    ),
    "bare.log.tsv": as_delimited(
        [{k: r[k] for k in ("time", "client", "url", "referrer")} for r in ROWS], "\t", False
    ),
    "lines.jsonl": as_json(ROWS),
    "access.log": as_access_log(ROWS, vhost=False),
    "vhost.log": as_access_log(ROWS, vhost=True),
}


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", TEXTS)
def test_every_format_gives_the_same_visits(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(packed(TEXTS[name], suffix))
    host = f"http://{SITE}" if name == "access.log" else ""
    assert visits_of(log_file(path, host=host)) == (VISITS, OUTCOMES)


def _both_ends(raw: bytes) -> bytes:
    return b"".join(line + (b"\r\n" if n % 2 else b"\n") for n, line in enumerate(raw.splitlines()))


def _forwarded(clients: bytes) -> Callable[[bytes], bytes]:
    return partial(re.sub, rb"(?m)^((?:\S+ )??)(\S+) - ", rb"\1%s - " % clients)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        *((name, _both_ends) for name in TEXTS),
        *((name, codecs.BOM_UTF8.__add__) for name in TEXTS if "." in name),
        ("vhost.log", _forwarded(rb"\2, 10.1.1.1,192.0.2.7")),
        *(
            ("access.log", _forwarded(clients))
            for clients in (
                rb"\2, 10.1.1.1,192.0.2.7",
                rb'"\2, 10.1.1.1"',
                rb"unknown, \2",
                rb"-, \2",
                rb"[\2]:51234",
            )
        ),
        *(
            (name, lambda raw: codecs.BOM_UTF16_LE + raw.decode().encode("utf-16-le"))
            for name in ("header.csv", "header.tsv", "access.log")
        ),
        ("header.csv", lambda raw: raw.replace(b",", b";")),
        ("header.csv", lambda raw: raw.replace(b",", b", ")),
        ("header.csv", lambda raw: raw.replace(b"\n", b",,\n")),
    ],
)
def test_what_proxies_and_spreadsheets_do_to_a_log_changes_no_visit(
    name: str, spoil: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(spoil(TEXTS[name]))
    assert visits_of(log_file(path, host=f"http://{SITE}")) == (VISITS, OUTCOMES)


def test_parquet_gives_the_same_visits(tmp_path: Path) -> None:
    write_parquet(ROWS, tmp_path / "log.parquet")
    file = log_file(tmp_path / "log.parquet")
    assert visits_of(file) == (VISITS, OUTCOMES)


def test_columns_may_have_any_name_if_the_user_says_which(tmp_path: Path) -> None:
    rows = [{"wann": r["time"], "wer": r["client"], "url": r["url"], "woher": r["referrer"]} for r in ROWS]
    (tmp_path / "a.jsonl").write_bytes(as_json(rows))
    columns = {"time": "wann", "client": "wer", "referrer": "woher"}
    assert visits_of(log_file(tmp_path / "a.jsonl", columns=columns)) == (VISITS, OUTCOMES)
    strange = TEXTS["header.csv"].replace(
        b"time,client,url", b"event_timestamp,user_pseudo_id,page_location", 1
    )
    (tmp_path / "a.csv").write_bytes(strange)
    columns = {"time": "event_timestamp", "client": "user_pseudo_id", "url": "page_location"}
    assert visits_of(log_file(tmp_path / "a.csv", columns=columns)) == (VISITS, OUTCOMES)


def test_a_field_that_cannot_be_found_is_named_with_the_columns_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(as_json([{"wann": 1, "url": "http://a.org/"}]))
    file = log_file(tmp_path / "a.jsonl")
    with pytest.raises(InvalidInput, match=r"no column for time, client.*wann, url"):
        FORMATS["json"](file)


def test_a_file_of_no_known_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\nworld\n")
    with pytest.raises(InvalidInput, match="none of csv, tsv"):
        log_file(tmp_path / "a.txt")


def test_a_truncated_line_is_bad_and_the_others_count(tmp_path: Path) -> None:
    text = as_access_log(ROWS, vhost=False)
    (tmp_path / "a.log").write_bytes(text[: -len(b'illa/5.0"\n')] + b"\n")
    found, outcomes = visits_of(log_file(tmp_path / "a.log", host=SITE))
    assert outcomes == {"": 4, "repeat": 1, "bad_line": 1}
    assert len(found) == 4


def test_lines_that_are_no_utf8_are_bad_and_the_others_count(tmp_path: Path) -> None:
    lines = as_json(ROWS).splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(
        lines[0] + b'{"time": 1, "client": "\xff\xfe"}\n' + b"".join(lines[1:])
    )
    file = log_file(tmp_path / "a.jsonl")
    (batch,) = batches_of(file, (), read := ReadLog())
    assert (len(batch.records), read.left_out["bad_line"]) == (len(ROWS), 1)


def test_a_json_line_that_is_no_object_and_one_without_time_are_bad(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        as_json(ROWS) + b'{"time": 5,\n{"client": "c", "url": "http://a.org/"}\n'
    )
    assert visits_of(log_file(tmp_path / "a.jsonl"))[1] == OUTCOMES | {"bad_line": 2}


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("2024-10-04T00:00:10Z", 1_728_000_010),
        ("2024-10-04T02:00:10+02:00", 1_728_000_010),
        ("2024-10-04 00:00:10", 1_728_000_010),
        ("1728000010", 1_728_000_010),
        ("1728000010.5", 1_728_000_010.5),
        ("1728000010000", 1_728_000_010),
        ("1728000010000000", 1_728_000_010),
        ("04/Oct/2024:02:00:10 +0200", 1_728_000_010),
        ("yesterday", None),
    ],
)
def test_times_are_read_in_the_usual_forms(time: str, seconds: float | None, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"{time}\tclient\thttp://a.org/\n")
    with workspace() as con:
        (t, *_, bad, _), *rest = con.execute(FORMATS["tsv"](log_file(tmp_path / "a.tsv"))).fetchall()
    assert (t, bad, rest) == (seconds, seconds is None, [])


def test_paths_get_the_host_of_their_record_before_that_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        as_json(
            [
                {"time": 1, "client": "c", "url": "/p", "host": "b.org"},
                {"time": 1, "client": "c", "url": "/q"},
            ]
        )
    )
    with workspace() as con:
        rows = con.execute(FORMATS["json"](log_file(tmp_path / "a.jsonl", host="https://a.org"))).fetchall()
    assert [url for _, _, url, *_ in rows] == ["https://b.org/p", "https://a.org/q"]


@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv.zst"])
def test_a_packed_log_that_is_cut_off_is_named(name: str, tmp_path: Path) -> None:
    path, raw = tmp_path / name, b"time,url\n" + random.Random(1).randbytes(5_000).hex().encode()
    packed = gzip.compress(raw) if name.endswith("gz") else zstandard.compress(raw)
    path.write_bytes(packed[:1_000] if name.endswith("gz") else packed[:1_000][::-1])
    with pytest.raises((InvalidInput, OSError), match=name):
        log_file(path)
