"""What was learned of sites as messages of SiteModelService: models, advice, seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.reports.advice import GroupHistory, NamedTrap, SiteAdvice
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.types import SeedWanted
from linkscore_scoring.urls.identity import validate_url
from linkscore_server.grpc.convert import results
from linkscore_server.grpc.convert.names import site_name, site_of

MAX_SEEDS = 1_000
"""Most pages that SuggestSeeds names, as the contract says."""
_DEFAULT_SEEDS = 16
"""Pages that SuggestSeeds names if the request says no number, as the contract says."""


def site_message(crawl: str, shard: SiteShard) -> pb.Site:
    """Return a site."""
    site = shard.model
    return pb.Site(
        name=site_name(crawl, site.name),
        host=site.name,
        stage=results.wire_stage(site.stage),
        page_count=site.pages,
        failed_count=site.failed,
        sample_count=len(site.sample),
        next_learning_at=site.schedule.next_at,
        learning=site.learning_since > 0,
        model_revision=site.revision,
        cluster_count=len(site.templates.clusters) if site.templates else 0,
        tag_path_count=len(site.link_paths),
        link_count=len(site.memory),
        text_chars=site.texts.distinct_chars,
        duplicate_share=site.duplicates / site.pages if site.pages else 0.0,
        cluster_pages={
            results.cluster_name(c): n for c, n in site.crawled.items() if results.cluster_name(c)
        },
        policy_state=shard.served.describe(site),
        session_names=site.sessions.names(),
        policy_qualities=[results.policy_quality(known) for known in shard.policy_qualities()],
    )


def seeds_wanted(request: pb.SuggestSeedsRequest) -> int:
    """Return how many pages are wanted.

    Raises
    ------
    InvalidInput
        If they are too many.
    """
    if request.max_results > MAX_SEEDS:
        raise InvalidInput(f"must be at most {MAX_SEEDS}, got {request.max_results}", field="max_results")
    return request.max_results or _DEFAULT_SEEDS


def seed_query(
    request: pb.SuggestSeedsRequest, crawl: str, site_of_url: Callable[[str], str]
) -> tuple[str, int]:
    """Return the site that is asked about, by name or by a URL of it, and how many pages are wanted.

    Raises
    ------
    InvalidInput
        If the site is missing, too long, of another crawl or no URL, or too many pages are asked for.
    """
    n = seeds_wanted(request)
    if "://" not in request.site:
        return site_of(request.site, crawl, "site"), n
    validate_url(request.site, "site", error=InvalidInput)
    return site_of_url(request.site), n


def suggested_seeds(
    crawl: str, site: str, found: Sequence[SeedWanted], *, policy: str, state: str, event_seq: int
) -> pb.SuggestSeedsResponse:
    """Return the answer, best page first."""
    return pb.SuggestSeedsResponse(
        seeds=[pb.Seed(url=seed.url, reason=seed.reason, value=seed.value) for seed in found],
        site=site_name(crawl, site),
        policy=policy,
        policy_state=state,
        event_seq=event_seq,
    )


def advice_message(advice: SiteAdvice) -> pb.SiteAdvice:
    """Return the advice about a site."""
    return pb.SiteAdvice(
        reward_source=pb.REWARD_SOURCE_FEEDBACK if advice.by_reward else pb.REWARD_SOURCE_NOVELTY,
        horizon=advice.horizon,
        waiting_links=advice.waiting,
        expected_fetches=advice.expected_fetches,
        expected_reward=advice.expected_reward,
        policy_estimate=advice.by_policy,
        needs_examples=advice.needs_examples,
        recent_fetches=advice.recent_fetches,
        recent_reward=advice.recent_reward,
        yields=map(_group, advice.groups),
        traps=map(_trap, advice.traps),
    )


def _group(group: GroupHistory) -> pb.GroupYield:
    return pb.GroupYield(
        url_pattern=group.url_pattern,
        tag_path=group.tag_path,
        fetched_count=group.fetched,
        reported_count=group.reported,
        waiting_count=group.waiting,
        early_reward=group.early,
        late_reward=group.late,
    )


def _trap(trap: NamedTrap) -> pb.TrapSuspicion:
    found = trap.found
    return pb.TrapSuspicion(
        kind=cast("pb.TrapKind", found.kind),
        url_pattern=trap.url_pattern,
        tag_path=trap.tag_path,
        fetched_count=found.fetched,
        waiting_count=found.waiting,
        early_yield=found.early_use,
        late_yield=found.late_use,
        copy_share=found.copy_share,
        growth=found.growth,
        evidence=found.evidence(),
        example_urls=found.examples,
    )
