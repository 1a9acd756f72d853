"""Links ordered by what visiting them discovers."""

from __future__ import annotations

from support.boards import ROOT, Board
from support.browse_logs.behavior_boards import logged

LINK = "html/body/a"


def test_lists_come_before_threads_and_threads_before_profiles() -> None:
    lists, threads, profiles = logged("behavior_discovery").scores("/list?f=1", "/show?t=110", "/who?u=3")
    assert lists > threads > profiles


def test_pages_that_show_new_threads_raise_their_pattern() -> None:
    quiet, lively = (logged("behavior_discovery") for _ in range(2))
    quiet.page("/list?f=1", [(f"/show?t={n}", LINK) for n in range(20)])
    lively.page("/list?f=1", [(f"/show?t={n}", LINK) for n in range(131, 151)])
    assert lively.scores("/list?f=2")[0] > quiet.scores("/list?f=2")[0]


def test_seeds_are_the_pages_people_go_on_from() -> None:
    board = logged("behavior_discovery")
    first, *_ = board.shard.served.suggest_seeds(2, board.shard.model)
    assert first.url.startswith(f"{ROOT}/list?f=")
    assert first.reason.startswith("people go on from h")
    unlogged = Board("behavior_discovery")
    unlogged.page("/")
    assert unlogged.shard.served.suggest_seeds(2, unlogged.shard.model) == []
