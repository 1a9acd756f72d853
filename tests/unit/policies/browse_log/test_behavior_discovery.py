"""Links ordered by what visiting them discovers."""

from __future__ import annotations

from support.browse_logs.behavior_boards import logged


def test_lists_come_before_threads_and_threads_before_profiles() -> None:
    lists, threads, profiles = logged("behavior_discovery").scores("/list?f=1", "/show?t=110", "/who?u=3")
    assert lists > threads > profiles
