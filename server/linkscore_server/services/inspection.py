"""InspectionService: templates, groups of links and rewards of a site, for people who watch a crawl."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np

from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_scoring.engine.reports import group_history
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.crawl_history import MAX_BINS, History, Tally
from linkscore_scoring.site.memory import NOT_FETCHED
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.navigation import NavigationEntry
from linkscore_scoring.types import UNKNOWN_CLUSTER, LinkBatch, cluster_name
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
MAX_VALUED = 2_000
"""A bound: groups of waiting links that are valued at once, 20 us each."""
_PAGE_LINKS = 2
"""Page links at a place from which it turns pages: one may be an accident. Chosen, not measured."""


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
            return pb.ListTemplatesResponse(
                templates=templates_of(site, start, n, exits),
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
        return await actor.ask(lambda: _template_pages(shard.model, cluster, start, n))

    async def ListBuckets(self, request: pb.ListBucketsRequest, context: Any) -> pb.ListBucketsResponse:
        """List groups of waiting links, best first."""
        start, n = place_of(request)
        choice = choice_of(request.policy)
        actor, shard = await self._found(request.name)
        found = await actor.ask(lambda: buckets_of(shard.model, shard.policy(choice), start, n))
        found.event_seq = actor.model.seq
        return found

    async def GetHarvest(self, request: pb.GetHarvestRequest, context: Any) -> pb.GetHarvestResponse:
        """Say what fetches brought over time."""
        check_most("max_templates", request.max_templates, _MAX_SERIES)
        actor, shard = await self._found(request.name)
        site, n = shard.model, request.max_templates or _DEFAULT_SERIES

        def answer() -> pb.GetHarvestResponse:
            judged = zip(shard.policy_qualities(), shard.validation.lookback(), strict=False)
            return pb.GetHarvestResponse(
                points=[_point(round(at), Tally(*tally)) for at, *tally in site.history.site().bins],
                templates=_harvest_by_template(site, n),
                policies=[
                    pb.PolicyLookback(
                        policy=known.policy,
                        role=cast("Any", known.role),
                        judged_count=links,
                        mean_rewards=means,
                    )
                    for known, (links, means) in judged
                ],
                reward_source=results.reward_source(site),
            )

        return await actor.ask(answer)

    async def _found(self, name: str) -> tuple[CrawlActor, SiteShard]:
        crawl, site = parse_site(name)
        actor = await self._registry.open(crawl)
        return actor, await actor.site(site)


def _parse_template(name: str) -> int:
    if not name:
        raise InvalidInput("is required", field="template", reason="REQUIRED")
    digits = name.removeprefix("c")
    if name == "outlier":
        return -1
    if name[0] != "c" or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InvalidInput(f"must be `c<number>` or `outlier`, got {name[:100]!r}", field="template")
    return int(digits)


def templates_of(site: SiteModel, start: int, n: int, max_exits: int) -> Iterator[pb.Template]:
    """Yield templates, most crawled first; dissimilarity: Xu 2018, eq. 10; cost O(fetches)."""
    if site.templates is None:
        return
    ordered = sorted(site.templates.clusters, key=lambda stats: (-site.crawled[stats.id], stats.id))
    chosen = ordered[start : start + n]
    rewards, depths = defaultdict[int, list[float]](list), dict[int, int]()
    for key, _, reward in site.history.judged():
        rewards[site.cluster_of(key)].append(reward)
    for page in site.sample:
        cluster, depth = site.memory.cluster(page.hash), site.memory.depth(page.hash)
        if cluster != NOT_FETCHED and depth is not None:
            depths[cluster] = min(depth, depths.get(cluster, depth))
    exits = site.navigation.strongest({stats.id for stats in chosen}, max_exits)
    for stats in chosen:
        judged = rewards[stats.id]
        yield pb.Template(
            name=cluster_name(stats.id),
            sample_pages=stats.size,
            crawled_pages=site.crawled[stats.id],
            example_url=stats.example,
            tag_paths=stats.top_paths,
            dissimilarity=stats.dsim,
            min_depth=depths.get(stats.id, 0),
            judged_count=len(judged),
            reward=float(np.mean(judged)) if judged else 0.0,
            exits=[_exit(site, row) for row in exits.get(stats.id, [])],
        )


def _exit(site: SiteModel, row: NavigationEntry) -> pb.TemplateExit:
    """Return the links of a template at one place; they turn pages if they lead back to it and look so."""
    shares, path = row.destinations, site.link_paths.get(row.link_path)
    destination, share = max(shares.items(), key=lambda pair: pair[1], default=(UNKNOWN_CLUSTER, 0.0))
    stays = shares.get(row.source, 0.0) >= (share if shares else 1.0)
    return pb.TemplateExit(
        tag_path=path.raw,
        link_count=row.links,
        followed_count=round(row.followed),
        destination=cluster_name(destination),
        destination_prob=share,
        page_links=stays and site.page_link_places.get(path.classless, 0) >= _PAGE_LINKS,
    )


def _template_pages(site: SiteModel, cluster: int, start: int, n: int) -> pb.ListTemplatePagesResponse:
    """Return sampled pages of a template, latest first; cost O(sample + fetches remembered)."""
    of_cluster = [page for page in reversed(site.sample) if site.memory.cluster(page.hash) == cluster]
    rewards = {key: reward for key, _, reward in site.history.judged()}
    pages = [
        pb.TemplatePage(
            url=page.key,
            depth=site.memory.depth(page.hash) or 0,
            reward=rewards.get(page.hash),
            in_links=[
                pb.InLink(
                    source=cluster_name(site.cluster_of(source)), tag_path=site.link_paths.get(link_path).raw
                )
                for source, link_path in site.memory.contexts(page.hash)
            ],
            title=site.titles.get(page.hash, ""),
        )
        for page in of_cluster[start : start + n]
    ]
    more = start + n < len(of_cluster)
    return pb.ListTemplatePagesResponse(pages=pages, next_page_token=str(start + n) if more else "")


def buckets_of(site: SiteModel, policy: Policy, start: int, n: int) -> pb.ListBucketsResponse:
    """Return groups of waiting links, best first; of too many those with the most links are valued.

    A group is valued by one link of it, of which only URL pattern and tag path are known. Cost O(links
    remembered).
    """
    waiting = site.waiting_links()
    groups = [group for group, _ in waiting.most_common(MAX_VALUED)]
    size = len(groups)
    patterns, link_paths = [pattern for pattern, _ in groups], [link_path for _, link_path in groups]
    urls, nothing = [f"http://{site.name}/"] * size, [0] * size
    batch = LinkBatch(urls, nothing, link_paths, [UNKNOWN_CLUSTER] * size, [1] * size, patterns, [""] * size)
    scored = policy.score(batch, site)
    order = np.argsort(-scored.scores, kind="stable")[start : start + n].tolist()
    reasons = policy.explain(batch.rows(order), site) if order else []
    histories, names = site.history.groups_now(site.patterns), site.link_paths.folded_names()
    found = []
    for row, why in zip(order, reasons, strict=True):
        group = groups[row]
        history = histories.get((site.patterns.resolve(group[0]), group[1])) or History()
        found.append(
            same_fields(
                pb.BucketStats,
                group_history(site, group, history, waiting[group], names),
                name=f"{site.name}/{scored.buckets[row]}",
                value=float(scored.scores[row]),
                summary=why.summary,
                terms=results.score_terms(why),
            )
        )
    return pb.ListBucketsResponse(
        buckets=found,
        next_page_token=str(start + n) if start + n < size else "",
        bucket_count=len(waiting),
        waiting_links=waiting.total(),
        policy=policy.name,
        reward_source=results.reward_source(site),
    )


def _harvest_by_template(site: SiteModel, n: int) -> Iterable[pb.TemplateHarvest]:
    """Return what the fetches of templates brought, those with most of them, as far as these are remembered.

    Stretches are the same for all templates: of equal length, those without a fetch left out.
    """
    judged = list(site.history.judged())
    if not judged:
        return []
    first, last = min(at for _, at, _ in judged), max(at for _, at, _ in judged)
    width = (last - first) // MAX_BINS + 1
    by_reward = site.history.by_reward
    found: defaultdict[int, dict[int, Tally]] = defaultdict(dict)
    sizes: Counter[int] = Counter()
    for key, at, reward in judged:
        cluster = site.cluster_of(key)
        tally = found[cluster].setdefault(first + (at - first) // width * width, Tally())
        tally.fetched += 1.0
        tally.reported += by_reward
        tally.reward += reward * by_reward
        tally.text += reward * (not by_reward)
        sizes[cluster] += 1
    return [
        pb.TemplateHarvest(
            template=cluster_name(cluster), points=[_point(*each) for each in sorted(found[cluster].items())]
        )
        for cluster, _ in sizes.most_common(n)
    ]


def _point(first_fetch: int, tally: Tally) -> pb.HarvestPoint:
    return pb.HarvestPoint(
        first_fetch=first_fetch,
        fetch_count=round(tally.fetched),
        text_reward=tally.worth(by_reward=False),
        reported_count=round(tally.reported),
        reward=tally.worth(by_reward=True),
        copy_count=round(tally.copies),
    )
