"""What a user should know of a site while it is crawled: parts like traps, and that examples would help."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine.reports import DEFAULT_HORIZON, SiteAdvice, advise
from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.observability.metrics import Metrics

_log = logging.getLogger(__name__)

_LOOKS = frozenset(round(40 * 1.5**n) for n in range(50))
"""Fetches of a site at which it is looked at: a look costs what there is of links, so a fetch costs the same
however large it becomes. Chosen, not measured."""
_MOST = 10_000
"""A bound: sites whose fetches are counted, and notices that were told, of all crawls; then it is anew."""


class SiteWatch:
    """Asks for the advice about a site now and then, and tells once what is new, as metric and in the log."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._fetches: dict[tuple[str, str], int] = {}
        self._told: dict[tuple[str, str, str], None] = {}
        self._looks: set[asyncio.Task[None]] = set()

    def fetched(self, actor: CrawlActor, site: str) -> None:
        """Count a page that was fetched; looks at the site beside other calls when it has grown enough."""
        count = self._fetches[actor.key, site] = self._fetches.get((actor.key, site), 0) + 1
        drop_oldest(self._fetches, _MOST)
        if count in _LOOKS:
            tasks.beside(self._look(actor, site), f"look at {site}", self._looks)

    async def _look(self, actor: CrawlActor, site: str) -> None:
        actor.use()
        try:
            advice = await actor.ask(lambda: advise(actor.model.shard(site), DEFAULT_HORIZON))
        except (LinkscoreError, RuntimeError) as exc:  # deleted meanwhile, or the server stops
            _log.debug("%s: not looked at: %s", site, exc)
            return
        for kind, name, what in _notices(advice):
            if (notice := (actor.key, site, name)) not in self._told:
                self._told[notice] = None
                drop_oldest(self._told, _MOST)
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
