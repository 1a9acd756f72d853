"""Links ordered by what visiting them discovers."""

from __future__ import annotations

from support.browse_logs.behavior_boards import logged


def test_lists_come_before_threads_and_threads_before_profiles() -> None:
    lists, threads, profiles = logged("behavior_discovery").scores("/list?f=1", "/show?t=110", "/who?u=3")
    assert lists > threads > profiles


def test_pages_that_show_new_threads_raise_their_pattern() -> None:
    quiet, lively = (logged("behavior_discovery") for _ in range(2))
    quiet.page("/list?f=1", [("/show?t=1", "html/body/a")])
    lively.page("/list?f=1", [(f"/show?t={n}", "html/body/a") for n in range(131, 151)])
    assert lively.scores("/list?f=2")[0] > quiet.scores("/list?f=2")[0]
