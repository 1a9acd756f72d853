"""Facts of a page, beside its features, that events keep for the settings of a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkscore_scoring.engine.companions import companion_named
from linkscore_scoring.engine.limits import SentPage, limit_of, limits


def read_facts(names: Sequence[str], page: SentPage) -> dict[str, Any]:
    """Return the facts of a page that some settings go by, limits and companions."""
    facts: dict[str, Any] = {}
    for name in names:
        setting = limit_of(name, None) if name in limits() else companion_named(name)
        facts |= setting.read(page)
    return facts
