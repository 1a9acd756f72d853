"""Slots: what is handed from one process of a cluster to another, each a set of shards."""

from __future__ import annotations

from linkscore_scoring.engine.groups import Shard
from linkscore_server.routing.owners import place_of

SLOTS = 64
"""Slots of a new cluster, a partition of its topic each: fixed then. More processes than these have nothing
to do, and one more or less moves a 64th at a time. Chosen, not measured."""


def slot_of(shard: Shard, slots: int) -> int:
    """Return the slot of a shard: groups of a crawl go round, crawls begin anywhere.

    Examples
    --------
    >>> [slot_of(Shard("books", group, 4), 64) - slot_of(Shard("books"), 64) for group in range(4)]
    [0, 1, 2, 3]
    """
    return place_of(shard, slots)
