"""Who has a crawl: this process, or what an annex says, found by an entry point.

An entry point of the group ``linkscore.directories`` names a subclass of `Directory`. Of those that fit the
settings of a server the one that fits best is its directory.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import InvalidInput
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.scoring import LinkScoringService
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """The process that a directory is of; `services` are by name, `clock` gives seconds since the epoch."""

    settings: Settings
    store: Store
    registry: CrawlRegistry
    scoring: LinkScoringService
    services: Mapping[str, Any]
    metrics: Metrics
    clock: Callable[[], float]


class Directory:
    """Every crawl is of this process, and of one group: calls reach its services as they are.

    Attributes
    ----------
    servicers
        Who answers callers, by name of the service.
    is_alone
        Whether no other process is part of the same server. If there are others, callers are let in last.
    shares_port
        Whether others listen at the same port.
    """

    is_alone: bool = True
    shares_port: bool = False
    servicers: Mapping[str, Any]

    def __init__(self, parts: Parts) -> None:
        self.servicers = parts.services

    @classmethod
    def fits(cls, settings: Settings) -> int:
        """Say how well this is the directory of a server with such settings; 0: not at all."""
        return 0

    @classmethod
    def supervisor(cls, settings: Settings) -> Coroutine[Any, Any, None] | None:
        """Return what runs instead of a server of one process, and starts several; None: nothing does."""
        return None

    def owns(self, shard: Shard) -> bool:
        """Say whether what the store has at the start is of this process.

        Raises
        ------
        InvalidInput
            If it is of a crawl that cannot be served.
        """
        if shard.groups > 1:
            rule = (
                f"has crawl {shard.crawl}, of {shard.groups} groups: only with the annex for several groups"
            )
            raise InvalidInput(rule, field="data_dir")
        return True

    async def start(self) -> None:
        """Begin when the crawls are found; return when those of other processes can be reached."""

    async def leave(self) -> None:
        """Give up what others can have, before callers are turned away."""

    def drain(self) -> None:
        """End streams once what they sent so far is answered."""

    async def close(self) -> None:
        """Stop, when no caller is left."""


def directory_of(settings: Settings) -> type[Directory]:
    """Return the directory for settings: an annex's that fits, else that of one process with all crawls.

    An annex whose extra is not installed is left out: settings that ask for it are refused before.
    """
    found: list[type[Directory]] = [Directory]
    for entry in sorted(entry_points(group="linkscore.directories")):
        try:
            found.append(entry.load())
        except ModuleNotFoundError:
            if not entry.extras:
                raise
    return max(found, key=lambda each: each.fits(settings))
