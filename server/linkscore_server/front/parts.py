"""A crawl as whoever routes calls knows it: which of its groups has what a call is about, and who has it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from linkscore.v1 import common_pb2
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.urls.identity import host_of
from linkscore_server.front.owners import Owners
from linkscore_server.groups import Shard, group_of, group_of_hash
from linkscore_server.services.messages import crawl_name, parse_site
from linkscore_server.services.pages import came_from, has_page


@dataclass(frozen=True, slots=True)
class RoutedCrawl:
    """A crawl of several groups, or one that another process owns."""

    name: str  # as created
    groups: int
    domain_of: Callable[[str], str] | None  # gives the site of a host; None if that is the host itself
    book: TicketBook  # reads the tickets of the crawl

    def shard(self, group: int) -> Shard:
        """Return one of its groups."""
        return Shard(self.name, group, self.groups)

    def resource(self, group: int) -> str:
        """Return the resource name by which the owner of a group is asked."""
        return crawl_name(self.shard(group).key)

    def site_of(self, url: str) -> str:
        """Return the site of a URL, as `CrawlModel.site_of`."""
        host = host_of(url)
        return self.domain_of(host) if self.domain_of is not None else host

    def group_of_site(self, site: str) -> int:
        """Return the group of a site."""
        return group_of(site, self.groups)

    def group_of_name(self, resource: str, field: str = "name") -> int:
        """Return the group of a site by its resource name; InvalidInput if it is none."""
        return self.group_of_site(parse_site(resource, field)[1])

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
            return group_of_hash(ticket.site, self.groups)
        return self.group_of_url(link.url)

    def group_of_page(self, page: common_pb2.Page) -> int:
        """Return the group of a page: of the URL that it came from, if it came."""
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
