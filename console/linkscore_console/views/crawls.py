"""All crawls, and one with its sites."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from linkscore.errors import LinkscoreError
from linkscore.v1 import (
    crawl_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore_console import words
from linkscore_console.page import back_to, console_of
from linkscore_console.source import AWAY, Source

_SHOWN_CRAWLS = 50
"""A bound: rows of a page, each two calls; the command line lists them all. Chosen."""
_SHOWN_SITES = 100
"""A bound: rows of a page, all of them one call; the command line lists them all. Chosen."""
_SHOWN_DUE = 20
"""A bound: pages to fetch again that are listed; `linkscore revisits` lists more. Chosen."""
_MANY_FAILED, _MANY_COPIES, _FEW = 0.2, 0.5, 20
"""Shares of pages that failed, or showed only text known before, from which a crawl is said to be in trouble,
and pages it takes to say so. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """A crawl, what became of it (None: it could not be asked), pages a second, and what is wrong."""

    name: str
    crawl: crawl_service_pb2.Crawl
    policy: str
    extra: list[str]
    activity: crawl_service_pb2.Activity | None
    rate: float | None
    trouble: list[str]

    @property
    def wanted(self) -> str:
        """What is wanted beside the queries."""
        wanted = self.crawl.wanted
        said = [
            f"in {', '.join(wanted.languages)}" if wanted.languages else "",
            f"{len(wanted.samples)} samples" if wanted.samples else "",
            f"{wanted.least_words} words and more" if wanted.least_words else "",
            f"quality {wanted.quality_weight:g}" if wanted.quality_weight else "",
            f"embedding {wanted.embedding}" if wanted.embedding else "",
        ]
        return ", ".join(filter(None, said))


async def every(request: Request) -> Response:
    """List crawls."""
    console = console_of(request)
    found = await console.source.ask(_first_crawls, source=console.source)
    rows = await asyncio.gather(*(_row(console.source, crawl) for crawl in found[:_SHOWN_CRAWLS]))
    more = len(found) > _SHOWN_CRAWLS
    return console.render(request, "crawls.html", rows=rows, more=more, policies=words.POLICIES)


async def one(request: Request) -> Response:
    """Show a crawl and its sites."""
    console, name = console_of(request), request.path_params["crawl"]
    crawl = await console.source.ask(console.source.client.get_crawl, crawl=name)
    row, sites, due = await asyncio.gather(
        _row(console.source, crawl),
        console.source.ask(_first_sites, source=console.source, crawl=name),
        _due(console.source, crawl),
    )
    return console.render(
        request,
        "crawl.html",
        row=row,
        crawl=name,
        sites=sites[:_SHOWN_SITES],
        more=len(sites) > _SHOWN_SITES,
        due=due,
        policies=words.POLICIES,
    )


async def create(request: Request) -> Response:
    """Create a crawl."""
    console = console_of(request)
    form = await console.form_of(request)
    scopes = {word: scope for scope, word in words.SCOPES.items()}
    made = await console.source.tell(
        console.source.client.create_crawl,
        crawl=form.get("name", ""),
        policy=form.get("policy") or None,
        extra_policies=_names(form),
        scope=scopes.get(form.get("scope", ""), crawl_service_pb2.CRAWL_SCOPE_UNSPECIFIED),
        observe_only="observe_only" in form,
        keep_titles="keep_titles" in form,
        wanted=_wanted(form, crawl_service_pb2.Wanted()) or None,
    )
    return back_to(f"/{made.name}")


async def configure(request: Request) -> Response:
    """Change the policies of a crawl, and its queries."""
    console, name = console_of(request), request.path_params["crawl"]
    form = await console.form_of(request)
    there = (await console.source.ask(console.source.client.get_crawl, crawl=name)).wanted
    wanted = _wanted(form, there) if "queries" in form else there
    await console.source.tell(
        console.source.client.update_crawl,
        crawl=name,
        policy=form.get("policy") or None,
        extra_policies=_names(form),
        observe_only="observe_only" in form,
        wanted=None if wanted == there else wanted or {},
    )
    return back_to(f"/crawls/{name}")


def _names(form: Mapping[str, str]) -> list[str]:
    """Return the policies of a field, separated by commas or spaces."""
    return form.get("extra", "").replace(",", " ").split()


def _wanted(form: Mapping[str, str], there: crawl_service_pb2.Wanted) -> crawl_service_pb2.Wanted | None:
    """Return what is wanted with the queries of a form, one a line, for those there; None: nothing."""
    known = {query.text: query for query in there.queries}
    texts = [line.strip() for line in form.get("queries", "").splitlines() if line.strip()]
    made = crawl_service_pb2.Wanted()
    made.CopyFrom(there)
    del made.queries[:]
    made.queries.extend(known.get(text) or crawl_service_pb2.WantedQuery(text=text) for text in texts)
    return made if made.ByteSize() else None


async def _first_crawls(source: Source) -> list[crawl_service_pb2.Crawl]:
    found = []
    async for crawl in source.client.list_crawls(page_size=_SHOWN_CRAWLS + 1):
        found.append(crawl)
        if len(found) > _SHOWN_CRAWLS:
            break
    return found


async def _first_sites(source: Source, crawl: str) -> list[site_model_service_pb2.Site]:
    found = []
    async for site in source.client.list_sites(crawl=crawl, page_size=_SHOWN_SITES + 1):
        found.append(site)
        if len(found) > _SHOWN_SITES:
            break
    return found


async def _due(
    source: Source, crawl: crawl_service_pb2.Crawl
) -> link_scoring_service_pb2.RankRevisitsResponse | None:
    """Return which pages are to be fetched again, None if the crawl does not, or the server does not say."""
    if not crawl.HasField("revisit"):
        return None
    try:
        name = crawl.name.removeprefix("crawls/")
        return await source.ask(source.client.rank_revisits, crawl=name, page_size=_SHOWN_DUE)
    except AWAY:
        raise
    except LinkscoreError:
        return None


async def _row(source: Source, crawl: crawl_service_pb2.Crawl) -> CrawlRow:
    name = crawl.name.removeprefix("crawls/")
    activity, trouble = None, []
    try:
        activity = await source.ask(source.client.get_activity, crawl=name)
        trouble = _trouble(activity)
    except AWAY:
        raise
    except LinkscoreError as error:
        trouble = [str(error)]
    return CrawlRow(
        name,
        crawl,
        words.policy_name(crawl.policy),
        [words.policy_name(spec) for spec in crawl.extra_policies],
        activity,
        source.rate(name, crawl.page_count),
        trouble,
    )


def _trouble(activity: crawl_service_pb2.Activity) -> list[str]:
    pages = activity.page_count
    if pages < _FEW:
        return []
    found = []
    if activity.failed_count > _MANY_FAILED * pages:
        found.append(f"{words.share(activity.failed_count / pages)} of the fetches failed")
    if activity.duplicate_count > _MANY_COPIES * pages:
        found.append(f"{words.share(activity.duplicate_count / pages)} of the pages showed nothing new")
    return found
