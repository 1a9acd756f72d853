"""SuggestSeeds about a crawl as a whole: where its browse log says that news is, on whatever site."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.policies.base import any_part
from linkscore_scoring.policies.registry import policy_class
from linkscore_server import tasks
from linkscore_server.browse_logs.manager import BrowseLogManager
from linkscore_server.browse_logs.visits import SiteSpan, date_of
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.services.messages import choice_of, parse_crawl
from linkscore_server.services.sites import seeds_wanted

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.news.crawl import CrawlNews, CrawlSeed
    from linkscore_scoring.browse_logs.news.settings import NewsSettings

_APART_DAYS = 7
"""Days between the first visit of a site and that of the log, or the last ones, from which it is new or gone.
A week, so that a site with visitors on work days alone is neither."""


@dataclass(frozen=True, slots=True)
class _Found:
    """News of a crawl, and the spans of its sites."""

    news: CrawlNews
    spans: Mapping[str, SiteSpan]


class CrawlSeeds:
    """Answers SuggestSeeds without a site, from the browse log of the crawl.

    The log is mined when somebody asks, once for all who ask meanwhile, and again when it has changed.

    Parameters
    ----------
    registry
        The crawls.
    manager
        Mines.
    """

    def __init__(self, registry: CrawlRegistry, manager: BrowseLogManager) -> None:
        self._registry = registry
        self._manager = manager
        self._mined: WeakKeyDictionary[CrawlActor, tuple[object, asyncio.Task[_Found | None]]] = (
            WeakKeyDictionary()
        )

    async def suggest(self, request: pb.SuggestSeedsRequest) -> pb.SuggestSeedsResponse | None:
        """Return the pages to start a crawl from; None if its policy looks for no news in a log."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        choice = choice_of(request.policy) or actor.model.config.policy
        settings = _news_settings(choice)
        if settings is None or not actor.model.ledger.batches:
            return None
        n, found = seeds_wanted(request), await self._found(actor, settings)
        answer = pb.SuggestSeedsResponse(policy=choice.name, event_seq=actor.model.seq)
        if found is None:
            answer.policy_state = "abstains: all days of the browse log are deleted"
            return answer
        answer.seeds.extend(await actor.ask(partial(_seeds, actor.model, found, n)))
        answer.policy_state = found.news.summary()
        return answer

    async def _found(self, actor: CrawlActor, settings: NewsSettings) -> _Found | None:
        """Return what the log says as it is now; a mining goes on when its caller gives up."""
        log = (len(actor.model.ledger.batches), *await self._manager.days(actor), settings)
        known, task = self._mined.get(actor, (None, None))
        if task is None or known != log or (task.done() and (task.cancelled() or task.exception())):
            task = tasks.awaited(self._mine(actor, settings))
            self._mined[actor] = (log, task)
        return await asyncio.shield(task)

    async def _mine(self, actor: CrawlActor, settings: NewsSettings) -> _Found | None:
        spans = await self._manager.spans(actor)
        return _Found(await self._manager.crawl_news(actor, spans, settings), spans) if spans else None


def _news_settings(choice: PolicyChoice) -> NewsSettings | None:
    """Return how a policy wants news mined; None if it reads no logs, or not for news."""
    kind, params = policy_class(choice.name), choice.checked()
    if not any_part(kind, params, "reads_logs"):
        return None
    settings: NewsSettings | None = kind(params).mining_settings().get("news")
    return settings


def _seeds(model: CrawlModel, found: _Found, n: int) -> Sequence[pb.Seed]:
    """Return the best seeds, with what is worth saying of their sites; none is read back for it.

    A group of several does not know whether another one crawls a site that its own log does not have.
    """
    is_whole = model.config.groups == 1
    news, best = max(1, found.news.model.news), found.news.seeds[:n]
    sites_of = [model.site_of(seed.url) for seed in best]
    met = {site for site in sites_of if site in model.sites}
    crawled = {name for name, facts in model.sites.facts() if name in met and facts.pages} if met else set()
    log = _log_of(found.spans.values())
    seeds = []
    for seed, site in zip(best, sites_of, strict=True):
        unknown = site not in crawled and (is_whole or site in found.spans)
        about = [f"{site} is not crawled yet"] if unknown else []
        about += _when(found.spans[site], log) if site in found.spans else []
        reason = "; ".join([_why(seed), *about])
        seeds.append(pb.Seed(url=seed.url, reason=reason, value=seed.news / news, page_count=seed.news))
    return seeds


def _log_of(spans: Collection[SiteSpan]) -> tuple[int, int]:
    """Return the first and the last day of a log."""
    return min(span.first_day for span in spans), max(span.last_day for span in spans)


def _why(seed: CrawlSeed) -> str:
    if not seed.is_hub:
        return f"its host has {seed.news} news pages that no known page leads to"
    places = f" on {seed.hosts} hosts" if seed.hosts > 1 else ""
    return f"visitors went from it to {seed.news} news pages{places}, {seed.gain} of them from no seed before"


def _when(span: SiteSpan, log: tuple[int, int]) -> list[str]:
    """Return what is worth saying of when a site was visited: that it is new, or gone."""
    first_day, last_day = log
    notes = []
    if span.first_day - first_day >= _APART_DAYS:
        notes.append(f"first visited on {date_of(span.first_day)}")
    if last_day - span.last_day >= _APART_DAYS:
        notes.append(f"not visited after {date_of(span.last_day)}")
    return notes
