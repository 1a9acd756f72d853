"""Whose a shard is, for now: in a cluster its processes serve shards in turn."""

from __future__ import annotations

from typing import Protocol

from linkscore_scoring.engine.groups import Shard


class ShardLease(Protocol):
    """Says which shards this process serves, where several processes may serve them in turn."""

    def serves(self, shard: Shard) -> bool:
        """Say whether a shard is this process's, if it is there at all."""

    async def confirm(self, shard: Shard) -> None:
        """Return if a shard may be opened here; raise `LogAway` if another process may have it by now."""


class StaticLease:
    """What a process has stays its own."""

    def serves(self, _: Shard) -> bool:
        """See `ShardLease.serves`."""
        return True

    async def confirm(self, _: Shard) -> None:
        """See `ShardLease.confirm`."""
