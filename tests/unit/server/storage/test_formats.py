"""Every kind of file has a number in one list; files of another number are refused, or passed over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_server.browse_logs.visits.base import SiteSpan, VisitQuery
from linkscore_server.browse_logs.visits.connection import in_memory
from linkscore_server.browse_logs.visits.files import FileVisits
from linkscore_server.browse_logs.visits.kept import visits_of
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.files import FileLog, FileStore
from linkscore_server.storage.formats import (
    FORMATS,
    SEGMENT,
    SITES,
    SNAPSHOT,
    VISITS,
    VISITS_KEY,
    VISITS_OF_SITES,
)

DAY = 20_000
QUERY = VisitQuery("a.org", DAY, 1, 500)


def add_visit(visits: FileVisits, referrer: str = "") -> Path:
    """Store one visit and return its file."""
    with in_memory() as con:
        con.execute(
            f"CREATE TABLE visits AS SELECT 'a.org' AS site, 'http://a.org/' AS url, "
            f"'{referrer}' AS referrer, {DAY} AS day, 1 AS second, 7::UBIGINT AS client"
        )
        visits.stage("batch", con)
    visits.publish("batch")
    (part,) = visits.reader().parts(DAY, DAY)
    return part


def rewrite(part: Path, metadata: str) -> None:
    """Write the visits of a file again, with other metadata."""
    draft = part.with_suffix(".draft")
    with duckdb.connect() as con:
        con.execute(f"COPY (FROM read_parquet('{part}')) TO '{draft}' (FORMAT parquet{metadata})")
    draft.replace(part)


def test_names_and_paths_of_the_kinds_are_theirs_alone() -> None:
    assert len({kind.name for kind in FORMATS}) == len({kind.path for kind in FORMATS}) == len(FORMATS)


def test_a_server_leaves_files_of_these_kinds_and_no_others(tmp_path: Path) -> None:
    store = FileStore(tmp_path, segment_bytes=1, cuts=True)
    store.ticket_key()
    log = store.open("NAME")
    for seq in (1, 2, 3):
        log.append([b"event"])
        log.save(Snapshot(seq, b"state"))
    log.states.commit(3, b"core")
    log.close()
    visits = visits_of(store, "NAME")
    visits.salt()
    add_visit(visits)
    store.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    found = [[kind for kind in FORMATS if path.relative_to(tmp_path).match(kind.path)] for path in files]
    assert {kind.name for kinds in found for kind in kinds} == {kind.name for kind in FORMATS}
    assert all(len(kinds) == 1 for kinds in found)


def test_the_number_of_a_segment_stands_in_its_header(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    log.append([b"event"])
    log.close()
    (segment,) = tmp_path.glob("*.log")
    raw = segment.read_bytes()
    assert raw[:8] == b"LSLOG" + SEGMENT.number.to_bytes(3, "big")
    segment.write_bytes(raw[:7] + b"\x09" + raw[8:])
    with pytest.raises(CorruptState, match=r"\.log at offset 0: not a linkscore log of format 1"):
        FileLog(tmp_path)


def test_a_snapshot_of_another_number_is_passed_over(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    log.append([b"event"])
    log.save(Snapshot(1, b"state"))
    path = tmp_path / "snapshot"
    raw = path.read_bytes()
    assert raw[:8] == b"LSSNAP" + SNAPSHOT.number.to_bytes(2, "big")
    path.write_bytes(raw[:7] + b"\x09" + raw[8:])
    assert log.snapshot() is None
    log.close()


def test_snapshots_and_sites_of_the_number_before_are_read_and_written_as_of_today(tmp_path: Path) -> None:
    log = FileLog(tmp_path)
    log.append([b"event"])
    log.save(Snapshot(1, b"state"))
    log.states.put(0, "a.org", b"facts", b"site")
    log.states.commit(1, b"core")
    log.close()
    path, before = tmp_path / "snapshot", SNAPSHOT.number - 1
    raw = path.read_bytes()
    path.write_bytes(raw[:6] + before.to_bytes(2, "big") + raw[8:])
    assert version_of(tmp_path / "sites.db", before) == before
    log = FileLog(tmp_path)
    assert log.snapshot() == Snapshot(1, b"state")
    assert (log.states.core(), log.states.get(0)) == (b"core", b"site")
    log.states.commit(1, b"core")
    log.close()
    assert version_of(tmp_path / "sites.db") == SITES.number


def version_of(path: Path, new: int | None = None) -> int:
    """Return the number in a file of sites, once it is `new` if that is given."""
    with closing(sqlite3.connect(path)) as con:
        if new is not None:
            con.execute(f"PRAGMA user_version = {new}")
        return int(con.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize(
    ("referrer", "number"),
    [
        ("", VISITS_OF_SITES),
        ("http://a.org/b", VISITS_OF_SITES),
        ("b.org\thttp://b.org/", VISITS.number),
    ],
)
def test_visits_say_the_least_number_that_can_read_them_and_those_of_another_are_refused(
    referrer: str, number: int, tmp_path: Path
) -> None:
    visits = FileVisits(tmp_path)
    part = add_visit(visits, referrer)
    with duckdb.connect() as con:
        written = con.execute(f"SELECT key, value FROM parquet_kv_metadata('{part}')").fetchall()
    assert written == [(VISITS_KEY.encode(), str(number).encode())]
    rewrite(part, f", KV_METADATA {{{VISITS_KEY}: '9'}}")
    with pytest.raises(CorruptState, match=rf"{part.name}: visits of format 9, known are 1 to 3"):
        visits.counts(QUERY, memory_mb=256)
    with pytest.raises(CorruptState, match="visits of format 9"):
        visits.spans()


def first_format(part: Path) -> Path:
    """Write a file of visits as format 1 did: without number and checksum."""
    rewrite(part, "")
    return part.rename(part.with_name("batch.parquet"))


def test_visits_from_before_there_was_a_number_are_read(tmp_path: Path) -> None:
    visits = FileVisits(tmp_path)
    first_format(add_visit(visits))
    assert visits.spans() == {"a.org": SiteSpan(DAY, DAY, 1)}
    assert visits.counts(QUERY, memory_mb=256).clicks.tolist() == [1]


def test_visits_of_the_first_format_get_a_checksum(tmp_path: Path) -> None:
    visits = FileVisits(tmp_path)
    old = first_format(add_visit(visits))
    assert visits.verify() == []
    assert not old.exists()
    (part,) = visits.reader().parts(DAY, DAY)
    part.write_bytes(part.read_bytes()[:-1])
    assert [part.name in problem for problem in visits.verify()] == [True]
