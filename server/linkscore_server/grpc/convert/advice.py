"""Advice of the engine as messages."""

from __future__ import annotations

from typing import cast

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.advice import GroupYield, SiteAdvice, TrapSuspicion


def advice_message(advice: SiteAdvice) -> pb.SiteAdvice:
    """Return the advice about a site."""
    return pb.SiteAdvice(
        reward_source=pb.REWARD_SOURCE_FEEDBACK if advice.by_reward else pb.REWARD_SOURCE_NOVELTY,
        horizon=advice.horizon,
        waiting_links=advice.waiting,
        expected_fetches=advice.expected_fetches,
        expected_reward=advice.expected_reward,
        policy_estimate=advice.by_policy,
        recent_fetches=advice.recent_fetches,
        recent_reward=advice.recent_reward,
        yields=map(_group, advice.yields),
        traps=map(_trap, advice.traps),
    )


def _group(group: GroupYield) -> pb.GroupYield:
    return pb.GroupYield(
        url_pattern=group.url_pattern,
        tag_path=group.tag_path,
        fetched_count=group.fetched,
        reported_count=group.reported,
        waiting_count=group.waiting,
        early_reward=group.early,
        late_reward=group.late,
    )


def _trap(trap: TrapSuspicion) -> pb.TrapSuspicion:
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
