"""Notices that pages changed: what `NotifyChanged` is sent, as events, and the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ChangesNotified
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.revisits.companion import SiteRevisitor
from linkscore_scoring.revisits.notices import NOTED, UNKNOWN
from linkscore_scoring.revisits.values import DAY_S
from linkscore_scoring.urls.identity import validate_url
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.grpc.convert.pages import seconds_of
from linkscore_server.grpc.convert.revisits import MAX_NOTICES
from linkscore_server.revisits.ranking import check_set

_TOGETHER = 256
"""URLs that are checked, asked about or applied before other calls are served; chosen, not measured."""

_Known = dict[str, dict[int, str]]
"""By site, the identity of each URL by its row."""


async def take_notices(
    actor: CrawlActor, request: pb.NotifyChangedRequest, clock: Callable[[], float]
) -> pb.NotifyChangedResponse:
    """Take in notices; answered when those that say something new are durable and applied.

    Others are no events: whoever repeats himself, or names pages that nobody knows, fills no log.

    Raises
    ------
    InvalidInput
        If the crawl does not fetch again, or there are too many URLs, none, or a time that is to come.
    """
    check_set(actor.model)
    change_s = _time_of(request, clock)
    if not 0 < len(request.urls) <= MAX_NOTICES:
        rule = f"must have 1 to {MAX_NOTICES} entries, got {len(request.urls)}"
        raise InvalidInput(rule, field="urls", reason="TOO_MANY_ITEMS" if request.urls else "REQUIRED")
    answer = pb.NotifyChangedResponse(statuses=[pb.NoticeStatus() for _ in request.urls])
    known = await _read(actor.model, request.urls, answer.statuses)
    events: list[tuple[ChangesNotified, list[int]]] = []
    for site, rows in _parts(known):
        said = await actor.answer(partial(_news, actor.model, site, list(rows.values()), change_s))
        new = []
        for row, outcome in zip(rows, said, strict=True):
            answer.statuses[row].outcome = cast("pb.NoticeOutcome", outcome)
            if outcome == NOTED:
                new.append(row)
        if new:
            events.append((ChangesNotified(site, [rows[row] for row in new], change_s), new))
        await asyncio.sleep(0)
    await _submit(actor, events, answer)
    return answer


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
            statuses[row].problems.extend(
                common_pb2.FieldProblem(field=each.field, description=each.rule, reason=each.reason)
                for each in exc.problems
            )
        else:
            known.setdefault(model.site_of(key), {})[row] = key
    return known


def _parts(known: _Known) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield URLs of one site, so many together."""
    for site, rows in known.items():
        items = list(rows.items())
        for at in range(0, len(items), _TOGETHER):
            yield site, dict(items[at : at + _TOGETHER])


def _news(model: CrawlModel, site: str, urls: Sequence[str], change_s: float) -> list[int]:
    if site not in model.sites:
        return [UNKNOWN] * len(urls)
    shard = model.shard(site)
    return cast("SiteRevisitor", shard.revisitor).news(urls, change_s, shard.model)


async def _submit(
    actor: CrawlActor, events: Sequence[tuple[ChangesNotified, list[int]]], answer: pb.NotifyChangedResponse
) -> None:
    """Make events durable, and write what became of them: another call may have said the same meanwhile."""
    waiting = [tasks.heard(actor.submit_all([event])) for event, _ in events]
    for (_, rows), done in zip(events, waiting, strict=True):
        [outcomes] = await done
        if isinstance(outcomes, Exception):
            raise outcomes
        for row, outcome in zip(rows, cast("list[int]", outcomes), strict=False):
            answer.statuses[row].outcome = cast("pb.NoticeOutcome", outcome)


def _time_of(request: pb.NotifyChangedRequest, clock: Callable[[], float]) -> float:
    now_s = clock()
    if not request.HasField("change_time"):
        return now_s
    change_s = seconds_of(request.change_time, clock)
    if change_s > now_s + DAY_S:
        raise InvalidInput("must be at most a day from now", field="change_time")
    return change_s
