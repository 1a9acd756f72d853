"""SiteModelService and InspectionService: what was learned about sites, for crawlers and for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, cast

import numpy as np

from linkscore.v1 import inspection_service_pb2 as look
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.reports import advise
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidInput, NoRules
from linkscore_scoring.exporters import FORMATS, RuleFile, SiteRules, site_rules
from linkscore_scoring.pagination.page_links import paged
from linkscore_scoring.site.crawl_history import Tally
from linkscore_scoring.site.memory import NOT_FETCHED
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.navigation import NavigationEntry
from linkscore_scoring.types import UNKNOWN_CLUSTER, SeedWanted, cluster_name
from linkscore_scoring.urls.identity import validate_url
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.services import messages
from linkscore_server.services.messages import (
    check_count,
    check_most,
    enum_names,
    page_of,
    parse_crawl,
    parse_site,
    same_fields,
    site_name,
    site_of,
)

# Bounds of requests, as the contract says.
_MAX_SKIPPED = 1_000
_MAX_SEEDS, _DEFAULT_SEEDS = 1_000, 16
_MAX_WANTED = 16  # formats: more than there are

_EXITS = 10  # of a template
_MAX_TEMPLATE_PAGES, _DEFAULT_TEMPLATE_PAGES = 1_000, 100
_PAGE_LINKS, _LOOKED_AT = 2, 300
"""Links of a link path from which it turns pages, for one may be an accident, and pages looked at. Chosen."""

_FORMATS = enum_names(pb.RuleFormat, "RULE_FORMAT_")
_EXPERIENCE = "experience"  # a format that says nothing of rules
SeedsOfLogs = Callable[[pb.SuggestSeedsRequest], Awaitable[pb.SuggestSeedsResponse | None]]


async def _found(registry: CrawlRegistry, name: str) -> tuple[CrawlActor, SiteShard]:
    """Return the crawl and a site, by its name in the contract."""
    crawl, site = parse_site(name)
    actor = await registry.open(crawl)
    return actor, await actor.site(site)


class SiteModelService:
    """Both services. `seeds_of_logs` may answer SuggestSeeds about a crawl as a whole."""

    def __init__(self, registry: CrawlRegistry, seeds_of_logs: SeedsOfLogs | None = None) -> None:
        self._registry = registry
        self._seeds_of_logs = seeds_of_logs

    async def ListSites(self, request: pb.ListSitesRequest, context: Any) -> pb.ListSitesResponse:
        """List the sites of a crawl by name."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        names, token = page_of(sorted(actor.model.sites), request.page_size, request.page_token)
        found = await actor.ask_each(names, partial(_site, actor))
        return pb.ListSitesResponse(sites=found, next_page_token=token)

    async def GetSite(self, request: pb.GetSiteRequest, context: Any) -> pb.GetSiteResponse:
        """Read one site, and say what to make of it."""
        check_most("max_skipped", request.max_skipped, _MAX_SKIPPED)
        crawl, name = parse_site(request.name)
        actor = await self._registry.open(crawl)

        def answer() -> pb.GetSiteResponse:
            shard = actor.model.shard(name)
            advice = _advice(actor.model, shard)
            skipped = shard.skipped
            latest = islice(reversed(skipped.latest.items()), request.max_skipped)
            return pb.GetSiteResponse(
                site=_site(actor, name),
                advice=advice,
                skipped_links=[
                    pb.SkippedLink(url=url, reason=cast("Any", reason), page_url=page)
                    for url, (reason, page) in latest
                ],
                skipped_counts={
                    messages.skip_reason_name(reason) if reason else "policy": count
                    for reason, count in skipped.counts.items()
                },
            )

        return await actor.answer(answer)

    async def LearnSite(self, request: pb.LearnSiteRequest, context: Any) -> pb.LearnSiteResponse:
        """Learn a site now."""
        actor, shard = await _found(self._registry, request.name)
        self._registry.space.check()
        await actor.learn(shard.model.name)
        return pb.LearnSiteResponse(site=await actor.answer(partial(_site, actor, shard.model.name)))

    async def SuggestSeeds(self, request: pb.SuggestSeedsRequest, context: Any) -> pb.SuggestSeedsResponse:
        """Return the pages to start a crawl of a site from."""
        if not request.site:
            if self._seeds_of_logs is not None and (of_all := await self._seeds_of_logs(request)) is not None:
                return of_all
            rule = "is required: only news_prefix finds seeds on all sites, and by an imported browse log"
            raise InvalidInput(rule, field="site", reason="REQUIRED")
        actor = await self._registry.open(parse_crawl(request.crawl))
        model = actor.model
        site, n = seed_query(request, model.config.name, model.site_of)

        def answer() -> tuple[list[SeedWanted], str]:
            shard = model.shard(site)
            return shard.served.suggest_seeds(n, shard.model), shard.served.describe(shard.model)

        found, said = await actor.answer(answer)
        return pb.SuggestSeedsResponse(
            seeds=[pb.Seed(url=seed.url, reason=seed.reason, value=seed.value) for seed in found],
            site=site_name(model.config.name, site),
            policy=model.config.policy.name,
            policy_state=said,
            event_seq=model.seq,
        )

    async def ExportRules(self, request: pb.ExportRulesRequest, context: Any) -> pb.ExportRulesResponse:
        """Return what was learned about a site as files, for crawlers and for crawls of other sites."""
        wanted = _wanted_formats(request)
        actor, shard = await _found(self._registry, request.name)
        site = site_rules(actor.model, shard.model.name)
        return pb.ExportRulesResponse(
            files=[_file(name, site, shard) for name in wanted] or _all_that_can(site, shard),
            policy=site.policy,
            policy_state=site.state,
            event_seq=site.event_seq,
        )

    # -- what people look at: big questions run beside the event loop, see `CrawlActor.ask` -----------------

    async def ListTemplates(
        self, request: look.ListTemplatesRequest, context: Any
    ) -> look.ListTemplatesResponse:
        """List templates with their exits, most crawled first."""
        actor, shard = await _found(self._registry, request.name)
        site = shard.model

        def answer() -> look.ListTemplatesResponse:
            return look.ListTemplatesResponse(
                templates=templates_of(site, _EXITS),
                stage=cast("Any", site.stage),
                learning=site.learning_since > 0,
                sample_count=len(site.sample),
                next_learning_at=site.schedule.next_at,
                reward_source=messages.reward_source(site),
            )

        return await actor.ask(answer)

    async def ListTemplatePages(
        self, request: look.ListTemplatePagesRequest, context: Any
    ) -> look.ListTemplatePagesResponse:
        """List pages of a template, latest first."""
        check_most("max_results", request.max_results, _MAX_TEMPLATE_PAGES)
        cluster = _parse_template(request.template)
        actor, shard = await _found(self._registry, request.name)
        n = request.max_results or _DEFAULT_TEMPLATE_PAGES
        return await actor.ask(lambda: _template_pages(shard.model, cluster, n))

    async def GetHarvest(self, request: look.GetHarvestRequest, context: Any) -> look.GetHarvestResponse:
        """Say what fetches brought over time."""
        actor, shard = await _found(self._registry, request.name)
        site = shard.model

        def answer() -> look.GetHarvestResponse:
            return look.GetHarvestResponse(
                points=[_point(round(at), Tally(*tally)) for at, *tally in site.history.site().bins],
                reward_source=messages.reward_source(site),
            )

        return await actor.ask(answer)


def _site(actor: CrawlActor, name: str) -> pb.Site:
    shard = actor.model.shard(name)
    site = shard.model
    return pb.Site(
        name=site_name(actor.model.config.name, site.name),
        host=site.name,
        stage=cast("Any", site.stage),
        page_count=site.pages,
        failed_count=site.failed,
        sample_count=len(site.sample),
        next_learning_at=site.schedule.next_at,
        learning=site.learning_since > 0,
        model_revision=site.revision,
        cluster_count=len(site.templates.clusters) if site.templates else 0,
        link_count=len(site.memory),
        duplicate_share=site.duplicates / site.pages if site.pages else 0.0,
        policy_state=shard.served.describe(site),
        session_names=site.sessions.names(),
    )


def seeds_wanted(request: pb.SuggestSeedsRequest) -> int:
    """Return how many pages are wanted."""
    check_most("max_results", request.max_results, _MAX_SEEDS)
    return request.max_results or _DEFAULT_SEEDS


def seed_query(
    request: pb.SuggestSeedsRequest, crawl: str, site_of_url: Callable[[str], str]
) -> tuple[str, int]:
    """Return the site that is asked about, by name or by a URL of it, and how many pages are wanted."""
    n = seeds_wanted(request)
    if "://" not in request.site:
        return site_of(request.site, crawl, "site"), n
    validate_url(request.site, "site", error=InvalidInput)
    return site_of_url(request.site), n


def _advice(model: CrawlModel, shard: SiteShard) -> pb.SiteAdvice:
    """Return what to make of a site, and whether it goes on."""
    found = advise(shard)
    standing = model.standing(shard) if model.budget is not None else None
    stop = (standing.site or standing.crawl) if standing else None
    coverage = standing.coverage if standing else None
    return same_fields(
        pb.SiteAdvice,
        found,
        reward_source=messages.reward_source(shard.model),
        warnings=[warning.text for warning in found.warnings],
        yields=[same_fields(pb.GroupYield, group) for group in found.yields],
        traps=[same_fields(pb.TrapSuspicion, trap) for trap in found.traps],
        decision=messages.decision_of(stop) if standing else None,
        decision_reason=stop.reason if stop else "",
        coverage=same_fields(pb.Coverage, coverage) if coverage else None,
    )


def _wanted_formats(request: pb.ExportRulesRequest) -> list[str]:
    """Return the names of the formats wanted; empty means all for crawlers that can say something."""
    check_count("formats", len(request.formats), _MAX_WANTED)
    for row, number in enumerate(request.formats):
        if number not in _FORMATS:
            raise InvalidInput(f"is not a known value, got {number}", field=f"formats[{row}]")
        if number in request.formats[:row]:
            raise InvalidInput("must be there once", field=f"formats[{row}]")
    return [_FORMATS[number] for number in request.formats]


def _all_that_can(site: SiteRules, shard: SiteShard) -> Iterator[pb.RuleFile]:
    """Yield what each format says, in the order of the contract; the first, JSON, can say all there is."""
    for name in FORMATS:
        try:
            yield _file(name, site, shard)
        except NoRules:
            if name == "json":
                raise


def _file(name: str, site: SiteRules, shard: SiteShard) -> pb.RuleFile:
    if name == _EXPERIENCE:
        learned = shard.experience()
        told = f"{len(learned.groups):,} groups of links, {shard.model.history.fetches:,} pages"
        file = RuleFile("experience.json", learned.to_bytes().decode(), (told,))
    else:
        file = FORMATS[name](site)
    return pb.RuleFile(
        format=f"RULE_FORMAT_{name.upper()}",
        name=file.name,
        content=file.text.encode(),
        notes=file.notes,
    )


def _parse_template(name: str) -> int:
    if not name:
        raise InvalidInput("is required", field="template", reason="REQUIRED")
    digits = name.removeprefix("c")
    if name == "outlier":
        return -1
    if name[0] != "c" or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InvalidInput(f"must be `c<number>` or `outlier`, got {name[:100]!r}", field="template")
    return int(digits)


def templates_of(site: SiteModel, max_exits: int) -> Iterator[look.Template]:
    """Yield templates, most crawled first; cost O(fetches)."""
    if site.templates is None:
        return
    chosen = sorted(site.templates.clusters, key=lambda stats: (-site.crawled[stats.id], stats.id))
    rewards, depths = defaultdict[int, list[float]](list), dict[int, int]()
    for key, _, reward in site.history.judged():
        rewards[site.cluster_of(key)].append(reward)
    for page in site.sample:
        cluster, depth = site.memory.cluster(page.hash), site.memory.depth(page.hash)
        if cluster != NOT_FETCHED and depth is not None:
            depths[cluster] = min(depth, depths.get(cluster, depth))
    exits, turning = site.navigation.strongest({stats.id for stats in chosen}, max_exits), _turning(site)
    for stats in chosen:
        judged = rewards[stats.id]
        yield look.Template(
            name=cluster_name(stats.id),
            sample_pages=stats.size,
            crawled_pages=site.crawled[stats.id],
            example_url=stats.example,
            tag_paths=stats.top_paths,
            min_depth=depths.get(stats.id, 0),
            judged_count=len(judged),
            reward=float(np.mean(judged)) if judged else 0.0,
            exits=[_exit(site, row, turning) for row in exits.get(stats.id, [])],
        )


def _turning(site: SiteModel) -> Counter[int]:
    """Count links between sampled pages that turn the pages of a list, by link path."""
    urls = {page.hash: paged(page.key) for page in site.sample}
    looked_at = islice(reversed(site.sample), _LOOKED_AT)
    links = ((urls[page.hash], *link) for page in looked_at for link in page.links)
    return Counter(path for own, path, target in links if target in urls and own.turns_to(urls[target]))


def _exit(site: SiteModel, row: NavigationEntry, turning: Counter[int]) -> look.TemplateExit:
    """Return the links of a template at one place; they turn pages if they lead back to it and look so."""
    shares, path = row.destinations, site.link_paths.get(row.link_path)
    destination, share = max(shares.items(), key=lambda pair: pair[1], default=(UNKNOWN_CLUSTER, 0.0))
    stays = shares.get(row.source, 0.0) >= (share if shares else 1.0)
    return look.TemplateExit(
        tag_path=path.raw,
        link_count=row.links,
        followed_count=round(row.followed),
        destination=cluster_name(destination),
        destination_prob=share,
        page_links=stays and turning[row.link_path] >= _PAGE_LINKS,
    )


def _template_pages(site: SiteModel, cluster: int, n: int) -> look.ListTemplatePagesResponse:
    """Return sampled pages of a template, latest first; cost O(sample + fetches remembered)."""
    of_cluster = [page for page in reversed(site.sample) if site.memory.cluster(page.hash) == cluster]
    rewards = {key: reward for key, _, reward in site.history.judged()}
    pages = [
        look.TemplatePage(
            url=page.key,
            depth=site.memory.depth(page.hash) or 0,
            reward=rewards.get(page.hash),
            in_links=[
                look.InLink(
                    source=cluster_name(site.cluster_of(source)), tag_path=site.link_paths.get(link_path).raw
                )
                for source, link_path in site.memory.contexts(page.hash)
            ],
        )
        for page in of_cluster[:n]
    ]
    return look.ListTemplatePagesResponse(pages=pages)


def _point(first_fetch: int, tally: Tally) -> look.HarvestPoint:
    return look.HarvestPoint(
        first_fetch=first_fetch,
        fetch_count=round(tally.fetched),
        text_reward=tally.worth(by_reward=False),
        reported_count=round(tally.reported),
        reward=tally.worth(by_reward=True),
        copy_count=round(tally.copies),
    )
