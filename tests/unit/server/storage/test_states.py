"""Snapshots: what was put is read back, a commit is a cut, a crash returns to it, damage is an error."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.disk import PRIVATE
from linkscore_server.storage.formats import SITES
from linkscore_server.storage.sites import SiteLost, SiteStates, reading_copy

STATES = [bytes([n]) * 3_000 + random.Random(n).randbytes(3_000) for n in range(8)]


def filled(path: Path | None, *, until: int = 8) -> SiteStates:
    states = SiteStates(path)
    for n in range(until):
        states.put(n, f"site-{n}", b"facts %d" % n, STATES[n])
    states.commit(5, b"core")
    return states


@pytest.fixture(params=["file", "memory"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "sites.db" if request.param == "file" else None


def test_what_was_put_is_read_back_before_and_after_the_cut(path: Path | None) -> None:
    states = SiteStates(path)
    states.put(0, "a", b"old", b"old state")
    states.put(0, "a", b"new", b"new state")
    assert (states.seq, states.get(0)) == (0, b"new state")
    states.commit(3, b"core")
    assert (states.seq, states.core(), list(states.sites())) == (3, b"core", [("a", b"new")])
    assert states.get(0) == b"new state"
    states.close()


def test_what_was_put_since_the_cut_is_forgotten_by_a_crash(path: Path | None) -> None:
    states = filled(path, until=2)
    states.put(0, "site-0", b"later", b"later state")
    states.put(2, "site-2", b"later", b"later state")
    assert states.get(0) == b"later state"
    states.roll_back()
    assert (states.seq, states.get(0)) == (5, STATES[0])
    assert [name for name, _ in states.sites()] == ["site-0", "site-1"]
    states.close()


def test_a_file_is_read_as_a_killed_process_left_it(tmp_path: Path) -> None:
    states = filled(tmp_path / "sites.db")
    states.put(0, "site-0", b"later", b"later state")
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("sites.db*"):
        shutil.copyfile(file, killed / file.name)
    states.close()
    again = SiteStates(killed / "sites.db")
    assert (again.seq, again.get(0), again.core()) == (5, STATES[0], b"core")
    again.close()
    assert [file.name for file in killed.iterdir()] == ["sites.db"]
    assert (tmp_path / "sites.db").stat().st_mode & 0o777 == PRIVATE


def test_looking_at_a_file_changes_nothing(tmp_path: Path) -> None:
    states = filled(tmp_path / "sites.db")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with reading_copy(tmp_path / "sites.db") as copy:
        assert copy.get(7) == STATES[7]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    states.close()


def all_of(path: Path) -> Iterator[object]:
    states = SiteStates(path)
    try:
        if states.seq:
            yield states.seq, states.core(), list(states.sites())
            yield from (states.get(n) for n in range(8))
            yield from (states.changes(n) for n in range(8))
    finally:
        states.close()


def test_a_file_damaged_anywhere_is_refused_or_gives_what_was_put(tmp_path: Path) -> None:
    path, rng = tmp_path / "sites.db", random.Random(7)
    filled(path).close()
    whole, want = path.read_bytes(), list(all_of(path))
    outcomes = {"refused": 0, "exact": 0, "passed over": 0}
    for _ in range(300):
        broken = bytearray(whole)
        broken[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        try:
            found = list(all_of(path))
        except (CorruptState, SiteLost):
            outcomes["refused"] += 1
        else:
            assert found in (want, [])
            outcomes["exact" if found else "passed over"] += 1
    assert outcomes["refused"] > 100, outcomes


@pytest.mark.parametrize("seq", ["NULL", "'8'", "x'08'"])
def test_a_cut_without_a_number_is_refused_by_file(tmp_path: Path, seq: str) -> None:
    path = tmp_path / "sites.db"
    filled(path).close()
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript(
        "ALTER TABLE cut RENAME TO old; CREATE TABLE cut (id, seq, sites, crc, core);"
        f"INSERT INTO cut SELECT id, {seq}, sites, crc, core FROM old; DROP TABLE old"
    )
    con.close()
    with pytest.raises(CorruptState, match=r"sites\.db: the cut has no number"):
        SiteStates(path)


def test_a_site_that_cannot_be_read_back_loses_the_file_and_not_the_log(tmp_path: Path) -> None:
    path = tmp_path / "sites.db"
    filled(path).close()
    with sqlite3.connect(path) as con:
        con.execute("UPDATE states SET state = x'00' WHERE place = 3")
    con.close()
    states = SiteStates(path)
    assert states.get(2) == STATES[2]
    with pytest.raises(SiteLost, match="site 3"):
        states.get(3)
    with pytest.raises(SiteLost):
        states.put(2, "site-2", b"", b"")
    states.close()
    assert not path.exists()


def test_a_site_whose_state_is_gone_loses_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "sites.db"
    filled(path).close()
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript(
        "ALTER TABLE states RENAME TO old; CREATE TABLE states (place INTEGER PRIMARY KEY, state, crc);"
        "INSERT INTO states SELECT place, NULL, crc FROM old; DROP TABLE old"
    )
    con.close()
    states = SiteStates(path)
    with pytest.raises(SiteLost, match="sites\\.db: site: "):
        states.get(3)
    states.close()
    assert not path.exists()


EVENTS = [b"event %d" % n + random.Random(n).randbytes(900) for n in range(5)]


def changed(path: Path | None) -> SiteStates:
    """Return the states of before, two of them changed since, one of these in two parts."""
    states = filled(path)
    states.add(2, "site-2", b"facts then", EVENTS[:2])
    states.add(3, "site-3", b"facts then", EVENTS[3:])
    states.add(2, "site-2", b"facts now", EVENTS[2:3])
    states.commit(8, b"core")
    return states


def test_what_was_added_to_a_state_is_read_back_until_it_is_put_anew(path: Path | None) -> None:
    states = changed(path)
    assert (states.get(2), states.changes(2), states.changes(3)) == (STATES[2], EVENTS[:3], EVENTS[3:])
    assert [states.changes(n) for n in (0, 4)] == [[], []]
    assert [facts for _, facts in states.sites()][1:4] == [b"facts 1", b"facts now", b"facts then"]
    states.add(2, "site-2", b"nothing new", [])
    states.put(3, "site-3", b"facts", b"state of now")
    assert (states.changes(2), states.get(3), states.changes(3)) == (EVENTS[:3], b"state of now", [])
    states.roll_back()
    assert (states.get(3), states.changes(3)) == (STATES[3], EVENTS[3:])
    states.close()


@pytest.mark.parametrize("last", ["put", "add"])
def test_a_process_killed_within_a_cut_leaves_the_one_before(tmp_path: Path, last: str) -> None:
    states = changed(tmp_path / "sites.db")
    if last == "put":
        states.put(2, "site-2", b"later", b"later state")
    states.add(2, "site-2", b"later", [b"later event"])
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("sites.db*"):
        shutil.copyfile(file, killed / file.name)
    states.close()
    again = SiteStates(killed / "sites.db")
    assert (again.seq, again.get(2), again.changes(2)) == (8, STATES[2], EVENTS[:3])
    assert list(again.sites())[2] == ("site-2", b"facts now")
    again.add(2, "site-2", b"again", EVENTS[3:])
    again.commit(9, b"core")
    assert again.changes(2) == EVENTS
    again.close()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM changes WHERE place = 2 AND number = 1", "site 2 is missing or damaged"),
        ("DELETE FROM changes WHERE place = 2 AND number = 0", "site 2 is missing or damaged"),
        ("DELETE FROM changes", "site 2 is missing or damaged"),
        (
            "INSERT INTO changes SELECT 2, 2, events, crc FROM changes WHERE place = 3",
            "site 2 is missing or damaged",
        ),
        ("UPDATE changes SET number = 7 WHERE place = 2 AND number = 1", "change 1 of site 2 is damaged"),
        ("UPDATE changes SET events = x'00' WHERE place = 2 AND number = 1", "change 1 of site 2 is damaged"),
        ("UPDATE changes SET place = 4 - place WHERE place = 3", "site 1 is missing or damaged"),
        ("DELETE FROM states WHERE place = 2", "state of site 2 is missing or damaged"),
    ],
)
def test_changes_that_are_missing_damaged_or_of_another_state_are_told(
    tmp_path: Path, damage: str, told: str
) -> None:
    path = tmp_path / "sites.db"
    changed(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute(damage)
    with pytest.raises((CorruptState, SiteLost), match=told):
        list(all_of(path))


def test_a_file_of_changes_damaged_anywhere_is_refused_or_gives_what_was_put(tmp_path: Path) -> None:
    path, rng = tmp_path / "sites.db", random.Random(8)
    changed(path).close()
    whole, want = path.read_bytes(), list(all_of(path))
    for _ in range(150):
        broken = bytearray(whole)
        broken[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        with suppress(CorruptState, SiteLost):
            assert list(all_of(path)) in (want, [])


def test_a_file_from_before_there_were_changes_takes_them_with_its_next_cut(tmp_path: Path) -> None:
    path = tmp_path / "sites.db"
    filled(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.executescript("DROP TABLE changes; PRAGMA user_version = 6")
    states = SiteStates(path)
    assert (states.get(2), states.changes(2), len(list(states.sites()))) == (STATES[2], [], 8)
    states.add(2, "site-2", b"facts", EVENTS[:1])
    states.close()  # without a cut
    with closing(sqlite3.connect(path)) as con:
        assert con.execute("PRAGMA user_version").fetchone() == (6,)
    states = SiteStates(path)
    states.add(2, "site-2", b"facts", EVENTS[:2])
    states.commit(9, b"core")
    states.close()
    with closing(sqlite3.connect(path)) as con:
        assert con.execute("PRAGMA user_version").fetchone() == (SITES.number,)
    states = SiteStates(path)
    assert (states.seq, states.get(2), states.changes(2)) == (9, STATES[2], EVENTS[:2])
    states.close()


def put_many(states: SiteStates) -> None:
    for n in range(8, 40):
        states.put(n, f"site-{n}", b"", random.Random(n).randbytes(9_000))


def test_a_full_disk_is_an_error_and_what_was_put_stays(path: Path | None) -> None:
    states = filled(path)
    states._connection().execute("PRAGMA max_page_count = 1")  # SQLite then never grows the file
    states.put(0, "site-0", b"facts", b"small")
    with pytest.raises(OSError, match="full"):
        put_many(states)
    assert (states.is_lost, states.get(0), states.get(7)) == (False, b"small", STATES[7])
    states.close()


def test_a_file_that_a_kill_left_half_made_holds_nothing_yet(tmp_path: Path) -> None:
    """At any byte of its making: the file alone, its mode, its tables not yet committed."""
    empty, mode_only, tables_open = (tmp_path / name for name in ("empty", "mode", "tables"))
    empty.touch()
    for path in (mode_only, tables_open):
        con = sqlite3.connect(path, isolation_level=None)
        con.execute("PRAGMA journal_mode = WAL")
        if path == tables_open:
            con.execute("BEGIN")
            con.execute("CREATE TABLE cut (id INTEGER PRIMARY KEY)")
        killed = tmp_path / f"killed-{path.name}"
        killed.mkdir()
        for file in tmp_path.glob(f"{path.name}*"):
            if file.is_file():
                shutil.copy(file, killed)
        con.close()
    for path in (empty, tmp_path / "killed-mode/mode", tmp_path / "killed-tables/tables"):
        with reading_copy(path) as copy:
            assert copy.seq == 0
        states = filled(path)
        states.close()
        again = SiteStates(path)
        assert (again.seq, again.get(7)) == (5, STATES[7])
        again.close()
