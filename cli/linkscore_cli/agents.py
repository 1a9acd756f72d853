"""`linkscore mcp`: what an agent does with a site, within a budget, as tools over the standard streams."""

from __future__ import annotations

import html
import os
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import cached_property, partial, wraps
from importlib.metadata import version
from threading import Thread
from typing import Annotated, Any
from urllib.parse import urlsplit

import click
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field

from linkscore import page, rows
from linkscore.aio import AsyncClient
from linkscore.errors import LinkscoreError, raise_if_invalid
from linkscore.frontier import Frontier, Item, Place
from linkscore.messages import FIRST_FAILURE, is_dropped
from linkscore.session import MAX_BODY_BYTES
from linkscore.v1 import common_pb2
from linkscore_cli.connection import Connection, online
from linkscore_cli.output import plain

MAX_URLS = 20
"""URLs that are given at a time. A bound: nothing is learned of a page before it is reported."""

_MAX_WAITING = 100_000
"""URLs that wait. A bound, of memory; as many buckets may be asked about."""

_STOPS = tuple(n for name, n in common_pb2.Decision.items() if name.startswith("DECISION_STOP"))
_OK = 200  # a fetch that brought a page (RFC 9110, section 15.3.1)
_Reward = Annotated[float, Field(ge=0, le=1)]
_MARKDOWN_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{0,500})\]\(\s*<?([^\s<>()]{1,2000})>?[^()\n]{0,500}\)")
_IS_HTML = re.compile(r"<(?:!doctype|html|head|body|a|p|div|h[1-6])\b", re.IGNORECASE)


class AgentCrawl:
    """What the tools of an agent do; ToolError says what cannot be done, and what to do instead."""

    def __init__(self, connect: Callable[[], AsyncClient], *, crawl: str = "", max_pages: int = 100) -> None:
        self._connect = connect
        self._is_kept = bool(crawl)
        self._given = crawl
        self.crawl = ""
        self._most = max_pages
        self._used = 0
        self._left = 0
        self._forget()

    @cached_property
    def _client(self) -> AsyncClient:
        return self._connect()

    def _forget(self) -> None:
        self._hosts: set[str] = set()
        self._seeds: set[str] = set()
        self._frontier = Frontier()
        self._tickets: dict[str, bytes] = {}  # of all links that were found
        self._taken: dict[str, Item | None] = {}  # None of a page that was reported unasked
        self._reported: set[str] = set()
        self._begun = uuid.uuid4()

    async def begin(
        self, start_urls: list[str], wanted: str = "", max_pages: Annotated[int, Field(ge=0)] = 0
    ) -> dict[str, Any]:
        """Begin a crawl at some URLs, for what is wanted in words; the last one ends."""
        for url in start_urls:
            if not _is_absolute(url):
                raise ToolError(f"start_urls: must be absolute http or https URLs, got {url!r}")
        if not start_urls:
            raise ToolError("start_urls: name at least one URL")
        left = self._most - self._used
        if left <= 0:
            raise ToolError(f"the budget of {self._most} pages is spent: stop crawling")
        await self.end()
        self._forget()
        crawl = self._given or f"agent-{uuid.uuid4().hex[:12]}"
        options: dict[str, Any] = {"policy": "topic", "wanted": wanted} if wanted else {}
        await self._client.ensure_crawl(crawl=crawl, **options)
        self.crawl = crawl
        self._left = min(left, max_pages or left)
        self._hosts = {urlsplit(url).netloc for url in start_urls}
        self._seeds = set(start_urls)
        for url in start_urls:
            self._frontier.add_seed(url)
        return {"crawl": self.crawl, "hosts": sorted(self._hosts), "budget": self._budget()}

    async def end(self) -> None:
        """End the crawl, if there is one; who has a role that may not delete leaves it behind."""
        if self.crawl and not self._is_kept:
            with suppress(LinkscoreError):
                await self._client.delete_crawl(crawl=self.crawl)
        self.crawl = ""

    async def close(self) -> None:
        """End the crawl and the connection."""
        await self.end()
        await self._client.close()

    async def next_urls(self, n: Annotated[int, Field(ge=1, le=MAX_URLS)] = 1) -> dict[str, Any]:
        """Return up to n (at most 20) URLs to fetch next, best first. Each counts against the budget.

        Few at a time are chosen better: every page that is reported improves the choice. `stop` says why
        there are none.
        """
        self._check_begun()
        n = min(n, self._left)
        if n and (waiting := self._frontier.waiting):
            self._frontier.allotment.asked()
            answer = await self._client.rank_buckets(
                crawl=self.crawl, buckets=waiting, n=n, in_flight=self._frontier.under_way, fill=True
            )
            self._frontier.values.update(self._frontier.allotment.read(answer, waiting=waiting, n=n))
        urls: list[dict[str, Any]] = []
        while len(urls) < n and (item := self._frontier.take()) is not None:
            self._spend(item.url, item)
            urls.append({"url": item.url, "value": round(item.score, 3)})
        why = ""
        if not urls:
            open_ = [url for url in self._taken if url not in self._reported]
            if not self._left:
                why = "the budget of pages is spent: stop crawling, and answer from what you have"
            elif open_:
                why = f"no link waits: report what came of {', '.join(open_[:3])} first"
            else:
                why = "no link waits: everything that was found is fetched"
        return {"urls": urls, "budget": self._budget()} | ({"stop": why} if why else {})

    def _spend(self, url: str, item: Item | None = None) -> None:
        """Count a page against the budget."""
        if item is not None and item.ticket:
            self._tickets[url] = item.ticket
        self._taken[url] = item
        self._used += 1
        self._left -= 1

    async def report_page(
        self, url: str, content: str = "", status: int = 200, reward: _Reward | None = None
    ) -> dict[str, Any]:
        """Tell what a fetch brought: its HTML or Markdown, or that it failed; and what the page was worth."""
        self._check_begun()
        said: dict[str, Any] = {}
        if url not in self._reported:
            said = await self._ingest(url, content, status)
        elif reward is None:
            raise ToolError("the page was reported already: only its reward can be said again")
        if reward is not None:
            await self._client.reward(
                crawl=self.crawl, url=url, reward=reward, ticket=self._tickets.get(url, b"")
            )
        return said | {"budget": self._budget()}

    async def _ingest(self, url: str, content: str, status: int) -> dict[str, Any]:
        if not content and status == _OK:
            raise ToolError("content: is empty; give the HTML or Markdown, or the status of a failed fetch")
        if url not in self._taken:
            if not self._left:
                raise ToolError("the budget of pages is spent: stop crawling, and answer from what you have")
            self._frontier.discard(url)
            self._spend(url)
        if status >= FIRST_FAILURE:
            brought: dict[str, Any] = {"status_code": status}
        elif not content:
            brought = {"fetch_error": "empty"}
        else:
            brought = {
                "body": _as_html(content).encode(errors="replace")[:MAX_BODY_BYTES],
                "content_type": "text/html; charset=utf-8",
            }
        # The same id when it is said again: the answer may have been lost, and not the page.
        event_id = uuid.uuid5(self._begun, url).hex
        sent = page(url=url, ticket=self._tickets.get(url, b""), event_id=event_id, **brought)
        (result,) = (await self._client.ingest_pages(crawl=self.crawl, pages=[sent])).results
        raise_if_invalid(result.status)
        self._reported.add(url)
        if (item := self._taken[url]) is not None:
            self._frontier.done(item)
        said: dict[str, Any] = {"new_links": self._wait(rows(result.links))}
        if result.HasField("relevance"):
            said["relevance"] = round(result.relevance, 3)
        if result.page_type:
            said["page_type"] = common_pb2.PageType.Name(result.page_type).removeprefix("PAGE_TYPE_").lower()
        return said

    def _wait(self, found: Iterable[Any]) -> int:
        """Let links of the hosts that were begun with wait; return how many are new.

        A link that a setting of the crawl forbids for good waits no more, unless the agent began with it.
        """
        new = 0
        for row in found:
            if is_dropped(row.skip_reason):
                if row.url not in self._seeds:
                    self._frontier.discard(row.url)
                continue
            if not row.usable or urlsplit(row.url).netloc not in self._hosts or row.url in self._taken:
                continue
            if row.url not in self._tickets:
                if len(self._tickets) >= _MAX_WAITING:
                    break
                new += 1
                self._tickets[row.url] = row.ticket
            self._frontier.add(row.url, [Place(row.bucket, row.score, row.bucket_value, row.ticket)])
        return new

    async def advise(self) -> dict[str, Any]:
        """Say whether going on pays: budget, links that wait, what they and the next pages bring, traps."""
        self._check_begun()
        found = [
            (site, await self._client.get_site_advice(crawl=self.crawl, site=site.host))
            async for site in self._client.list_sites(crawl=self.crawl)
        ]
        going_on = [(site, advice) for site, advice in found if advice.decision not in _STOPS]
        waiting = len(self._frontier)
        if not self._left:
            decision = "stop: the budget of pages is spent"
        elif not waiting:
            decision = "stop: no link waits"
        elif found and not going_on:
            decision = f"stop: {found[0][1].decision_reason}"
        elif going_on:
            site, advice = max(going_on, key=lambda each: each[1].expected_reward)
            pages = advice.expected_fetches
            mean = advice.expected_reward / pages if pages else 0.0
            ahead = f"the next {pages} pages of {site.host} should bring {mean:.2f} each"
            decision = f"go on: {ahead}, the last brought {advice.recent_reward:.2f}"
        else:
            decision = "go on: no page was reported yet"
        sites = [plain(advice) | {"site": site.host, "pages": site.page_count} for site, advice in found]
        return {"decision": decision, "budget": self._budget(), "waiting": waiting, "sites": sites}

    def _budget(self) -> dict[str, int]:
        return {"pages_left": self._left, "pages_used": self._used}

    def _check_begun(self) -> None:
        if not self.crawl:
            raise ToolError("no crawl was begun: call begin with start_urls")


def _is_absolute(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # "http://[::1": no parser takes it
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _as_html(content: str) -> str:
    """Return HTML as it is; Markdown as paragraphs with its links."""
    if _IS_HTML.search(content):
        return content
    pieces, at = list[str](), 0
    for link in _MARKDOWN_LINK.finditer(content):
        pieces.append(html.escape(content[at : link.start()]))
        pieces.append(f'<a href="{html.escape(link[2])}">{html.escape(link[1])}</a>')
        at = link.end()
    pieces.append(html.escape(content[at:]))
    return "".join(f"<p>{part}</p>" for part in "".join(pieces).split("\n\n"))


INSTRUCTIONS = """\
linkscore says which links of a site to fetch next and learns from what they bring. It fetches nothing itself.
1. begin: name start URLs and, in a sentence or keywords, what is wanted.
2. next_urls: fetch what it returns with your own tool.
3. report_page: hand over each page as HTML (best: places of links count) or Markdown, or the status of a
failure; and its reward, what it was worth to you, if you know.
Repeat 2 and 3 until you have your answer, or next_urls says stop. The budget of pages is fixed by whoever
started this server. advise says whether to go on, and what was found.
"""


@click.command("mcp")
@online
@click.option("--max-pages", type=click.IntRange(1, 1_000_000), default=100, show_default=True,
              help="Pages that agents may fetch in all while this process lasts.")  # fmt: skip
def mcp_command(connection: Connection, max_pages: int) -> None:
    """Let an agent crawl in linkscore's order: tools over the Model Context Protocol, by standard input.

    With --crawl the agent goes on with that crawl; else each begins one of its own, deleted in the end.
    """
    _mend_input()
    agent_server(connection, max_pages=max_pages).run("stdio")


_ESCAPES = re.compile(rb"(\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w)|\\u[dD][89a-fA-F]\w\w")
"""In JSON: what a backslash begins and is whole; half a surrogate pair, which no text of Unicode may hold."""


def _mend_input() -> None:
    """Put U+FFFD for halves of surrogate pairs in what agents write: a line with one is never answered."""
    source = os.dup(0)
    read, write = os.pipe()
    os.dup2(read, 0)
    os.close(read)

    def copy() -> None:
        with open(source, "rb") as lines, open(write, "wb", buffering=0) as mended:
            for line in lines:
                mended.write(_ESCAPES.sub(lambda found: found[1] or rb"\ufffd", line))

    Thread(target=copy, daemon=True).start()


def agent_server(connection: Connection, *, max_pages: int) -> MCPServer[None]:
    """Return the tools, over a server of linkscore."""
    connect = partial(AsyncClient, connection.target, tls=connection.tls_ca or False, token=connection.token)
    agent = AgentCrawl(connect, crawl=connection.crawl_option, max_pages=max_pages)

    @asynccontextmanager
    async def lasting(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await agent.close()

    tools = agent.begin, agent.next_urls, agent.report_page, agent.advise
    return MCPServer[None](
        "linkscore",
        title="linkscore: which link to fetch next",
        version=version("linkscore"),
        instructions=INSTRUCTIONS,
        tools=list(map(_tool, tools)),
        lifespan=lasting,
        log_level="WARNING",
    )


def _tool(made: Any) -> Tool:
    """Return a tool that refuses arguments it does not have: by default they are dropped in silence."""
    title = made.__name__.replace("_", " ").capitalize()
    hints = ToolAnnotations(
        read_only_hint=made.__name__ == "advise", destructive_hint=False, open_world_hint=False
    )
    tool = Tool.from_function(_told(made), title=title, annotations=hints)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


def _told(made: Any) -> Any:
    """Return a tool that says to the agent, as a sentence, what the server refuses."""

    @wraps(made)
    async def told(**given: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await made(**given)
            return found
        except LinkscoreError as error:
            raise ToolError(f"linkscore: {error}") from None

    return told
