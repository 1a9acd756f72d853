"""CrawlService: crawls made, read, changed, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.engine.reports.inspection import activity
from linkscore_scoring.errors import InvalidInput
from linkscore_server.access import caller, check_count
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.convert.crawls import (
    config_of,
    crawl_message,
    examples_of,
    extra_policies,
    shard_message,
)
from linkscore_server.grpc.convert.inspection import activity_message
from linkscore_server.grpc.convert.limits import FIELDS, limits_of
from linkscore_server.grpc.convert.names import (
    DEFAULT_PAGE_SIZE,
    MAX_PAGE_SIZE,
    page_of,
    parse_crawl,
)
from linkscore_server.grpc.convert.policies import choice_of
from linkscore_server.grpc.convert.revisits import revisit_of
from linkscore_server.grpc.convert.wanted import wanted_of
from linkscore_server.grpc.errors import logged

_UPDATABLE = ("policy", "extra_policies", "observe_only", "examples", "wanted", "revisit", *FIELDS)

_VERSION = version("linkscore")


class CrawlService:
    """Configuration and lifetime of crawls of one group, and lists of what is here."""

    def __init__(self, registry: CrawlRegistry, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._clock = clock

    async def CreateCrawl(self, request: pb.CreateCrawlRequest, context: Any) -> pb.CreateCrawlResponse:
        """Create a crawl."""
        config = await asyncio.to_thread(config_of, request.crawl, now_s=self._clock())
        if config.groups > 1:
            raise InvalidInput(
                f"must be 1: this server has no directory of several groups, got {config.groups}",
                field="crawl.groups",
            )
        actor = await self._registry.create(config, check_count=check_count)
        return pb.CreateCrawlResponse(crawl=crawl_message(actor.model))

    async def GetCrawl(self, request: pb.GetCrawlRequest, context: Any) -> pb.GetCrawlResponse:
        """Read a crawl."""
        actor = await self._registry.open(parse_crawl(request.name, "name"))
        answer = pb.GetCrawlResponse(crawl=crawl_message(actor.model), server_version=_VERSION)
        if request.with_activity:
            found = await actor.ask(lambda: activity(facts for _, facts in actor.model.sites.facts()))
            answer.activity.CopyFrom(activity_message(found))
        return answer

    async def ListCrawls(self, request: pb.ListCrawlsRequest, context: Any) -> pb.ListCrawlsResponse:
        """List crawls by name; they need not stay open."""
        mine = [name for name in self._registry.names() if caller().may_touch(name)]
        names, token = page_of(mine, request.page_size, request.page_token)
        models = await self._registry.models(names)
        answer = pb.ListCrawlsResponse(next_page_token=token)
        for model in models:
            try:
                answer.crawls.append(crawl_message(model))
            except Exception as exc:  # of this crawl: the others are shown
                logged(exc)
        return answer

    async def ListShards(self, request: pb.ListShardsRequest, context: Any) -> pb.ListShardsResponse:
        """List crawls, damaged ones too, with what each takes."""
        size, after = shard_page(request)
        crawl = parse_crawl(request.crawl) if request.crawl else ""
        there = [
            shard
            for shard in map(Shard.of, self._registry.keys())
            if crawl in ("", shard.crawl)
            and caller().may_touch(shard.crawl)
            and not (after and shard <= after)
        ]
        page = there[:size]
        rows = [await shard_row(self._registry, shard.key) for shard in page]
        for row in rows:
            row.owner = "worker 0"  # as of a server of one worker
        return pb.ListShardsResponse(
            shards=rows, next_page_token=page[-1].key if len(page) < len(there) else ""
        )

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
            elif path in FIELDS:
                changes.setdefault("limits", {})[path] = limits_of(crawl).get(path)
            elif path == "revisit":
                changes["revisit"] = revisit_of(crawl)
            else:
                changes["observe_only"] = crawl.observe_only
        if changes:
            actor = await self._registry.change(name, **changes)
        return pb.UpdateCrawlResponse(crawl=crawl_message(actor.model))

    async def DeleteCrawl(self, request: pb.DeleteCrawlRequest, context: Any) -> pb.DeleteCrawlResponse:
        """Delete a crawl and its log."""
        await self._registry.delete(parse_crawl(request.name, "name"))
        return pb.DeleteCrawlResponse()


def shard_page(request: pb.ListShardsRequest) -> tuple[int, Shard | None]:
    """Return how many shards are asked for, and the one after which they begin.

    Raises
    ------
    InvalidInput
        If page size or token is not one.
    """
    size = request.page_size or DEFAULT_PAGE_SIZE
    if size > MAX_PAGE_SIZE:
        raise InvalidInput(f"must be at most {MAX_PAGE_SIZE}, got {size}", field="page_size")
    try:
        return size, Shard.of(request.page_token) if request.page_token else None
    except ValueError:
        raise InvalidInput("must be the next_page_token of a call before", field="page_token") from None


async def shard_row(registry: CrawlRegistry, key: str) -> pb.Shard:
    """Return what a shard that is here takes."""
    size = await registry.disk_bytes(key)
    actor, trouble = registry.opened_now(key), registry.damaged.get(key, "")
    return shard_message(Shard.of(key), actor, disk_bytes=size, trouble=trouble)


def _paths(request: pb.UpdateCrawlRequest) -> list[str]:
    """Return the fields to change: those of the mask, or those that are set when there is no mask."""
    paths = list(request.update_mask.paths)
    unknown = [path for path in paths if path not in _UPDATABLE]
    if unknown:
        raise InvalidInput(
            f"can only be {', '.join(_UPDATABLE)}, got {', '.join(unknown)}", field="update_mask"
        )
    return paths or [field.name for field, _ in request.crawl.ListFields() if field.name in _UPDATABLE]
