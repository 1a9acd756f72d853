"""RankRevisits and NotifyChanged of LinkScoringService: which known pages to fetch again, and when."""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ChangesNotified, PageFetched
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.revisits.listings import FACT as DATES
from linkscore_scoring.revisits.pages import DAY_S, Due, RevisitSettings
from linkscore_scoring.revisits.rates import sites_due
from linkscore_scoring.revisits.site import NOTED, UNKNOWN, SiteRevisits, key_of
from linkscore_scoring.urls.identity import root_of, validate_url
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.opening import registrable_domain
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.sites import StoredCrawl
from linkscore_server.services.messages import (
    check_count,
    check_most,
    field_problems,
    parse_crawl,
    seconds_of,
    site_name,
    site_of,
)

DUE_PAGES, _MAX_DUE_PAGES = 100, 100_000  # of an answer if nothing is said, and at most, as the contract says
MAX_NOTICES = 10_000  # URLs of one call of NotifyChanged, as the contract says
_FOUND = 302  # RFC 9110, section 15.4.3
_TOGETHER = 256  # URLs that are checked before other calls are served; chosen, not measured
_Known = dict[str, dict[int, str]]
"""By site, the identity of each URL by its row."""


class RevisitCalls:
    """The calls of LinkScoringService about known pages."""

    def __init__(self, registry: CrawlRegistry, clock: Callable[[], float]) -> None:
        self._registry, self._clock = registry, clock

    async def RankRevisits(self, request: pb.RankRevisitsRequest, context: Any) -> pb.RankRevisitsResponse:
        """Rank the known pages of a site, or of all sites of a crawl."""
        actor, clock = await self._registry.open(parse_crawl(request.crawl)), self._clock
        check_most("max_results", request.max_results, _MAX_DUE_PAGES)
        now_s = seconds_of(request.now, clock) if request.HasField("now") else clock()
        site = site_of(request.site, actor.model.config.name, "site") if request.site else ""
        _check_set(actor.model)
        ranking = _Ranking(actor.model, now_s, request.max_results or DUE_PAGES)
        await actor.ask_each([site] if site else await asyncio.to_thread(ranking.sites), ranking.add)
        return await actor.ask(ranking.answer)

    async def NotifyChanged(self, request: pb.NotifyChangedRequest, context: Any) -> pb.NotifyChangedResponse:
        """Take in that known pages are said to have changed; answered when news is durable and applied.

        Other notices are no events: whoever repeats himself, or names pages that nobody knows, fills no log.
        """
        actor = await self._registry.open(parse_crawl(request.crawl))
        self._registry.check_room()
        _check_set(actor.model)
        change_s = _time_of(request, self._clock)
        check_count("urls", len(request.urls), MAX_NOTICES, least=1)
        answer = pb.NotifyChangedResponse(statuses=[pb.NoticeStatus() for _ in request.urls])
        known = await _read(actor.model, request.urls, answer.statuses)
        events: list[tuple[ChangesNotified, list[int]]] = []
        for site, rows in known.items():
            said = await actor.answer(partial(_news, actor.model, site, list(rows.values()), change_s))
            new = []
            for row, outcome in zip(rows, said, strict=True):
                answer.statuses[row].outcome = cast("Any", outcome)
                if outcome == NOTED:
                    new.append(row)
            if new:
                events.append((ChangesNotified(site, [rows[row] for row in new], change_s), new))
            await asyncio.sleep(0)
        await _submit(actor, events, answer)
        return answer


def of_other_sites(model: CrawlModel, event: PageFetched) -> Iterator[PageFetched | ChangesNotified]:
    """Yield what a page says of other sites, as events of those: that one redirected here, dates of pages.

    A listing gives dates of sites of its own registrable domain: others speak for themselves.
    """
    if event.event_id in model.event_ids or (found := event.features) is None:
        return
    if model.config.groups == 1 and (asked := model.redirecting_site(event)):  # else the front tells it
        key, event_id = event.requested_key, event.event_id and f"{event.event_id} redirects"
        yield replace(event, event_id=event_id, site=asked, url=key, status_code=_FOUND, features=None)
    dates = found.facts.get(DATES, ())
    if model.config.revisit is None or len(dates) != len(found.links):
        return
    listed: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for url, date_s in zip(found.links.keys, dates, strict=True):
        listed[root_of(url)].append((url, date_s))
    for root, pages in listed.items():
        site = model.site_of(root) if root else event.site
        is_known = site != event.site and site in model.sites
        if is_known and registrable_domain(site) == registrable_domain(event.site):
            yield ChangesNotified(site, [url for url, _ in pages], event.now_s, [date for _, date in pages])


class _Ranking:
    """The `most` pages that are due first of the sites that were added."""

    def __init__(self, model: StoredCrawl, now_s: float, most: int) -> None:
        self._model, self._now_s, self._most = model, now_s, most
        self._due: list[tuple[str, Due]] = []

    def sites(self) -> list[str]:
        """Return the sites that may have such pages: of those not in memory, as their facts foretell."""
        told = dict(sorted(self._model.sites.forecasts()))  # equals by name, as `_order` has them
        settings = RevisitSettings(**self._model.config.revisit or {})
        return sorted({*self._model.sites} - {*told} | sites_due(told, self._now_s, settings, self._most))

    def add(self, name: str) -> None:
        self._due += [(name, page) for page in _revisits_of(self._model, name).rank(self._now_s, self._most)]
        if len(self._due) > 2 * self._most:  # not for each site: a sort costs what there is
            self._due = heapq.nsmallest(self._most, self._due, key=_order)

    def answer(self) -> pb.RankRevisitsResponse:
        best = heapq.nsmallest(self._most, self._due, key=_order)
        return pb.RankRevisitsResponse(
            pages=[_message(self._model.config.name, *due) for due in best],
            event_seq=self._model.seq,
        )


def _order(found: tuple[str, Due]) -> tuple[float, str, int]:
    return -found[1].worth, found[0], found[1].key


def _check_set(model: CrawlModel) -> None:
    """Refuse a crawl that does not fetch again."""
    if model.config.revisit is None:
        raise InvalidInput("must have `revisit`: UpdateCrawl sets it", field="crawl", reason="REQUIRED")


def _revisits_of(model: CrawlModel, site: str) -> SiteRevisits:
    """Return what a known site of a crawl that fetches again knows of its pages."""
    _check_set(model)  # the setting may be gone since the last site was asked
    return cast("SiteRevisits", model.shard(site).revisitor)


def _message(crawl: str, site: str, page: Due) -> pb.DuePage:
    message = pb.DuePage(
        url=page.url,
        site=site_name(crawl, site),
        worth=page.worth,
        reason=f"REVISIT_REASON_{page.reason.upper()}",
        change_rate=page.rate,
        etag=page.validators.etag,
        last_modified=page.validators.last_modified,
        kind=f"PAGE_KIND_{page.kind.upper()}",
    )
    message.last_fetch_time.FromSeconds(int(page.last_s))
    return message


async def _read(model: CrawlModel, urls: Sequence[str], statuses: Sequence[pb.NoticeStatus]) -> _Known:
    """Return the identities of usable URLs; write what is wrong with the others."""
    known: _Known = {}
    for row, url in enumerate(urls):
        if row % _TOGETHER == _TOGETHER - 1:
            await asyncio.sleep(0)
        try:
            key = validate_url(url, f"urls[{row}]", error=InvalidInput)
        except InvalidInput as exc:
            statuses[row].outcome = pb.NOTICE_OUTCOME_INVALID
            statuses[row].problems.extend(field_problems(exc))
        else:
            known.setdefault(model.site_of(key), {})[row] = key
    return known


def _news(model: CrawlModel, site: str, urls: Sequence[str], change_s: float) -> list[int]:
    if site not in model.sites:
        return [UNKNOWN] * len(urls)
    shard = model.shard(site)
    revisits = _revisits_of(model, site)
    return [revisits.news(key_of(url, shard.model), change_s) for url in urls]


async def _submit(
    actor: CrawlActor, events: Sequence[tuple[ChangesNotified, list[int]]], answer: pb.NotifyChangedResponse
) -> None:
    """Make events durable, and write what became of them: another call may have said the same meanwhile."""
    waiting = [actor.submit_all([event]) for event, _ in events]
    for (_, rows), done in zip(events, waiting, strict=True):
        [outcomes] = await done
        if isinstance(outcomes, Exception):
            raise outcomes
        for row, outcome in zip(rows, cast("list[int]", outcomes), strict=False):
            answer.statuses[row].outcome = cast("Any", outcome)


def _time_of(request: pb.NotifyChangedRequest, clock: Callable[[], float]) -> float:
    now_s = clock()
    if not request.HasField("change_time"):
        return now_s
    change_s = seconds_of(request.change_time, clock)
    if change_s > now_s + DAY_S:
        raise InvalidInput("must be at most a day from now", field="change_time")
    return change_s
