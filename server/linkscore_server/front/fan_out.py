"""Calls about a crawl in groups: each row, site or question goes to its groups, the answers become one.

What is about rows, pages or links or reports, is taken apart and put together in order (`ByRows`); each of
the other calls has a function.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import chain, islice, starmap
from typing import Any
from urllib.parse import unquote

import numpy as np

from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.engine.queries import Offer, allocate, best_sites
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.urls.identity import host_of
from linkscore_server.front.owners import Owners
from linkscore_server.groups import Shard, group_of
from linkscore_server.services import messages, sites
from linkscore_server.services.messages import DEFAULT_PAGE_SIZE, MAX_ITEMS, crawl_name, parse_site, site_of
from linkscore_server.services.pages import came_from, has_page
from linkscore_server.services.revisits import DUE_PAGES, MAX_NOTICES


@dataclass(frozen=True, slots=True)
class RoutedCrawl:
    """A crawl of several groups, or one that another process owns."""

    name: str  # as created
    groups: int
    domain_of: Callable[[str], str] | None  # gives the site of a host; None if that is the host itself
    book: TicketBook  # reads the tickets of the crawl

    def shard(self, group: int) -> Shard:
        return Shard(self.name, group, self.groups)

    def resource(self, group: int) -> str:
        """Return the resource name by which the owner of a group is asked."""
        return crawl_name(self.shard(group).key)

    def site_of(self, url: str) -> str:
        host = host_of(url)
        return self.domain_of(host) if self.domain_of is not None else host

    def group_of_site(self, site: str) -> int:
        return group_of(site, self.groups)

    def group_of_url(self, url: str) -> int:
        """Return the group of a URL; of what is none the first, which says what is wrong with it."""
        try:
            return self.group_of_site(self.site_of(url))
        except ValueError:
            return 0

    def group_of_bucket(self, bucket: str) -> int:
        """Return the group of a bucket, whose name begins with its site."""
        return self.group_of_site(bucket.partition("/")[0])

    def group_of_link(self, link: Any) -> int:
        """Return the group of a message with `url` and `ticket`: the ticket's site, else that of the URL."""
        ticket = self.book.read(link.ticket) if link.ticket else None
        if ticket is not None and ticket.site:
            return ticket.site % self.groups  # see `group_of`
        return self.group_of_url(link.url)

    def group_of_page(self, page: common_pb2.Page) -> int:
        """Return the group of a page that is to be taken in: of the URL that it came from, if it came."""
        name_event(page)
        return self.group_of_url(came_from(page) if has_page(page) else page.url)


class Groups:
    """The groups of one crawl for one kind of call."""

    def __init__(self, crawl: RoutedCrawl, owners: Owners, method: str, context: Any) -> None:
        self.crawl = crawl
        self._owners, self._method, self._context = owners, method, context

    async def send(self, group: int, request: Any, field: str = "crawl") -> Any:
        """Send a request to the owner of a group; its field is changed to name the shard, if one is given."""
        if field:
            setattr(request, field, self.crawl.resource(group))
        return await self._owners.reach(
            self.crawl.shard(group),
            lambda owner: owner.call(self._method, request, self._context),
            may_repeat=may_repeat(request),
        )

    async def send_all(self, request: Any, field: str = "crawl") -> list[Any]:
        """Send a request about the crawl to every group; returns the answers in their order."""
        groups = range(self.crawl.groups)
        return await gathered(self.send(group, deepcopy(request), field) for group in groups)

    async def ask(self, group: int, question: str, request: Any) -> dict[str, Any]:
        """Ask the owner of a group a question about a request, which is changed to name the shard."""
        request.crawl = self.crawl.resource(group)
        packed = request.SerializeToString()
        return await self._owners.reach(
            self.crawl.shard(group), lambda owner: owner.ask(question, request=packed)
        )


async def gathered(calls: Iterable[Awaitable[Any]]) -> list[Any]:
    """Wait for all calls, and raise the first error if there is one: no call is left half-way."""
    found = await asyncio.gather(*calls, return_exceptions=True)
    for got in found:
        if isinstance(got, BaseException):
            raise got
    return found


def without(request: Any, *left_out: str) -> Any:
    """Return a copy of a request without some of its fields, which are not copied."""
    kept = {field.name: value for field, value in request.ListFields() if field.name not in left_out}
    return type(request)(**kept)


def may_repeat(request: Any) -> bool:
    """Say whether a call that is made twice counts once: pages and reports do if they have event ids."""
    told = getattr(request, "pages", None) or getattr(request, "feedback", None) or ()
    return all(item.event_id for item in told)


def redirect_of(crawl: RoutedCrawl, page: common_pb2.Page) -> common_pb2.Page | None:
    """Return what the site hears that redirected to a page of another one, see
    `CrawlModel.redirecting_site`; None where none did."""
    if crawl.groups == 1 or not has_page(page) or came_from(page) == page.url:
        return None
    try:
        if crawl.site_of(page.url) == crawl.site_of(page.final_url):
            return None
    except ValueError:
        return None
    event_id = page.event_id and f"{page.event_id[:100]} redirects"
    heard = common_pb2.Page(url=page.url, event_id=event_id, ticket=page.ticket, status_code=302)
    if page.HasField("fetch_time"):
        heard.fetch_time.CopyFrom(page.fetch_time)
    return heard


def name_event(page: common_pb2.Page) -> None:
    """Give a page an event id if it has none and says when it was fetched: a call about several groups may
    fail in some, and what its caller repeats must not count again."""
    if page.event_id or not page.HasField("fetch_time"):
        return
    sent = page.SerializeToString(deterministic=True)
    page.event_id = f"fetch {hashlib.blake2b(sent, digest_size=16).hexdigest()}"


Part = tuple[list[int], Any]
"""Rows of the whole question, and what their group answered."""
_ROW = re.compile(r"^(links|urls)\[(\d+)\]")


# -- rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByRows:
    """A call whose rows are of different groups."""

    rows: str  # field of the request
    group_of: Callable[[RoutedCrawl, Any], int]  # gives the group of a row
    merged: Callable[[int, Sequence[Part]], Any]  # makes the answer: of the number of rows, and the parts
    most: int  # bound of the rows

    async def answer(self, groups: Groups, request: Any) -> Any:
        """Ask each group about its rows."""
        rows = getattr(request, self.rows)
        if not rows or len(rows) > self.most:
            return await groups.send(0, request)  # which says what is wrong
        found = await _asked(
            rows,
            partial(self.group_of, groups.crawl),
            lambda group, at: groups.send(group, _part(request, self.rows, at)),
        )
        return found[0][1] if len(found) == 1 else self.merged(len(rows), found)


async def _asked(
    rows: Sequence[Any], group_of: Callable[[Any], int], ask: Callable[[int, list[int]], Awaitable[Any]]
) -> list[Part]:
    """Ask each group about its rows; the answers in the order in which groups come first."""
    by_group: dict[int, list[int]] = {}
    for row, each in enumerate(rows):
        by_group.setdefault(group_of(each), []).append(row)
    return list(zip(by_group.values(), await gathered(starmap(ask, by_group.items())), strict=True))


def _part(request: Any, field: str, at: Sequence[int]) -> Any:
    """Return a request about some of its rows; itself of all."""
    rows = getattr(request, field)
    if len(at) == len(rows):
        return request
    part = without(request, field)
    getattr(part, field).extend(rows[row] for row in at)
    return part


def events_in(counts: Iterable[int]) -> int:
    """Return how many events groups have seen; the creation, with which each log begins, counts once."""
    found = list(counts)
    return sum(found) - len(found[1:])


def _placed(n: int, parts: Sequence[Part], column: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Return a column of all rows: that of each part, in its places."""
    whole: list[Any] = [None] * n
    for at, got in parts:
        for row, value in zip(at, column(got), strict=True):
            whole[row] = value
    return whole


def _joined(column: str, n: int, parts: Sequence[Part]) -> Any:
    """Return an answer that is a column of messages, and perhaps the name of a policy."""
    found = parts[0][1]
    for at, got in parts:
        for item in getattr(got, column):
            if isinstance(item, pb.NoticeStatus):
                _name_rows(item, at)
    items = _placed(n, parts, lambda got: getattr(got, column))
    policy = {"policy": found.policy} if "policy" in found.DESCRIPTOR.fields_by_name else {}
    return type(found)(**{column: items}, **policy)


def _name_rows(status: common_pb2.ItemStatus | pb.NoticeStatus, rows: Sequence[int]) -> None:
    """Let a status name rows of the whole question."""
    for problem in status.problems:
        problem.field = _ROW.sub(lambda found: f"{found[1]}[{rows[int(found[2])]}]", problem.field)


def _scored(n: int, parts: Sequence[Part]) -> pb.ScoreLinksResponse:
    """Put columns together; buckets are named in the order of their first link, as by one process."""
    links = common_pb2.LinkScores(scores=_placed(n, parts, lambda got: got.links.scores))
    values: dict[str, float] = {}
    for at, got in parts:
        values.update(zip(got.links.bucket_names, got.links.bucket_values, strict=True))
        for row, status in got.links.statuses.items():
            _name_rows(status, at)
            links.statuses[at[row]].CopyFrom(status)
        for entry in got.explanations:
            _name_rows(entry.status, at)
    names = _placed(n, parts, lambda got: [got.links.bucket_names[i] for i in got.links.buckets])
    places: dict[str, int] = {}
    for name in names:  # links that cannot be used are of a bucket without name
        places.setdefault(name, len(places))
    links.buckets.extend([places[name] for name in names])
    links.bucket_names.extend(places)
    links.bucket_values.extend([values[name] for name in places])
    for column in ("verdicts", "url_types", "skip_reasons"):
        if any(len(getattr(got.links, column)) for _, got in parts):
            getattr(links, column).extend(_placed(n, parts, partial(_column, column)))
    stages = [got.stage for _, got in parts if got.stage]
    return pb.ScoreLinksResponse(
        links=links,
        explanations=_placed(n, parts, lambda got: got.explanations) if parts[0][1].explanations else [],
        policy=parts[0][1].policy,
        stage=min(stages, default=common_pb2.SITE_STAGE_UNSPECIFIED),
        event_seq=events_in(got.event_seq for _, got in parts),
    )


def _column(name: str, got: pb.ScoreLinksResponse) -> Sequence[Any]:
    """Return a column of an answer, which is empty if none of its links has a value."""
    return getattr(got.links, name) or [0] * len(got.links.scores)


INGEST = ByRows("pages", RoutedCrawl.group_of_page, partial(_joined, "results"), MAX_ITEMS["pages"])
SCORE = ByRows("links", RoutedCrawl.group_of_link, _scored, MAX_ITEMS["links"])
FEEDBACK = ByRows("feedback", RoutedCrawl.group_of_link, partial(_joined, "statuses"), MAX_ITEMS["feedback"])
NOTIFY = ByRows("urls", RoutedCrawl.group_of_url, partial(_joined, "statuses"), MAX_NOTICES)

# -- others --------------------------------------------------------------------------------------------------


async def ingest(groups: Groups, request: pb.IngestPagesRequest) -> Any:
    """Let each group take in its pages, then tell the sites that redirected to pages of others."""
    heard = without(request, "pages")
    found = await INGEST.answer(groups, request)
    heard.pages.extend(filter(None, (redirect_of(groups.crawl, page) for page in request.pages)))
    if heard.pages:
        await INGEST.answer(groups, heard)
    return found


async def _of_site(groups: Groups, request: Any) -> Any:
    """Ask the group of the site that `name` names."""
    group = groups.crawl.group_of_site(parse_site(request.name)[1])
    _, _, site = request.name.partition("/sites/")
    request.name = f"{groups.crawl.resource(group)}/sites/{site}"
    return await groups.send(group, request, "")


async def suggest_seeds(groups: Groups, request: site_pb.SuggestSeedsRequest) -> Any:
    """Ask the group of the site, which is a name, a resource name or a URL; any says that it is missing."""
    if not request.site:
        return await groups.send(0, request)
    site, _ = sites.seed_query(request, groups.crawl.name, groups.crawl.site_of)
    return await groups.send(groups.crawl.group_of_site(site), request)


async def get_crawl(groups: Groups, request: crawl_pb.GetCrawlRequest) -> crawl_pb.GetCrawlResponse:
    """Add up what the groups have seen, and stop if all that met a site do; all else is the same in each."""
    answers = await groups.send_all(request, "name")
    found = [answer.crawl for answer in answers]
    whole = found[0]
    met = [crawl for crawl in found if crawl.site_count]
    said = next((crawl for crawl in met if not crawl.decision_reason), met[-1] if met else whole)
    whole.decision, whole.decision_reason = said.decision, said.decision_reason
    for field in ("page_count", "feedback_count", "site_count"):
        setattr(whole, field, sum(getattr(crawl, field) for crawl in found))
    whole.event_seq = events_in(crawl.event_seq for crawl in found)
    answer = crawl_pb.GetCrawlResponse(crawl=whole, server_version=answers[0].server_version)
    if request.with_activity:
        answer.activity.CopyFrom(_activity([got.activity for got in answers]))
    return answer


def _activity(parts: Sequence[crawl_pb.Activity]) -> crawl_pb.Activity:
    """Add up counts, and take means by what they are means of."""
    whole = crawl_pb.Activity(
        text_reward=_mean((got.text_reward, got.fetch_count) for got in parts),
        reward=_mean((got.reward, got.reported_count) for got in parts),
    )
    for field in whole.DESCRIPTOR.fields:
        if field.name not in ("text_reward", "reward"):
            setattr(whole, field.name, sum(getattr(got, field.name) for got in parts))
    return whole


async def list_sites(groups: Groups, request: site_pb.ListSitesRequest) -> site_pb.ListSitesResponse:
    """Merge the pages of all groups: a token is a name, so each goes on behind the same."""
    answers: list[site_pb.ListSitesResponse] = await groups.send_all(request)
    size = request.page_size or DEFAULT_PAGE_SIZE
    found = sorted(chain.from_iterable(got.sites for got in answers), key=lambda site: _site_of(site.name))
    is_more = len(found) > size or any(got.next_page_token for got in answers)
    page = found[:size]
    return site_pb.ListSitesResponse(
        sites=page, next_page_token=_site_of(page[-1].name) if is_more and page else ""
    )


async def _no_logs(groups: Groups, request: Any) -> Any:
    """Refuse browse logs: what is news is seen in all of them together."""
    rule = (
        f"has {groups.crawl.groups} groups, but browse logs need one: "
        "create a crawl of one, on a server with a data folder"
    )
    raise InvalidInput(rule, field="crawl")


async def suggest_examples(groups: Groups, request: pb.SuggestExamplesRequest) -> Any:
    """Ask the group of the site, or take the pages of all that would teach most."""
    crawl = groups.crawl
    n, site = messages.example_query(request, crawl.name)
    if site:
        return await groups.send(crawl.group_of_site(site), request)
    answers: list[pb.SuggestExamplesResponse] = await groups.send_all(request)
    found = chain.from_iterable(answer.examples for answer in answers)
    return pb.SuggestExamplesResponse(
        examples=sorted(found, key=lambda example: (-example.value, example.url))[:n],
        policy=answers[0].policy,
        event_seq=events_in(answer.event_seq for answer in answers),
    )


async def rank_sites(groups: Groups, request: pb.RankSitesRequest) -> Any:
    """Ask each group what its sites are worth; no policy of such a crawl draws hosts over all sites."""
    crawl, most = groups.crawl, MAX_ITEMS["sites"]
    if not request.sites or len(request.sites) > most:
        return await groups.send(0, request)
    names, waiting, n = messages.site_ranking_query(request, crawl.name)
    every = without(request, "n")
    found = await _asked(
        names,
        crawl.group_of_site,
        lambda group, at: groups.send(group, _part(every, "sites", at)),
    )
    values = np.zeros(len(names))
    for rows, got in found:
        values[[rows[place] for place in got.order]] = got.values
    return messages.ranked(
        pb.RankSitesResponse,
        best_sites(values, waiting, n),
        policy=found[0][1].policy,
        event_seq=events_in(got.event_seq for _, got in found),
    )


async def rank_buckets(groups: Groups, request: pb.RankBucketsRequest) -> Any:
    """Let each group offer fetches, and hand places out by the offers."""
    crawl, most = groups.crawl, MAX_ITEMS["buckets"]
    if not request.buckets or len(request.buckets) > most:
        return await groups.send(0, request)
    messages.fetches_in_flight(request)
    asked = await _asked(
        request.buckets,
        crawl.group_of_bucket,
        lambda group, at: groups.ask(group, "bids", _bucket_part(crawl, request, group, at)),
    )
    values, offers = np.zeros(len(request.buckets)), []
    for rows, got in asked:
        values[rows] = got["values"]
        offers.append([Offer(*offer)._replace(row=rows[offer[1]]) for offer in got["bids"]])
    return messages.ranked(
        pb.RankBucketsResponse,
        allocate(offers, values, request.n),
        policy=asked[0][1]["policy"],
        event_seq=events_in(got["event_seq"] for _, got in asked),
        fills=bool(request.n),
    )


async def rank_revisits(groups: Groups, request: pb.RankRevisitsRequest) -> Any:
    """Ask the group of the site, or merge the best of all: what a page is worth needs no other page."""
    crawl = groups.crawl
    if request.site:
        site = site_of(request.site, crawl.name, "site")
        return await groups.send(crawl.group_of_site(site), request)
    answers: list[pb.RankRevisitsResponse] = await groups.send_all(request)
    best = merge(*(got.pages for got in answers), key=lambda page: (-page.worth, _site_of(page.site)))
    return pb.RankRevisitsResponse(
        pages=islice(best, request.max_results or DUE_PAGES),
        event_seq=events_in(got.event_seq for got in answers),
    )


def _bucket_part(
    crawl: RoutedCrawl, request: pb.RankBucketsRequest, group: int, rows: Sequence[int]
) -> pb.RankBucketsRequest:
    part: pb.RankBucketsRequest = without(request, "buckets", "waiting", "in_flight")
    part.buckets.extend(request.buckets[row] for row in rows)
    if request.waiting:
        part.waiting.extend(request.waiting[row] for row in rows)
    part.in_flight.extend(
        entry for entry in request.in_flight if crawl.group_of_bucket(entry.bucket) == group
    )
    return part


def _site_of(resource: str) -> str:
    return unquote(resource.rpartition("/")[2])


def _mean(values: Iterable[tuple[float, int]]) -> float:
    """Return the mean of means by their counts; 0 of none."""
    known = list(values)
    counted = sum(count for _, count in known)
    return sum(value * count for value, count in known) / counted if counted else 0.0


CALLS: dict[str, Callable[[Groups, Any], Awaitable[Any]]] = {
    "LinkScoringService/IngestPages": ingest,
    "LinkScoringService/ScoreLinks": SCORE.answer,
    "LinkScoringService/ReportFeedback": FEEDBACK.answer,
    "LinkScoringService/NotifyChanged": NOTIFY.answer,
    "LinkScoringService/RankBuckets": rank_buckets,
    "LinkScoringService/RankSites": rank_sites,
    "LinkScoringService/SuggestExamples": suggest_examples,
    "LinkScoringService/RankRevisits": rank_revisits,
    "CrawlService/GetCrawl": get_crawl,
    "SiteModelService/ListSites": list_sites,
    "SiteModelService/SuggestSeeds": suggest_seeds,
    **dict.fromkeys(
        (
            "BrowseLogService/ImportBrowseRecords",
            "BrowseLogService/GetBrowseStats",
            "BrowseLogService/MineSite",
        ),
        _no_logs,
    ),
    **dict.fromkeys(
        (
            "SiteModelService/GetSite",
            "SiteModelService/LearnSite",
            "SiteModelService/ExportRules",
            "InspectionService/ListTemplates",
            "InspectionService/ListTemplatePages",
            "InspectionService/GetHarvest",
        ),
        _of_site,
    ),
}
"""Calls about a crawl or a site, by service and method. One group that fails fails a call when all have
answered."""
