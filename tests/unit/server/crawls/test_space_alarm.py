"""The space alarm: refuses before the disk is full, ends with hysteresis, says so once at each end."""

from __future__ import annotations

import errno
import logging

import pytest

from linkscore_server.crawls.space import DiskFull, SpaceAlarm, as_disk_full

MIB = 1 << 20


class Disk:
    """A disk of 100 GiB, and a clock."""

    def __init__(self, free_mib: int, whole: int = 100 << 30) -> None:
        self.free_mib, self.whole, self.now = free_mib, whole, 0.0

    def space(self) -> tuple[int, int]:
        return self.free_mib * MIB, self.whole

    def alarm(self, least_mib: int = 256) -> SpaceAlarm:
        return SpaceAlarm(least_mib * MIB, self.space, clock=lambda: self.now)

    def is_refused(self, alarm: SpaceAlarm, seconds: float = 1.0) -> bool:
        """Say whether a caller who comes so much later is refused."""
        self.now += seconds
        try:
            alarm.check()
        except DiskFull:
            return True
        return False


def test_writes_are_refused_below_the_bound_and_taken_in_again_above_half_as_much_more() -> None:
    disk = Disk(1_000)
    alarm = disk.alarm()
    seen = []
    for disk.free_mib in (300, 255, 260, 383, 385, 300, 257, 255):
        seen.append(disk.is_refused(alarm))
    assert seen == [False, True, True, True, False, False, False, True]


def test_the_free_space_is_asked_for_once_a_second_at_most() -> None:
    disk, asked = Disk(1_000), []
    alarm = SpaceAlarm(MIB, lambda: asked.append(1) or disk.space(), clock=lambda: disk.now)
    for _ in range(50):
        disk.is_refused(alarm, seconds=0.1)
    assert 4 <= len(asked) <= 6


@pytest.mark.parametrize(("free_mib", "refused"), [(4, False), (3, True)])
def test_a_small_disk_keeps_a_twentieth_free_and_no_more(free_mib: int, refused: bool) -> None:
    disk = Disk(free_mib, whole=64 * MIB)
    assert disk.is_refused(disk.alarm()) is refused


def test_the_log_has_one_line_at_each_end_however_many_come(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk(100)
    alarm = disk.alarm()
    with caplog.at_level(logging.INFO):
        for disk.free_mib in (100, 1_000):
            for _ in range(20):
                disk.is_refused(alarm)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "min_free_mb" in caplog.text


def test_only_errors_of_a_disk_without_room_are_a_full_disk() -> None:
    failing = OSError(errno.EIO, "Input/output error")
    assert as_disk_full(failing) is failing
    assert isinstance(as_disk_full(OSError(errno.EDQUOT, "Disk quota exceeded")), DiskFull)
