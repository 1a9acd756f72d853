"""Which reachable pages of a stored site are relevant."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.suite import Wanted


def wanted_pages(site: StoredSite, pages: Sequence[int], wanted: Wanted) -> dict[str, str]:
    """Return the relevant ones of `pages` by identity, each with its page type (empty without label)."""
    chosen = frozenset(wanted.types)
    keys = (site.records[n].key for n in pages)
    return {key: site.types[key] for key in keys if site.types.get(key) in chosen}


def page_rewards(wanted: Wanted) -> dict[str, float]:
    """Return the rewards of a feedback file by identity; empty where relevance is not from one."""
    return {}
