"""Logs that are cut: what two snapshots hold may go, nothing else, whatever comes in between."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage import cutting, disk, files
from linkscore_server.storage.base import Snapshot
from linkscore_server.storage.check import cut_of_crawl
from linkscore_server.storage.files import FileLog

_EVENTS = 40


class Killed(BaseException):
    """The process ends here."""


def opened(folder: Path, *, cuts: bool = True) -> FileLog:
    folder.mkdir(exist_ok=True)
    return FileLog(folder, segment_bytes=256, cuts=cuts)


def state_of(seq: int) -> bytes:
    """Return what a state after some events is in these tests: the events themselves."""
    return b"".join(event(n) for n in range(1, seq + 1))


def event(seq: int) -> bytes:
    return b"%06d " % seq


def rebuilt(log: FileLog) -> bytes:
    """Return the state that a start finds."""
    snapshot = log.snapshot() or Snapshot(0, b"")
    return snapshot.state + b"".join(raw for _, raw in log.read(snapshot.seq))


def filled(log: FileLog, *snapshots: int) -> FileLog:
    """Append events one by one, with a snapshot after each of some numbers."""
    for seq in range(log.last_seq + 1, _EVENTS + 1):
        log.append([event(seq)])
        if seq in snapshots:
            log.save(Snapshot(seq, state_of(seq)))
    return log


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def first_seq(folder: Path) -> int:
    return min(int(path.stem) for path in folder.glob("*.log"))


def test_nothing_is_cut_unless_asked_for(tmp_path: Path) -> None:
    log = filled(opened(tmp_path, cuts=False), 20, 30)
    assert [seq for seq, _ in log.read()] == list(range(1, _EVENTS + 1))
    assert {"cut", "snapshot.previous"}.isdisjoint(names(tmp_path))


def test_segments_go_that_both_snapshots_hold(tmp_path: Path) -> None:
    log = filled(opened(tmp_path), 20)
    assert first_seq(tmp_path) == 1
    size = sum(path.stat().st_size for path in tmp_path.glob("*.log"))
    cut_bytes = log.save(Snapshot(30, state_of(30)))
    assert cut_bytes == size - sum(path.stat().st_size for path in tmp_path.glob("*.log")) > 0
    assert 1 < first_seq(tmp_path) <= 21
    assert [seq for seq, _ in log.read(20)] == list(range(21, _EVENTS + 1))
    assert "were cut from its log" in cut_of_crawl(tmp_path)


def test_a_cut_log_opens_as_it_was(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20, 30).close()
    log = opened(tmp_path)
    assert (log.last_seq, rebuilt(log)) == (_EVENTS, state_of(_EVENTS))
    log.append([event(_EVENTS + 1)])
    assert rebuilt(log) == state_of(_EVENTS + 1)


def test_the_last_segment_stays_though_snapshots_hold_it(tmp_path: Path) -> None:
    log = filled(opened(tmp_path), 39, 40)
    log.close()
    assert rebuilt(opened(tmp_path)) == state_of(_EVENTS)


def test_a_rebuild_from_a_cut_log_is_refused(tmp_path: Path) -> None:
    log = filled(opened(tmp_path), 20, 30)
    with pytest.raises(CorruptState, match=r"events 1 to \d+ were cut .* cannot be rebuilt"):
        list(log.read(0))


def test_with_the_newest_snapshot_damaged_the_one_before_counts(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20, 30).close()
    (tmp_path / "snapshot").write_bytes(b"LSSNAP")
    log = opened(tmp_path)
    assert log.snapshot() == Snapshot(20, state_of(20))
    assert rebuilt(log) == state_of(_EVENTS)


def test_a_damaged_snapshot_never_takes_the_place_of_a_sound_one(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20, 30).close()
    (tmp_path / "snapshot").write_bytes(b"LSSNAP")
    log = opened(tmp_path)
    log.save(Snapshot(_EVENTS, state_of(_EVENTS)))
    (tmp_path / "snapshot").write_bytes(b"LSSNAP")
    assert rebuilt(log) == state_of(_EVENTS)


def test_with_both_snapshots_damaged_the_crawl_is_refused_by_name(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20, 30).close()
    for name in ("snapshot", "snapshot.previous"):
        (tmp_path / name).write_bytes(b"LSSNAP")
    log = opened(tmp_path)
    assert log.snapshot() is None
    with pytest.raises(CorruptState, match=f"{tmp_path}: events 1 to"):
        list(log.read())


def test_a_missing_segment_is_told_from_one_that_was_cut(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20, 30).close()
    (tmp_path / f"{first_seq(tmp_path):020d}.log").unlink()
    with pytest.raises(CorruptState, match=r"\.log at offset 8: event \d+ where \d+ should be"):
        opened(tmp_path)


@pytest.mark.parametrize("wrong", [b"", b"LSCUT", b"LSCUT\0\0\1" + bytes(12)])
def test_a_damaged_mark_is_refused_by_name(tmp_path: Path, wrong: bytes) -> None:
    filled(opened(tmp_path), 20, 30).close()
    (tmp_path / "cut").write_bytes(wrong)
    with pytest.raises(CorruptState, match=f"{tmp_path}/cut: damaged"):
        opened(tmp_path)


def test_a_segment_that_came_back_after_a_power_cut_is_deleted(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20).close()
    kept = {path.name: path.read_bytes() for path in tmp_path.glob("*.log")}
    log = opened(tmp_path)
    log.save(Snapshot(_EVENTS, state_of(_EVENTS)))
    log.close()
    first = min(kept)
    (tmp_path / first).write_bytes(kept[first])  # the ones behind it stayed deleted
    assert rebuilt(opened(tmp_path)) == state_of(_EVENTS)
    assert not (tmp_path / first).exists()


def test_with_the_setting_off_again_the_log_grows_and_opens(tmp_path: Path) -> None:
    filled(opened(tmp_path), 20, 30).close()
    before = first_seq(tmp_path)
    log = opened(tmp_path, cuts=False)
    log.save(Snapshot(_EVENTS, state_of(_EVENTS)))
    log.close()
    assert first_seq(tmp_path) == before
    assert rebuilt(opened(tmp_path, cuts=False)) == state_of(_EVENTS)


def test_killed_anywhere_in_a_cut_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that changes the folder is the last one once."""
    filled(opened(tmp_path / "made"), 10, 20).close()
    survived = 0
    while True:
        folder = tmp_path / f"killed-{survived}"
        shutil.copytree(tmp_path / "made", folder)
        log = opened(folder)
        with monkeypatch.context() as patch:
            _kill_after(survived, patch)
            try:
                log.save(Snapshot(_EVENTS, state_of(_EVENTS)))
                break
            except Killed:
                survived += 1
        log.close()
        again = opened(folder)
        assert (again.last_seq, rebuilt(again)) == (_EVENTS, state_of(_EVENTS))
        again.save(Snapshot(_EVENTS, state_of(_EVENTS)))
        assert rebuilt(opened(folder)) == state_of(_EVENTS)
        again.close()
    assert survived >= 8  # two snapshots moved, a mark, segments, and what makes them durable


def _kill_after(calls: int, patch: pytest.MonkeyPatch) -> None:
    left = calls

    def last(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            return call(*args, **kwargs)

        return wrapped

    for name in ("unlink", "replace"):
        patch.setattr(Path, name, last(getattr(Path, name)))
    for module in (disk, cutting, files):
        patch.setattr(module, "sync", last(disk.sync))
    patch.setattr(disk, "write_all", last(disk.write_all))
