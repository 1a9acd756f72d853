"""The space alarm: refuses before the disk is full, ends with hysteresis, says so once at each end."""

from __future__ import annotations

import pytest

from linkscore_server.crawls.space import DiskFull, SpaceAlarm

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


@pytest.mark.parametrize(("free_mib", "refused"), [(4, False), (3, True)])
def test_a_small_disk_keeps_a_twentieth_free_and_no_more(free_mib: int, refused: bool) -> None:
    disk = Disk(free_mib, whole=64 * MIB)
    assert disk.is_refused(disk.alarm()) is refused
