"""Files cut, flipped or lost: a torn end is dropped, everything else is an error that names the place."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from linkscore_scoring.errors import CorruptState, LimitExceeded
from linkscore_server.browse_logs.visits.base import VisitQuery
from linkscore_server.browse_logs.visits.connection import in_memory
from linkscore_server.browse_logs.visits.files import FileVisits
from linkscore_server.browse_logs.visits.kept import visits_of
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileLog, FileStore, read_segments

EVENTS = [b"first event", b"second event", b"third event"]


def written(folder: Path, *, segment_bytes: int = 1 << 20) -> list[Path]:
    """Write the events, a frame each, and return the segments."""
    log = FileLog(folder, segment_bytes=segment_bytes)
    for event in EVENTS:
        log.append([event])
    log.close()
    return sorted(folder.glob("*.log"))


def events_of(folder: Path) -> list[bytes]:
    log = FileLog(folder)
    found = [event for _, event in log.read()]
    log.close()
    return found


def frame_starts(raw: bytes) -> list[int]:
    starts, at = [], raw.find(b"LSFM")
    while at >= 0:
        starts.append(at)
        at = raw.find(b"LSFM", at + 1)
    return starts


def test_a_last_frame_cut_anywhere_is_dropped_and_the_log_goes_on(tmp_path: Path) -> None:
    [segment] = written(tmp_path)
    raw = segment.read_bytes()
    for cut in range(frame_starts(raw)[-1], len(raw)):
        segment.write_bytes(raw[:cut])
        log = FileLog(tmp_path)
        assert log.last_seq == 2, f"cut at {cut}"
        log.append([b"again"])
        log.close()
        assert events_of(tmp_path) == [*EVENTS[:2], b"again"], f"cut at {cut}"


def test_an_end_the_disk_never_wrote_is_dropped(tmp_path: Path) -> None:
    [segment] = written(tmp_path)
    raw = segment.read_bytes()
    last = frame_starts(raw)[-1]
    segment.write_bytes(raw[:last] + b"\0" * (len(raw) - last))
    assert events_of(tmp_path) == EVENTS[:2]


def test_a_flipped_bit_anywhere_is_an_error_that_names_file_and_offset(tmp_path: Path) -> None:
    [segment] = written(tmp_path)
    raw = segment.read_bytes()
    starts = [0, *frame_starts(raw)]
    for at in range(len(raw)):
        broken = bytearray(raw)
        broken[at] ^= 0x10
        segment.write_bytes(broken)
        place = max(start for start in starts if start <= at)
        with pytest.raises(CorruptState, match=f"{segment.name} at offset {place}:"):
            FileLog(tmp_path)


def test_rotation_keeps_the_order_over_segments(tmp_path: Path) -> None:
    segments = written(tmp_path, segment_bytes=1)
    assert [path.name for path in segments] == [f"{n:020d}.log" for n in (1, 2, 3)]
    assert events_of(tmp_path) == EVENTS


@pytest.mark.parametrize("lost", [0, 1])
def test_a_missing_segment_is_an_error_that_names_the_gap(tmp_path: Path, lost: int) -> None:
    segments = written(tmp_path, segment_bytes=1)
    segments[lost].unlink()
    with pytest.raises(
        CorruptState, match=f"{segments[lost + 1].name} at offset 8: event {lost + 2} where {lost + 1}"
    ):
        FileLog(tmp_path)


def test_a_missing_last_segment_is_noticed_by_the_snapshot(tmp_path: Path) -> None:
    segments = written(tmp_path, segment_bytes=1)
    log = FileLog(tmp_path)
    log.save(Snapshot(3, b"state"))
    log.close()
    segments[-1].unlink()
    with pytest.raises(CorruptState, match="ends with event 2, the snapshot knows 3"):
        FileLog(tmp_path)


def test_damage_inside_an_earlier_segment_is_never_taken_for_a_torn_end(tmp_path: Path) -> None:
    segments = written(tmp_path, segment_bytes=1)
    segments[0].write_bytes(segments[0].read_bytes()[:-1])
    with pytest.raises(CorruptState, match="damaged frame"):
        FileLog(tmp_path)


@pytest.fixture
def known(tmp_path: Path) -> list[Path]:
    """Return segments of an event each, of which a snapshot knows the first two."""
    segments = written(tmp_path, segment_bytes=1)
    log = FileLog(tmp_path)
    log.save(Snapshot(2, b"state"))
    log.close()
    return segments


def test_a_segment_that_a_snapshot_knows_is_read_beside_serving(known: list[Path], tmp_path: Path) -> None:
    damaged = bytearray(known[0].read_bytes())
    damaged[-1] ^= 1
    known[0].write_bytes(damaged)
    log = FileLog(tmp_path)
    assert list(log.read(2)) == [(3, EVENTS[2])]
    log.append([b"fourth event"])
    assert [seq for seq, _ in log.read(2)] == [3, 4]
    assert list(log.check_trusted()) == [
        f"{known[0]} at offset 8: damaged frame (checksum or length does not fit)"
    ]
    with pytest.raises(CorruptState, match=f"{known[0].name} at offset 8: damaged frame"):
        list(log.read())  # as when the snapshot cannot be read after all
    log.close()
    (tmp_path / "snapshot").unlink()
    with pytest.raises(CorruptState, match=f"{known[0].name} at offset 8: damaged frame"):
        FileLog(tmp_path)


@pytest.mark.parametrize("other", ["empty", "of later events"])
def test_a_known_segment_of_other_events_is_named(known: list[Path], tmp_path: Path, other: str) -> None:
    first, second = (path.read_bytes() for path in known[:2])
    known[0].write_bytes(first[:8] if other == "empty" else second)
    log = FileLog(tmp_path)
    [problem] = log.check_trusted()
    assert problem.startswith(f"{known[0]} at offset 8: event 2 where 1 should be")
    log.close()


def test_a_known_segment_that_is_missing_is_named(known: list[Path], tmp_path: Path) -> None:
    known[1].unlink()
    log = FileLog(tmp_path)
    [problem] = log.check_trusted()
    assert re.match(rf"{known[0]} at offset \d+: event 3 where 2 should be", problem)
    with pytest.raises(CorruptState, match=f"{known[2].name} at offset 8: event 3 where 2 should be"):
        list(log.read())
    log.close()
    known[0].unlink()
    with pytest.raises(CorruptState, match=f"{known[2].name} at offset 8: event 3 where 1 should be"):
        FileLog(tmp_path)


@pytest.mark.parametrize("lost", [0, 1])
def test_who_reads_a_folder_is_told_of_a_missing_segment(
    known: list[Path], tmp_path: Path, lost: int
) -> None:
    known[lost].unlink()
    with pytest.raises(CorruptState, match=f"{known[lost + 1].name} at offset 8: event {lost + 2} where"):
        list(read_segments(tmp_path))


def test_closed_segments_are_read_once_in_a_process(known: list[Path], tmp_path: Path) -> None:
    checked: set[Path] = set()
    for told in ([], []):
        log = FileLog(tmp_path, checked=checked)
        assert [problem for problem in log.check_trusted() if problem] == told
        assert checked == set(known[:2])
        known[0].write_bytes(b"what nobody reads again")
        log.close()


def test_a_replay_begins_within_a_segment_after_what_the_snapshot_knows(tmp_path: Path) -> None:
    written(tmp_path)
    log = FileLog(tmp_path)
    log.save(Snapshot(2, b"state"))
    log.close()
    log = FileLog(tmp_path)
    assert list(log.check_trusted()) == []
    for after in range(4):
        assert [event for _, event in log.read(after)] == EVENTS[after:]
    log.append([b"fourth event", b"fifth event"])
    assert [seq for seq, _ in log.read(2)] == [3, 4, 5]
    assert [seq for seq, _ in log.read(4)] == [5]
    log.close()


def test_a_segment_that_was_only_created_is_no_damage(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / f"{4:020d}.log").write_bytes(b"LSL")
    assert events_of(tmp_path) == EVENTS


def test_a_log_whose_first_segment_was_only_created_is_empty(tmp_path: Path) -> None:
    (tmp_path / f"{1:020d}.log").write_bytes(b"LSL")
    assert events_of(tmp_path) == []


def test_a_damaged_snapshot_is_passed_over(tmp_path: Path) -> None:
    written(tmp_path)
    log = FileLog(tmp_path)
    log.save(Snapshot(2, b"state" * 100))
    whole = (tmp_path / "snapshot").read_bytes()
    for at in range(len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 0x10  # numbers 5 to 7 differ in the lower bits, and are all read
        (tmp_path / "snapshot").write_bytes(broken)
        assert log.snapshot() is None, f"bit of byte {at}"
    (tmp_path / "snapshot").write_bytes(whole)
    assert log.snapshot() == Snapshot(2, b"state" * 100)
    log.close()


def test_a_second_server_on_the_folder_is_refused(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    with pytest.raises(LimitExceeded, match="in use by another"):
        FileStore(tmp_path)
    store.close()
    FileStore(tmp_path).close()


def test_the_ticket_key_survives_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    key = store.ticket_key()
    store.close()
    again = FileStore(tmp_path)
    assert again.ticket_key() == key
    assert (tmp_path / "ticket.key").stat().st_mode & 0o077 == 0
    again.close()


@pytest.mark.parametrize("size", [0, 31, 33, 47, 49])
def test_a_ticket_key_that_is_none_is_refused_by_name(tmp_path: Path, size: int) -> None:
    store = FileStore(tmp_path)
    (tmp_path / "ticket.key").write_bytes(b"k" * size)
    with pytest.raises(
        CorruptState, match=rf"ticket\.key: damaged, its {size} bytes are no .*; put that of a"
    ):
        store.ticket_key()
    store.close()


def test_a_secret_flipped_or_cut_anywhere_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "salt"
    visits = FileVisits(tmp_path)
    salt, raw = visits.salt(), path.read_bytes()
    for bit in range(8 * len(raw)):
        broken = bytearray(raw)
        broken[bit // 8] ^= 1 << bit % 8
        path.write_bytes(broken)
        with pytest.raises(CorruptState, match="salt: damaged, its 48 bytes are no secret"):
            visits.salt()
    for cut in range(len(raw)):
        path.write_bytes(raw[:cut])
        with pytest.raises(CorruptState, match="salt: damaged"):
            visits.salt()
    path.write_bytes(raw)
    assert visits.salt() == salt


def test_a_secret_of_the_first_format_stays_and_gets_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "ticket.key"
    path.write_bytes(bytes(range(32)))
    store = FileStore(tmp_path)
    assert list(problems_of_store(store)) == []
    assert path.stat().st_size == 32  # a check changes nothing
    assert store.ticket_key() == store.ticket_key() == bytes(range(32))
    assert path.stat().st_size == 48
    assert path.stat().st_mode & 0o077 == 0
    store.close()


def test_only_the_owner_may_read_a_data_folder(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "data")
    store.ticket_key()
    log = store.open("c")
    log.append([b"event"])
    log.save(Snapshot(1, b"state"))
    log.close()
    visits_of(store, "c").salt()
    store.close()
    paths = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    assert {
        path.name: oct(path.stat().st_mode & 0o077) for path in paths if path.stat().st_mode & 0o077
    } == {}


def test_visits_damaged_anywhere_are_refused_by_name_and_never_counted(tmp_path: Path) -> None:
    visits, rng = FileVisits(tmp_path), random.Random(7)
    with in_memory() as con:
        con.execute(
            "CREATE TABLE visits AS SELECT 'a.org' AS site, 'http://a.org/' || i % 97 AS url, "
            "'' AS referrer, 20000 AS day, i::INT AS second, i::UBIGINT AS client FROM range(2000) AS t(i)"
        )
        visits.stage("batch", con)
    visits.publish("batch")
    (part,) = visits.reader().parts(20_000, 20_000)
    raw = part.read_bytes()
    for trial in range(40):
        damaged, at = bytearray(raw), rng.randrange(len(raw))
        if trial % 2:
            damaged[at] ^= 1 << rng.randrange(8)
        else:
            del damaged[at:]
        part.write_bytes(damaged)
        with pytest.raises(CorruptState, match=part.name):
            visits.counts(VisitQuery("a.org", 20_000, 1, 500), memory_mb=64)
        with pytest.raises(CorruptState, match=part.name):
            visits.spans()
        assert len(visits.verify()) == 1
    part.write_bytes(raw)
    assert visits.verify() == []
