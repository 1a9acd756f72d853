"""InspectionService: templates, groups of links and rewards of a site, for people who watch a crawl."""

from __future__ import annotations

from typing import Any

from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_scoring.engine.reports import inspection
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidInput
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.convert import inspection as convert
from linkscore_server.grpc.convert.names import parse_site
from linkscore_server.grpc.convert.policies import choice_of
from linkscore_server.grpc.convert.results import cluster_name, wire_stage

# Bounds of requests, as the contract says.
_MAX_EXITS, _DEFAULT_EXITS = 100, 10
_MAX_SERIES, _DEFAULT_SERIES = 50, 8


class InspectionService:
    """What people look at. Big questions run beside the event loop, see `CrawlActor.ask`."""

    def __init__(self, registry: CrawlRegistry) -> None:
        self._registry = registry

    async def ListTemplates(self, request: pb.ListTemplatesRequest, context: Any) -> pb.ListTemplatesResponse:
        """List templates with their exits, most crawled first."""
        _at_most("max_exits", request.max_exits, _MAX_EXITS)
        start, n = convert.page_start(request.page_size, request.page_token)
        actor, shard = await self._found(request.name)
        await actor.ask_for_model(shard.model.name)
        site, exits = shard.model, request.max_exits or _DEFAULT_EXITS

        def answer() -> pb.ListTemplatesResponse:
            count = len(site.templates.clusters) if site.templates else 0
            found = inspection.templates(site, start, n, exits)
            return pb.ListTemplatesResponse(
                templates=[convert.template_message(template, site) for template in found],
                next_page_token=str(start + n) if start + n < count else "",
                template_count=count,
                stage=wire_stage(site.stage),
                learning=site.learning_since > 0,
                sample_count=len(site.sample),
                next_learning_at=site.schedule.next_at,
                model_revision=site.revision,
                reward_source=convert.reward_source(site),
            )

        return await actor.ask(answer)

    async def ListTemplatePages(
        self, request: pb.ListTemplatePagesRequest, context: Any
    ) -> pb.ListTemplatePagesResponse:
        """List pages of a template, latest first."""
        start, n = convert.page_start(request.page_size, request.page_token)
        cluster = convert.parse_template(request.template)
        actor, shard = await self._found(request.name)
        await actor.ask_for_model(shard.model.name)
        pages, more = await actor.ask(lambda: inspection.template_pages(shard.model, cluster, start, n))
        return pb.ListTemplatePagesResponse(
            pages=map(convert.page_message, pages), next_page_token=str(start + n) if more else ""
        )

    async def ListBuckets(self, request: pb.ListBucketsRequest, context: Any) -> pb.ListBucketsResponse:
        """List groups of waiting links, best first."""
        start, n = convert.page_start(request.page_size, request.page_token)
        choice = choice_of(request.policy)
        actor, shard = await self._found(request.name)
        policy = shard.policy(choice)
        found = await actor.ask(lambda: inspection.buckets(shard, policy, start, n))
        return pb.ListBucketsResponse(
            buckets=map(convert.bucket_message, found.buckets),
            next_page_token=str(start + n) if start + n < found.valued else "",
            bucket_count=found.groups,
            waiting_links=found.links,
            policy=policy.name,
            reward_source=convert.reward_source(shard.model),
            event_seq=actor.model.seq,
        )

    async def GetHarvest(self, request: pb.GetHarvestRequest, context: Any) -> pb.GetHarvestResponse:
        """Say what fetches brought over time."""
        _at_most("max_templates", request.max_templates, _MAX_SERIES)
        actor, shard = await self._found(request.name)
        site, n = shard.model, request.max_templates or _DEFAULT_SERIES

        def answer() -> pb.GetHarvestResponse:
            judged = zip(shard.policy_qualities(), inspection.lookback(shard), strict=False)
            return pb.GetHarvestResponse(
                points=convert.points(inspection.harvest(site)),
                templates=[
                    pb.TemplateHarvest(template=cluster_name(cluster), points=convert.points(series))
                    for cluster, series in inspection.harvest_by_template(site, n).items()
                ],
                policies=[convert.lookback_message(policy, *figures) for policy, figures in judged],
                reward_source=convert.reward_source(site),
            )

        return await actor.ask(answer)

    async def _found(self, name: str) -> tuple[CrawlActor, SiteShard]:
        crawl, site = parse_site(name)
        actor = await self._registry.open(crawl)
        return actor, await actor.site(site)


def _at_most(field: str, got: int, most: int) -> None:
    """Raise InvalidInput if a number is over its limit."""
    if got > most:
        raise InvalidInput(f"must be at most {most}, got {got}", field=field)
