"""A disk that is full or fails: nothing half-written is ever read, and the log goes on or says why not."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from linkscore_server.storage.files import FileLog

FillUp = Callable[[int], None]


@pytest.fixture
def fill_up(monkeypatch: pytest.MonkeyPatch) -> FillUp:
    """Let the disk take so many bytes more; a negative number means room enough."""
    real = os.write
    room = [-1]

    def write(fd: int, data: memoryview) -> int:
        if room[0] < 0:
            return real(fd, data)
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(fd, bytes(data)[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", write)
    return lambda n: room.__setitem__(0, n)


def test_a_full_disk_leaves_no_half_event_and_a_later_append_works(tmp_path: Path, fill_up: FillUp) -> None:
    log = FileLog(tmp_path)
    log.append([b"one"])
    for room in range(60):
        fill_up(room)
        with pytest.raises(OSError, match="No space left"):
            log.append([os.urandom(64)])
        assert log.last_seq == 1
    fill_up(-1)
    log.append([b"two"])
    log.close()
    assert list(FileLog(tmp_path).read()) == [(1, b"one"), (2, b"two")]


@pytest.mark.parametrize("room", [0, 3, 8, 20])
def test_a_disk_full_from_the_start_leaves_a_log_that_can_begin(
    tmp_path: Path, fill_up: FillUp, room: int
) -> None:
    log = FileLog(tmp_path)
    fill_up(room)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            log.append([b"one"])
        fill_up(0)
    fill_up(-1)
    log.append([b"one"])
    log.close()
    assert list(FileLog(tmp_path).read()) == [(1, b"one")]


@pytest.mark.parametrize("room", [0, 3, 8, 20])
def test_a_disk_full_at_rotation_loses_nothing(tmp_path: Path, fill_up: FillUp, room: int) -> None:
    log = FileLog(tmp_path, segment_bytes=1)
    log.append([b"one"])
    fill_up(room)
    with pytest.raises(OSError, match="No space left"):
        log.append([b"two"])
    fill_up(-1)
    log.append([b"two"])
    log.close()
    assert list(FileLog(tmp_path).read()) == [(1, b"one"), (2, b"two")]


def test_a_restart_on_a_full_disk_finds_all_that_was_acknowledged(tmp_path: Path, fill_up: FillUp) -> None:
    log = FileLog(tmp_path)
    log.append([b"one"])
    fill_up(10)
    with pytest.raises(OSError, match="No space left"):
        log.append([b"two"])
    log.close()
    assert list(FileLog(tmp_path).read()) == [(1, b"one")]


def test_after_a_failed_sync_the_log_takes_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FileLog(tmp_path)
    log.append([b"one"])

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        with pytest.raises(OSError, match="Input/output"):
            log.append([b"two"])
    with pytest.raises(OSError, match=r"sync failed .* restart to recover"):
        log.append([b"three"])
    log.close()


def test_a_frame_that_cannot_be_taken_back_closes_the_log(
    tmp_path: Path, fill_up: FillUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FileLog(tmp_path)
    log.append([b"one"])

    def fail(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    fill_up(10)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(OSError, match="No space left"):
            log.append([b"two"])
    fill_up(-1)
    with pytest.raises(OSError, match="repair failed"):
        log.append([b"two"])
    log.close()
    assert list(FileLog(tmp_path).read()) == [(1, b"one")]
