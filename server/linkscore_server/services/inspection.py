"""InspectionService: templates, groups of links and rewards of a site, for people who watch a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_scoring.engine import reports as inspection
from linkscore_scoring.engine.reports import (
    BucketRecord,
    HarvestPoint,
    SampledUrl,
    TemplateRecord,
)
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.exporters.rules import cluster_name
from linkscore_scoring.policies.answers import PolicyQuality
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import UNKNOWN_CLUSTER
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.services import results
from linkscore_server.services.messages import (
    check_most,
    choice_of,
    parse_site,
    place_of,
    same_fields,
)

# Bounds of requests, as the contract says.
_MAX_EXITS, _DEFAULT_EXITS = 100, 10
_MAX_SERIES, _DEFAULT_SERIES = 50, 8


class InspectionService:
    """What people look at. Big questions run beside the event loop, see `CrawlActor.ask`."""

    def __init__(self, registry: CrawlRegistry) -> None:
        self._registry = registry

    async def ListTemplates(self, request: pb.ListTemplatesRequest, context: Any) -> pb.ListTemplatesResponse:
        """List templates with their exits, most crawled first."""
        check_most("max_exits", request.max_exits, _MAX_EXITS)
        start, n = place_of(request)
        actor, shard = await self._found(request.name)
        await actor.ask_for_model(shard.model.name)
        site, exits = shard.model, request.max_exits or _DEFAULT_EXITS

        def answer() -> pb.ListTemplatesResponse:
            count = len(site.templates.clusters) if site.templates else 0
            found = inspection.templates(site, start, n, exits)
            return pb.ListTemplatesResponse(
                templates=[_template_message(template, site) for template in found],
                next_page_token=str(start + n) if start + n < count else "",
                template_count=count,
                stage=cast("Any", site.stage),
                learning=site.learning_since > 0,
                sample_count=len(site.sample),
                next_learning_at=site.schedule.next_at,
                model_revision=site.revision,
                reward_source=results.reward_source(site),
            )

        return await actor.ask(answer)

    async def ListTemplatePages(
        self, request: pb.ListTemplatePagesRequest, context: Any
    ) -> pb.ListTemplatePagesResponse:
        """List pages of a template, latest first."""
        start, n = place_of(request)
        cluster = _parse_template(request.template)
        actor, shard = await self._found(request.name)
        await actor.ask_for_model(shard.model.name)
        pages, more = await actor.ask(lambda: inspection.template_pages(shard.model, cluster, start, n))
        return pb.ListTemplatePagesResponse(
            pages=map(_page_message, pages), next_page_token=str(start + n) if more else ""
        )

    async def ListBuckets(self, request: pb.ListBucketsRequest, context: Any) -> pb.ListBucketsResponse:
        """List groups of waiting links, best first."""
        start, n = place_of(request)
        choice = choice_of(request.policy)
        actor, shard = await self._found(request.name)
        policy = shard.policy(choice)
        found = await actor.ask(lambda: inspection.buckets(shard, policy, start, n))
        return pb.ListBucketsResponse(
            buckets=map(_bucket_message, found.buckets),
            next_page_token=str(start + n) if start + n < found.valued else "",
            bucket_count=found.groups,
            waiting_links=found.links,
            policy=policy.name,
            reward_source=results.reward_source(shard.model),
            event_seq=actor.model.seq,
        )

    async def GetHarvest(self, request: pb.GetHarvestRequest, context: Any) -> pb.GetHarvestResponse:
        """Say what fetches brought over time."""
        check_most("max_templates", request.max_templates, _MAX_SERIES)
        actor, shard = await self._found(request.name)
        site, n = shard.model, request.max_templates or _DEFAULT_SERIES

        def answer() -> pb.GetHarvestResponse:
            judged = zip(shard.policy_qualities(), inspection.lookback(shard), strict=False)
            return pb.GetHarvestResponse(
                points=_points(inspection.harvest(site)),
                templates=[
                    pb.TemplateHarvest(template=cluster_name(cluster), points=_points(series))
                    for cluster, series in inspection.harvest_by_template(site, n).items()
                ],
                policies=[_lookback_message(policy, *figures) for policy, figures in judged],
                reward_source=results.reward_source(site),
            )

        return await actor.ask(answer)

    async def _found(self, name: str) -> tuple[CrawlActor, SiteShard]:
        crawl, site = parse_site(name)
        actor = await self._registry.open(crawl)
        return actor, await actor.site(site)


def _parse_template(name: str) -> int:
    """Return the id of a template by its name."""
    if not name:
        raise InvalidInput("is required", field="template", reason="REQUIRED")
    digits = name.removeprefix("c")
    if name == "outlier":
        return -1
    if name[0] != "c" or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InvalidInput(f"must be `c<number>` or `outlier`, got {name[:100]!r}", field="template")
    return int(digits)


def _template_message(found: TemplateRecord, site: SiteModel) -> pb.Template:
    exits = []
    for row, page_links in found.rows:
        destination, share = max(
            row.destinations.items(), key=lambda pair: pair[1], default=(UNKNOWN_CLUSTER, 0)
        )
        exits.append(
            pb.TemplateExit(
                tag_path=site.link_paths.get(row.link_path).raw,
                link_count=row.links,
                followed_count=round(row.followed),
                destination=cluster_name(destination),
                destination_prob=share,
                page_links=page_links,
            )
        )
    return same_fields(pb.Template, found, name=cluster_name(found.id), exits=exits)


def _page_message(page: SampledUrl) -> pb.TemplatePage:
    in_links = [pb.InLink(source=cluster_name(source), tag_path=path) for source, path in page.in_links]
    return same_fields(pb.TemplatePage, page, in_links=in_links)


def _bucket_message(found: BucketRecord) -> pb.BucketStats:
    why = {"summary": found.why.summary, "terms": results.score_terms(found.why)}
    return same_fields(pb.BucketStats, found.group, name=found.bucket, value=found.value, **why)


def _points(found: Sequence[HarvestPoint]) -> list[pb.HarvestPoint]:
    return [
        pb.HarvestPoint(
            first_fetch=point.at,
            fetch_count=round(point.tally.fetched),
            text_reward=point.tally.worth(by_reward=False),
            reported_count=round(point.tally.reported),
            reward=point.tally.worth(by_reward=True),
            copy_count=round(point.tally.copies),
        )
        for point in found
    ]


def _lookback_message(policy: PolicyQuality, judged: int, means: Sequence[float]) -> pb.PolicyLookback:
    """Return what a policy would have made of the latest fetched links."""
    return pb.PolicyLookback(
        policy=policy.policy,
        role=cast("Any", policy.role),
        judged_count=judged,
        mean_rewards=means,
    )
