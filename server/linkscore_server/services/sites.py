"""SiteModelService."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2_grpc as pb_grpc
from linkscore_scoring.engine.advice import DEFAULT_HORIZON
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidInput, NotLearned
from linkscore_scoring.site.hits import hits
from linkscore_scoring.site.model import SiteModel
from linkscore_server.actor import CrawlActor
from linkscore_server.convert import results
from linkscore_server.convert.advice import advice_message
from linkscore_server.convert.names import parse_crawl, parse_site, site_name
from linkscore_server.registry import CrawlRegistry
from linkscore_server.services.paging import page_of

_DEFAULT_PLAN = 16
_MAX_PLAN = 1_000
_MAX_HORIZON = 10_000


class SiteModelService(pb_grpc.SiteModelServiceServicer):
    """What was learned about sites."""

    def __init__(self, registry: CrawlRegistry) -> None:
        self._registry = registry

    async def ListSites(self, request: pb.ListSitesRequest, context: Any) -> pb.ListSitesResponse:
        """List the sites of a crawl by name."""
        actor = self._registry.get(parse_crawl(request.crawl))
        names, token = page_of(sorted(actor.model.sites), request.page_size, request.page_token)
        sites = [_site(actor, actor.model.shard(name)) for name in names]
        return pb.ListSitesResponse(sites=sites, next_page_token=token)

    async def GetSite(self, request: pb.GetSiteRequest, context: Any) -> pb.GetSiteResponse:
        """Read one site, and say what to make of it."""
        if request.horizon > _MAX_HORIZON:
            raise InvalidInput(f"must be at most {_MAX_HORIZON}, got {request.horizon}", field="horizon")
        actor, site = self._found(request.name)
        advice = actor.model.advice(site.name, request.horizon or DEFAULT_HORIZON)
        return pb.GetSiteResponse(
            site=_site(actor, actor.model.shard(site.name)), advice=advice_message(advice)
        )

    async def GetSitemap(self, request: pb.GetSitemapRequest, context: Any) -> pb.GetSitemapResponse:
        """Return clusters and the links between them."""
        _, site = self._found(request.name)
        clusters = site.templates.ids() if site.templates else []
        A = site.navigation.adjacency(clusters)
        return pb.GetSitemapResponse(
            clusters=_clusters(site, A),
            edges=_edges(clusters, A),
            stage=results.wire_stage(site.stage),
            model_revision=site.revision,
        )

    async def ListNavigationEntries(
        self, request: pb.ListNavigationEntriesRequest, context: Any
    ) -> pb.ListNavigationEntriesResponse:
        """Say where links of each cluster and tag path lead."""
        _, site = self._found(request.name)
        entries = {_row_name(e): e for e in _navigation(site)}
        names, token = page_of(sorted(entries), request.page_size, request.page_token)
        return pb.ListNavigationEntriesResponse(
            entries=[entries[name] for name in names], next_page_token=token
        )

    async def LearnSite(self, request: pb.LearnSiteRequest, context: Any) -> pb.LearnSiteResponse:
        """Learn a site now."""
        actor, site = self._found(request.name)
        if not site.sample:
            raise NotLearned(f"site {site.name!r}: no page to learn from yet")
        await actor.learn(site.name)
        return pb.LearnSiteResponse(site=_site(actor, actor.model.shard(site.name)))

    async def GetSamplePlan(self, request: pb.GetSamplePlanRequest, context: Any) -> pb.GetSamplePlanResponse:
        """Return the pages that would teach most about a site."""
        if request.max_results > _MAX_PLAN:
            raise InvalidInput(f"must be at most {_MAX_PLAN}, got {request.max_results}", field="max_results")
        actor, site = self._found(request.name)
        plan = actor.model.sample_plan(site.name, request.max_results or _DEFAULT_PLAN)
        return pb.GetSamplePlanResponse(suggestions=[results.suggestion(s) for s in plan])

    def _found(self, name: str) -> tuple[CrawlActor, SiteModel]:
        crawl, site = parse_site(name)
        actor = self._registry.get(crawl)
        return actor, actor.model.shard(site).model


def _site(actor: CrawlActor, shard: SiteShard) -> pb.Site:
    site = shard.model
    return pb.Site(
        name=site_name(actor.model.config.name, site.name),
        host=site.name,
        stage=results.wire_stage(site.stage),
        page_count=site.pages,
        failed_count=site.failed,
        sample_count=len(site.sample),
        next_learning_at=site.schedule.next_at,
        learning=site.learning_since > 0,
        model_revision=site.revision,
        cluster_count=len(site.templates.clusters) if site.templates else 0,
        tag_path_count=len(site.apaths),
        link_count=len(site.memory),
        text_chars=site.texts.distinct_chars,
        duplicate_share=site.duplicates / site.pages if site.pages else 0.0,
        cluster_pages={
            results.cluster_name(c): n for c, n in site.crawled.items() if results.cluster_name(c)
        },
        policy_trust=[results.policy_trust(known) for known in shard.trusted()],
    )


def _clusters(site: SiteModel, A: np.ndarray[Any, Any]) -> list[pb.Cluster]:
    if site.templates is None:
        return []
    h, a = hits(A)
    found = [
        pb.Cluster(
            name=results.cluster_name(stats.id),
            sample_pages=stats.size,
            crawled_pages=site.crawled[stats.id],
            example_url=stats.example,
            tag_paths=stats.top_paths,
            hub=h[i],
            authority=a[i],
            dissimilarity=stats.dsim,
        )
        for i, stats in enumerate(site.templates.clusters)
    ]
    return sorted(found, key=lambda cluster: -cluster.sample_pages)


def _edges(clusters: list[int], A: np.ndarray[Any, Any]) -> list[pb.ClusterEdge]:
    found = [
        pb.ClusterEdge(
            source=results.cluster_name(clusters[i]),
            destination=results.cluster_name(clusters[j]),
            weight=A[i, j],
        )
        for i, j in zip(*np.nonzero(A), strict=True)
    ]
    return sorted(found, key=lambda edge: -edge.weight)


def _navigation(site: SiteModel) -> list[pb.NavigationEntry]:
    return [
        pb.NavigationEntry(
            source=results.cluster_name(row.source),
            tag_path=site.apaths.get(row.apath).raw,
            link_count=row.links,
            followed_count=round(row.followed),
            destination_probs={results.cluster_name(c): p for c, p in row.destinations.items()},
        )
        for row in site.navigation.entries()
    ]


def _row_name(entry: pb.NavigationEntry) -> str:
    return f"{entry.source}\t{entry.tag_path}"
