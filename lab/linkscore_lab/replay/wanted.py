"""What every page of a stored site is worth to a task."""

from __future__ import annotations

from collections.abc import Mapping

from linkscore_lab.datasets.relevance import WANTED_REWARD, Relevance
from linkscore_lab.replay.stored import StoredSite


def page_rewards(site: StoredSite, relevance: Relevance) -> dict[str, float]:
    """Return the reward of each page by identity; pages nothing is known of are left out.

    Cost: a decompression and a parse a page where relevance lies in the body, else O(pages).
    """
    rewards = {}
    for number, record in enumerate(site.records):
        if record.is_page and record.key not in rewards:
            body = site.body(number) if relevance.reads_body else b""
            reward = relevance.reward(record.key, record.url, site.types.get(record.key, ""), body)
            if reward is not None:
                rewards[record.key] = reward
    return rewards


def type_rewards(site: StoredSite, page_type: str) -> dict[str, float]:
    """Return 1 for the pages of a type and 0 for the others."""
    return {r.key: float(site.types.get(r.key) == page_type) for r in site.records if r.is_page}


def wanted_pages(
    site: StoredSite, pages: Mapping[str, object], rewards: Mapping[str, float]
) -> dict[str, str]:
    """Return those of the reachable `pages` that are relevant, each with its page type (empty without)."""
    return {key: site.types.get(key, "") for key in pages if rewards.get(key, 0.0) >= WANTED_REWARD}
