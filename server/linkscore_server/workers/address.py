"""Where a worker stands among those of one server: which shards are its own, and how to reach the others."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.engine.groups import Shard
from linkscore_server.routing.owners import place_of


@dataclass(frozen=True, slots=True)
class WorkerAddress:
    """A worker among its like.

    Attributes
    ----------
    number
        Of the worker, from 0 on.
    sockets
        Where each worker listens for the others, by number.
    lock
        Descriptor of the data folder's lock, which all workers hold together: no other server may have the
        folder while one of them lives.
    """

    number: int
    sockets: tuple[str, ...]
    lock: int

    def owns(self, shard: Shard) -> bool:
        """Say whether a shard is this worker's."""
        return place_of(shard, len(self.sockets)) == self.number
