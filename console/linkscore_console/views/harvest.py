"""What the fetches brought over time, whether to go on, and what looks like a trap."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from linkscore.v1 import inspection_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2
from linkscore_console import words
from linkscore_console.page import Console, Found, view
from linkscore_console.views.sitemap import names_of

_SERIES = 8
"""Templates with a line of their own; more colours cannot be told apart."""
_NAMED = 60
"""Templates that get a name; the site map shows as many."""
_HORIZON = 100
"""Fetches looked ahead and back, the server's default."""
_WORTH = 0.5
"""Share of the recent reward below which what is left is said to be hardly worth fetching; chosen."""

_LITTLE = 5.0
"""Rewards expected of the best links below which stopping is advised, some wanted pages; chosen."""


@view("harvest.html")
async def harvest(console: Console, request: Request, crawl: str, site: str) -> Found:
    """Show rewards over time."""
    source = console.source
    found, advice, listed = await asyncio.gather(
        source.ask(source.client.get_harvest, crawl=crawl, site=site, max_templates=_SERIES),
        source.ask(source.client.get_site_advice, crawl=crawl, site=site, horizon=_HORIZON),
        source.ask(source.client.list_templates, crawl=crawl, site=site, page_size=_NAMED, max_exits=1),
    )
    by_reward = found.reward_source == site_model_service_pb2.REWARD_SOURCE_FEEDBACK
    return {
        "found": found,
        "by_reward": by_reward,
        "advice": advice,
        "verdict": verdict(advice),
        "curves": curves(found, names_of(listed.templates), by_reward=by_reward),
    }


def verdict(advice: site_model_service_pb2.SiteAdvice) -> tuple[str, str]:
    """Return whether to go on, as a word for the look of it and a sentence."""
    if not advice.waiting_links:
        return "stop", "No link waits: every link that was found is fetched."
    if not advice.recent_fetches:
        return "unknown", "No fetch has been judged yet."
    ahead = advice.expected_reward / max(1, advice.expected_fetches)
    compared = f"{words.score(ahead)} a fetch expected ahead, {words.score(advice.recent_reward)} lately"
    if advice.recent_reward and ahead < _WORTH * advice.recent_reward:
        left = (
            f"The best {advice.expected_fetches:,} links should bring {advice.expected_reward:.1f} together"
        )
        if advice.expected_reward < _LITTLE:
            return "fade", f"There is little left: {compared}. {left}. Think of stopping, or of another site."
        return "fade", f"It is getting worse: {compared}. {left}."
    if ahead < 0.05:
        return "fade", f"There is little left: {compared}."
    return "go", f"Worth going on: {compared}."


def curves(found: pb.GetHarvestResponse, names: Mapping[str, str], *, by_reward: bool) -> dict[str, Any]:
    """Return the series of the charts, as the script of the page draws them."""
    worth = "reward" if by_reward else "text_reward"
    ends = [point.first_fetch + point.fetch_count - 1 for point in found.points]
    weights = [point.reported_count if by_reward else point.fetch_count for point in found.points]
    values = [getattr(point, worth) for point in found.points]
    total, counted, means = 0.0, 0, []
    for value, weight in zip(values, weights, strict=True):
        total, counted = total + value * weight, counted + weight
        means.append(total / counted if counted else None)
    return {
        "harvest": {
            "x": ends,
            "series": [
                {"label": "these fetches", "values": _known(values, weights)},
                {"label": "all so far", "values": means},
            ],
        },
        "templates": _by_template(found, names, worth),
        "lookback": {
            "x": [10 * tenth for tenth in range(1, 11)],
            "series": [
                {"label": f"{one.policy} ({words.ROLES.get(one.role, '')})", "values": list(one.mean_rewards)}
                for one in found.policies
                if one.mean_rewards
            ],
        },
    }


def _known(values: list[float], weights: list[int]) -> list[float | None]:
    return [value if weight else None for value, weight in zip(values, weights, strict=True)]


def _by_template(found: pb.GetHarvestResponse, names: Mapping[str, str], worth: str) -> dict[str, Any]:
    starts = sorted({point.first_fetch for one in found.templates for point in one.points})
    series = []
    for one in found.templates:
        known = {point.first_fetch: getattr(point, worth) for point in one.points}
        label = names.get(one.template, one.template) or "no template"
        series.append({"label": label, "values": [known.get(start) for start in starts]})
    return {"x": starts, "series": series}
