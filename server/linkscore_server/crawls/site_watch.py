"""What a user should know of a site while it is crawled: parts like traps, and that examples would help."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine.reports import DEFAULT_HORIZON, SiteAdvice, advise
from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.observability.metrics import Metrics

_log = logging.getLogger(__name__)

FIRST_LOOK, GROWTH = 40, 1.5
"""Fetches of a site before it is looked at, and times as many before it is again: a look costs what there
is of links, so a fetch costs the same however large it becomes. Chosen, not measured."""
_MAX_SITES = 10_000
"""A bound: sites whose fetches are counted, of all crawls; one that was forgotten is counted anew."""


@dataclass(slots=True)
class _Seen:
    """A site: its fetches, at how many it is looked at next, and what was told of it."""

    fetches: int = 0
    next_look: float = FIRST_LOOK
    told: set[str] = field(default_factory=set)


class SiteWatch:
    """Asks for the advice about a site now and then, and tells once what is new, as metric and in the log.

    It lives as long as the server: after a restart a site is looked at and told of anew.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._sites: dict[tuple[str, str], _Seen] = {}
        self._looks: set[asyncio.Task[None]] = set()

    def fetched(self, actor: CrawlActor, site: str) -> None:
        """Count a page that was fetched; looks at the site beside other calls when it has grown enough."""
        seen = self._sites.get((actor.key, site))
        if seen is None:
            seen = self._sites[actor.key, site] = _Seen()
            drop_oldest(self._sites, _MAX_SITES)
        seen.fetches += 1
        if seen.fetches >= seen.next_look:
            seen.next_look = GROWTH * seen.fetches
            tasks.beside(self._look(actor, site, seen), f"look at {site}", self._looks)

    async def _look(self, actor: CrawlActor, site: str, seen: _Seen) -> None:
        actor.use()
        try:
            advice = await actor.ask(lambda: advise(actor.model.shard(site), DEFAULT_HORIZON))
        except (LinkscoreError, RuntimeError) as exc:  # deleted meanwhile, or the server stops
            _log.debug("%s: not looked at: %s", site, exc)
            return
        for kind, name, what in _notices(advice):
            if name not in seen.told:
                seen.told.add(name)
                self._metrics.site_notices.labels(kind).inc()
                _log.warning("crawl %s, %s: %s", actor.model.config.name, site, what)


def _notices(advice: SiteAdvice) -> Iterator[tuple[str, str, str]]:
    """Yield what there is to tell of a site: kind, what stays the same while it stays so, and a sentence."""
    for trap in advice.traps:
        kind = trap.kind.name.lower()
        what = f"{trap.url_pattern or trap.tag_path} looks like a trap ({kind}); see linkscore advise"
        yield f"trap_{kind}", what, what
    for warning in advice.warnings:
        yield warning.kind, warning.kind, warning.text
