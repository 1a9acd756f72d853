"""What an annex of the server is: services of the contract beside those of the core, see `app.annexes`.

A method of the contract that no service of either kind answers is UNIMPLEMENTED.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.data_folder import DataFolder
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings


@dataclass(frozen=True, slots=True)
class Host:
    """The server that an annex is part of; `clock` gives seconds since the epoch."""

    registry: CrawlRegistry
    settings: Settings
    metrics: Metrics
    clock: Callable[[], float]


class Services(ABC):
    """Services of the contract, and what they do beside calls.

    Attributes
    ----------
    servicers
        Who answers, by the name of the service.
    methods
        Who answers a single method of a service of the core, by the name of both, ``Service/Method``.
    """

    servicers: Mapping[str, Any] = MappingProxyType({})
    methods: Mapping[str, Callable[[Any, Any], Awaitable[Any]]] = MappingProxyType({})

    @abstractmethod
    def __init__(self, host: Host) -> None:
        """Become part of a server."""

    def recovered(self, shard: str, model: CrawlModel) -> None:  # noqa: B027
        """Take note of a crawl that was read from its log and is about to serve; blocks."""

    def opened(self, actor: CrawlActor) -> None:  # noqa: B027
        """Take note of a crawl that serves."""

    def start(self) -> None:  # noqa: B027
        """Begin what is done beside calls."""

    async def idle(self) -> None:  # noqa: B027
        """Wait until nothing is under way."""

    async def close(self) -> None:  # noqa: B027
        """Finish, and stop."""

    @staticmethod
    def problems(folder: DataFolder, shard: str) -> Iterator[str]:
        """Yield what is wrong with what is kept beside the events of a shard in a data folder."""
        yield from ()
