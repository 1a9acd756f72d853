"""What harvest made of the pages of a small crawl."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.harvest import Harvest
from linkscore_scoring.policies.harvest.tables import Source, Worked


class Crawled(Protocol):
    """A board of either kind."""

    @property
    def shard(self) -> SiteShard: ...


class Worth(NamedTuple):
    """Where the reward of a page is from, the reward, the share of a pull it counts as, and its label."""

    source: Source
    reward: float
    weight: float
    label: float


def harvest_of(board: Crawled) -> Harvest:
    """Return the policy that serves a board."""
    policy = board.shard.served
    assert isinstance(policy, Harvest)
    return policy


def worth_of(board: Crawled, path: str) -> Worth:
    """Return what a fetched page is worth."""
    tables = harvest_of(board).tables
    page, worked = tables.page_of[hash64(f"http://h{path}")], Worked(tables)
    return Worth(
        Source(tables.pages["source"][page]),
        float(worked.page_reward[page]),
        float(worked.weight[page]),
        float(tables.pages["label"][page]),
    )
