"""SiteModelService: what was learned about sites, advice, seeds."""

from __future__ import annotations

from functools import partial
from typing import Any

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.reports.advice import DEFAULT_HORIZON
from linkscore_scoring.errors import InvalidInput, NotLearned
from linkscore_scoring.site.model import SiteModel
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.convert import results, sites
from linkscore_server.grpc.convert.limits import add_decision, copy_hypotheses
from linkscore_server.grpc.convert.names import page_of, parse_crawl, parse_site
from linkscore_server.grpc.convert.policies import choice_of

_MAX_SUGGESTIONS = 1_000
"""Most pages that GetSite suggests, as the contract says."""
_MAX_HORIZON = 10_000
"""Most fetches that advice may look ahead, as the contract says."""


class SiteModelService:
    """What was learned about sites; calls that are not here are for annexes, see `services.Services`."""

    def __init__(self, registry: CrawlRegistry) -> None:
        self._registry = registry

    async def ListSites(self, request: pb.ListSitesRequest, context: Any) -> pb.ListSitesResponse:
        """List the sites of a crawl by name."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        names, token = page_of(sorted(actor.model.sites), request.page_size, request.page_token)
        found = await actor.ask(lambda: [self._site(actor, name) for name in names])
        return pb.ListSitesResponse(sites=found, next_page_token=token)

    async def GetSite(self, request: pb.GetSiteRequest, context: Any) -> pb.GetSiteResponse:
        """Read one site, and say what to make of it."""
        if request.horizon > _MAX_HORIZON:
            raise InvalidInput(f"must be at most {_MAX_HORIZON}, got {request.horizon}", field="horizon")
        if request.max_suggestions > _MAX_SUGGESTIONS:
            rule = f"must be at most {_MAX_SUGGESTIONS}, got {request.max_suggestions}"
            raise InvalidInput(rule, field="max_suggestions")
        crawl, name = parse_site(request.name)
        actor = await self._registry.open(crawl)

        def answer() -> pb.GetSiteResponse:
            advice = actor.queries.advice(name, request.horizon or DEFAULT_HORIZON)
            message = sites.advice_message(advice)
            if (standing := actor.queries.standing(name)) is not None:
                add_decision(message, standing)
            message.copies.extend(copy_hypotheses(actor.queries.copies(name)))
            plan = actor.queries.fetch_plan(name, n) if (n := request.max_suggestions) else []
            return pb.GetSiteResponse(
                site=self._site(actor, name), advice=message, suggestions=map(results.suggestion, plan)
            )

        return await actor.answer(answer)

    async def LearnSite(self, request: pb.LearnSiteRequest, context: Any) -> pb.LearnSiteResponse:
        """Learn a site now."""
        actor, site = await self.found(request.name)
        if not site.sample:
            raise NotLearned(f"site {site.name!r}: no page to learn from yet")
        self._registry.space.check()
        await actor.learn(site.name)
        return pb.LearnSiteResponse(site=await actor.answer(partial(self._site, actor, site.name)))

    async def SuggestSeeds(self, request: pb.SuggestSeedsRequest, context: Any) -> pb.SuggestSeedsResponse:
        """Return the pages to start a crawl of a site from."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        model, choice = actor.model, choice_of(request.policy)
        site, n = sites.seed_query(request, model.config.name, model.site_of)
        return sites.suggested_seeds(
            model.config.name,
            site,
            await actor.answer(partial(actor.queries.seeds, site, n, choice)),
            policy=(choice or model.config.policy).name,
            state=await actor.answer(partial(actor.queries.policy_state, site, choice)),
            event_seq=model.seq,
        )

    async def ExportExperience(
        self, request: pb.ExportExperienceRequest, context: Any
    ) -> pb.ExportExperienceResponse:
        """Return what was learned on a site that helps on others."""
        actor, site = await self.found(request.name)
        question = partial(actor.queries.experience, site.name, choice_of(request.policy))
        learned = await actor.answer(question)
        return pb.ExportExperienceResponse(
            experience=learned.to_bytes(),
            group_count=len(learned.groups),
            page_count=site.history.fetches,
            event_seq=actor.model.seq,
        )

    async def found(self, name: str) -> tuple[CrawlActor, SiteModel]:
        """Return the crawl and the model of a site, by its name in the contract."""
        crawl, site = parse_site(name)
        actor = await self._registry.open(crawl)
        return actor, (await actor.site(site)).model

    @staticmethod
    def _site(actor: CrawlActor, name: str) -> pb.Site:
        return sites.site_message(actor.model.config.name, actor.model.shard(name))
