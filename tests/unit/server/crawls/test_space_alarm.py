"""Callers are refused before the disk is full."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linkscore_server.crawls.memory import DiskFull, Space
from linkscore_server.store.sqlite import SqliteEngine

MIB = 1 << 20


def is_refused(free_mib: int, whole: int) -> bool:
    try:
        Space(256 * MIB, lambda: (free_mib * MIB, whole)).check()
    except DiskFull:
        return True
    return False


def test_what_callers_bring_is_refused_below_the_bound() -> None:
    assert [is_refused(free_mib, 100 << 30) for free_mib in (300, 255, 256)] == [False, True, False]


@pytest.mark.parametrize(("free_mib", "refused"), [(4, False), (3, True)])
def test_a_small_disk_keeps_a_twentieth_free_and_no_more(free_mib: int, refused: bool) -> None:
    assert is_refused(free_mib, 64 * MIB) is refused


def test_of_a_folder_that_is_gone_nothing_is_said(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "gone" / "linkscore.db")
    shutil.rmtree(tmp_path / "gone")
    assert Space(256 * MIB, engine.space).left() == (float("inf"), False)
