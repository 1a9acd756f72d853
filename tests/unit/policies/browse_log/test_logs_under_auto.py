"""Policies of browse logs as parts of `auto`."""

from __future__ import annotations

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.auto.policy import Auto
from support.boards import Board
from support.browse_logs.behavior_boards import logged


def test_policies_of_browse_logs_are_asked_once_there_is_one() -> None:
    names = "harvest+behavior_fetch+news_prefix"
    board = Board("auto", policies=names)
    policy, site = board.model.new_site("h").served, board.model.new_site("h").model
    assert isinstance(policy, Auto)
    assert [capabilities.is_able(part, site, has_feedback=True) for part in policy.parts] == [
        True,
        False,
        False,
    ]
    board.page("/list?f=1", [("/show?t=131", "html/body/a"), ("/who?u=3", "html/body/a")])
    logged("auto", board=board)
    policy, site = board.shard.served, board.shard.model
    assert isinstance(policy, Auto)
    assert [capabilities.is_able(part, site, has_feedback=True) for part in policy.parts][:2] == [True, True]
    assert len(board.scores("/show?t=131", "/who?u=3")) == 2


def test_logs_are_mined_for_it_if_one_of_its_policies_reads_them() -> None:
    params = {
        names: PolicyChoice("auto", {"policies": names}).checked()
        for names in ("harvest+opic", "harvest+behavior_fetch")
    }
    assert [capabilities.wants_logs(Auto, p) for p in params.values()] == [False, True]
    assert [sorted(Auto(p).mining_settings()) for p in params.values()] == [[], ["behavior"]]
