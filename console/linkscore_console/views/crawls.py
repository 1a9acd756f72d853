"""All crawls, and one with its sites."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request

from linkscore.errors import LinkscoreError
from linkscore.v1 import (
    crawl_service_pb2,
    site_model_service_pb2,
)
from linkscore_console import words
from linkscore_console.page import AWAY, Console, Found, Source, view

_T = TypeVar("_T")

_SHOWN_CRAWLS = 50
"""A bound: rows of a page, each two calls; the command line lists them all. Chosen."""
_SHOWN_SITES = 100
"""A bound: rows of a page, all of them one call; the command line lists them all. Chosen."""
_MANY_FAILED, _MANY_COPIES, _FEW = 0.2, 0.5, 20
"""Shares of pages that failed, or showed only text known before, from which a crawl is said to be in trouble,
and pages it takes to say so. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """A crawl, what became of it (None: it could not be asked), and what is wrong."""

    name: str
    crawl: crawl_service_pb2.Crawl
    policy: str
    extra: list[str]
    activity: crawl_service_pb2.Activity | None
    trouble: list[str]

    @property
    def wanted(self) -> str:
        """What is wanted beside the queries."""
        wanted = self.crawl.wanted
        said = [
            f"in {', '.join(wanted.languages)}" if wanted.languages else "",
            f"{len(wanted.samples)} samples" if wanted.samples else "",
            f"{wanted.least_words} words and more" if wanted.least_words else "",
        ]
        return ", ".join(filter(None, said))


@view("crawls.html")
async def every(console: Console, request: Request) -> Found:
    """List crawls."""
    found = await console.source.ask(_first_crawls, source=console.source)
    rows = await asyncio.gather(*(_row(console.source, crawl) for crawl in found[:_SHOWN_CRAWLS]))
    return {"rows": rows, "more": len(found) > _SHOWN_CRAWLS}


@view("crawl.html")
async def one(console: Console, request: Request, crawl: str) -> Found:
    """Show a crawl and its sites."""
    row, sites = await asyncio.gather(
        _row(console.source, await console.source.ask(console.source.client.get_crawl, crawl=crawl)),
        console.source.ask(_first_sites, source=console.source, crawl=crawl),
    )
    return {"row": row, "sites": sites[:_SHOWN_SITES], "more": len(sites) > _SHOWN_SITES}


async def _first_crawls(source: Source) -> list[crawl_service_pb2.Crawl]:
    return await _first(source.client.list_crawls(page_size=_SHOWN_CRAWLS + 1), _SHOWN_CRAWLS)


async def _first_sites(source: Source, crawl: str) -> list[site_model_service_pb2.Site]:
    return await _first(source.client.list_sites(crawl=crawl, page_size=_SHOWN_SITES + 1), _SHOWN_SITES)


async def _first(listed: AsyncIterator[_T], shown: int) -> list[_T]:
    """Return what is shown of a list, and one more if there is."""
    found: list[_T] = []
    async for one in listed:
        found.append(one)
        if len(found) > shown:
            break
    return found


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
