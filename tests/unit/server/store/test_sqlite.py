"""What a file of SQLite is promised to survive: a full disk, a kill, damage."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_server.store import SiteRow, StoredShard, open_store, schema
from support.store_events import event

_APPENDS = """
import sys
from linkscore_server.store import NewEvent, open_store
store = open_store(sys.argv[1])
shard = store.open("books") if store.shards() else store.create("books")
while True:
    print(shard.commit([NewEvent("a.example", "", b"page" * 500)]).result(), flush=True)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of 1 MB below the test's folder, where the machine lets it be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "none", folder], check=False).returncode
    ):
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def _killed_after(count: int, folder: Path) -> list[int]:
    """Kill a process that appends; return the numbers of the events that it was told are durable."""
    command = [sys.executable, "-c", _APPENDS, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(count)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
    return [int(line) for line in lines if line.endswith("\n")]


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(os.urandom(4096))
            file.flush()
    return filler


def _append_until_full(shard: StoredShard) -> int:
    """Append until there is no room; return the number of the last event that was acknowledged."""
    for number in range(10_000):
        failed = shard.commit([event(number, id=os.urandom(400).hex())]).exception()
        if failed is not None:
            assert isinstance(failed, OSError)
            assert failed.errno == errno.ENOSPC
            return shard.last_seq
    raise AssertionError("the disk never was full")


def test_a_full_disk_refuses_events_and_takes_them_again_when_there_is_room(small_disk: Path) -> None:
    with closing(open_store(str(small_disk / "data"))) as store:
        shard = store.create("books")
        filler = _fill(small_disk)
        last = _append_until_full(shard)
        shard.put([SiteRow("a.example", 1, b"", os.urandom(5_000))])
        with pytest.raises(OSError, match=r"disk is full|disk I/O"):
            shard.flush().result()
        assert [found.seq for found in shard.events()] == list(range(1, last + 1))

        filler.unlink()

        assert shard.commit([event(0)]).result() == last + 1
        row = shard.site("a.example")
        assert row is not None
        assert row.seq == 1


def test_a_full_disk_opens_by_its_reserve_and_is_read(small_disk: Path) -> None:
    folder = small_disk / "data"
    with closing(open_store(str(folder))) as store:
        store.create("books").commit([event(1)]).result()
    _fill(small_disk)

    with closing(open_store(str(folder))) as store:
        assert [found.body for found in store.open("books").events()] == [b"page 1"]

    assert not (folder / "reserve").exists()


def test_a_full_disk_after_a_kill_opens_and_has_what_was_acknowledged(small_disk: Path) -> None:
    folder = small_disk / "data"
    acknowledged = _killed_after(20, folder)
    _fill(small_disk)

    with closing(open_store(str(folder))) as store:
        assert store.open("books").last_seq >= acknowledged[-1]
        assert len(list(store.open("books").events())) == store.open("books").last_seq


def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    acknowledged = 0
    for _ in range(3):
        lines = _killed_after(10, tmp_path)
        assert lines[0] > acknowledged
        acknowledged = lines[-1]

        with closing(open_store(str(tmp_path))) as store:
            assert store.open("books").last_seq >= acknowledged
            assert all(found.body == b"page" * 500 for found in store.open("books").events())


@pytest.mark.parametrize("at", [0, 20, 100, 5_000, 9_000])
def test_no_damage_of_the_file_goes_unnoticed(tmp_path: Path, at: int) -> None:
    with closing(open_store(str(tmp_path))) as store:
        store.create("books").commit([event(n, id=os.urandom(20).hex()) for n in range(300)]).result()
    path = tmp_path / "linkscore.db"
    whole = bytearray(path.read_bytes())
    whole[at : at + 16] = bytes(byte ^ 0x55 for byte in whole[at : at + 16])
    path.write_bytes(whole)

    found, told = [], False
    try:
        with closing(open_store(str(tmp_path))) as store:
            told = bool(store.engine.problems())
            found = [one.body for one in store.open("books").events()]
    except (CorruptState, OSError, KeyError):
        told = True

    assert told or found == [b"page %d" % n for n in range(300)]


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "linkscore.db"
    path.write_bytes(b"somebody's diary " * 100)

    with pytest.raises(CorruptState, match=r"linkscore\.db: file is not a database"):
        open_store(str(tmp_path))

    assert path.read_bytes() == b"somebody's diary " * 100


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "data"))) as store:
        store.secret()

        assert (tmp_path / "data").stat().st_mode & 0o077 == 0
        for path in (tmp_path / "data").iterdir():
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("sql", [schema.EVENTS_OF_SITE, schema.BEHIND, schema.SITE, schema.WHOLE_SITES])
def test_what_is_asked_of_a_site_goes_through_no_rows_of_others(tmp_path: Path, sql: str) -> None:
    with closing(open_store(str(tmp_path))) as store:
        steps = [row[3] for row in store.engine.rows(f"EXPLAIN QUERY PLAN {sql}", (1,) * sql.count("?"))]

    assert not [step for step in steps if "SCAN" in step]
    assert not [step for step in steps if "SEARCH event" in step and "site=?" not in step]
