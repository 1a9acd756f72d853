"""CrawlService: crawls made, read, changed, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import crawl_service_pb2_grpc as pb_grpc
from linkscore_scoring.errors import InvalidInput
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.convert.crawls import config_of, crawl_message, examples_of, extra_policies
from linkscore_server.grpc.convert.names import parse_crawl
from linkscore_server.grpc.convert.policies import choice_of
from linkscore_server.grpc.convert.wanted import wanted_of

_UPDATABLE = ("policy", "extra_policies", "observe_only", "examples", "wanted")

_VERSION = version("linkscore")


class CrawlService(pb_grpc.CrawlServiceServicer):
    """Configuration and lifetime of crawls; those of all processes are listed by `routing`."""

    def __init__(self, registry: CrawlRegistry, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._clock = clock

    async def CreateCrawl(self, request: pb.CreateCrawlRequest, context: Any) -> pb.CreateCrawlResponse:
        """Create a crawl."""
        config = await asyncio.to_thread(config_of, request.crawl, now_s=self._clock())
        actor = await self._registry.create(config)
        return pb.CreateCrawlResponse(crawl=crawl_message(actor.model))

    async def GetCrawl(self, request: pb.GetCrawlRequest, context: Any) -> pb.GetCrawlResponse:
        """Read a crawl."""
        actor = await self._registry.open(parse_crawl(request.name, "name"))
        return pb.GetCrawlResponse(crawl=crawl_message(actor.model), server_version=_VERSION)

    async def UpdateCrawl(self, request: pb.UpdateCrawlRequest, context: Any) -> pb.UpdateCrawlResponse:
        """Change a crawl."""
        crawl = request.crawl
        name = parse_crawl(crawl.name, "crawl.name")
        actor = await self._registry.open(name)
        changes: dict[str, Any] = {}
        for path in _paths(request):
            if path == "policy":
                choice = choice_of(crawl.policy, "crawl.policy")
                if choice is None:
                    raise InvalidInput("must name a policy", field="crawl.policy", reason="REQUIRED")
                changes["policy"] = choice
            elif path == "extra_policies":
                changes["extra_policies"] = extra_policies(crawl)
            elif path == "examples":
                changes["more_examples"] = await asyncio.to_thread(examples_of, crawl.examples)
            elif path == "wanted":
                changes["wanted"] = await asyncio.to_thread(wanted_of, crawl)
            else:
                changes["observe_only"] = crawl.observe_only
        if changes:
            actor = await self._registry.change(name, **changes)
        return pb.UpdateCrawlResponse(crawl=crawl_message(actor.model))

    async def DeleteCrawl(self, request: pb.DeleteCrawlRequest, context: Any) -> pb.DeleteCrawlResponse:
        """Delete a crawl and its log."""
        await self._registry.delete(parse_crawl(request.name, "name"))
        return pb.DeleteCrawlResponse()


def _paths(request: pb.UpdateCrawlRequest) -> list[str]:
    """Return the fields to change: those of the mask, or those that are set when there is no mask."""
    paths = list(request.update_mask.paths)
    unknown = [path for path in paths if path not in _UPDATABLE]
    if unknown:
        raise InvalidInput(
            f"can only be {', '.join(_UPDATABLE)}, got {', '.join(unknown)}", field="update_mask"
        )
    return paths or [field.name for field, _ in request.crawl.ListFields() if field.name in _UPDATABLE]
