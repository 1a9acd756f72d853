"""`linkscore mcp`: tools for agents over standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import click
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations

from linkscore.aio import AsyncClient
from linkscore.errors import LinkscoreError
from linkscore_cli.agents.crawl import AgentCrawl, AgentError
from linkscore_cli.connection import Connection, online
from linkscore_cli.files import check_certificate

INSTRUCTIONS = """\
linkscore says which links of a site to fetch next and learns from what they bring. It fetches nothing itself.
1. begin: name start URLs and, in a sentence or keywords, what is wanted.
2. next_urls: fetch what it returns with your own tool.
3. report_page: hand over each page as HTML (best: places of links count) or Markdown, or the status of a
failure; and its reward, what it was worth to you, if you know.
Repeat 2 and 3 until you have your answer, or next_urls says stop. The budget of pages is fixed by whoever
started this server. explain, advise and site_map say why, whether to go on, and what was found.
"""


@click.command("mcp")
@online
@click.option("--max-pages", type=click.IntRange(1), default=100, show_default=True,
              help="Pages that agents may fetch in all while this process lasts.")  # fmt: skip
def mcp_command(connection: Connection, max_pages: int) -> None:
    """Let an agent crawl in linkscore's order: tools over the Model Context Protocol, by standard input.

    With --crawl the agent goes on with that crawl; else each begins one of its own, deleted in the end.
    """
    if connection.tls_ca is not None:
        check_certificate("--tls-ca", connection.tls_ca)
    agent_server(connection, max_pages=max_pages).run("stdio")


def agent_server(connection: Connection, *, max_pages: int) -> MCPServer[None]:
    """Return the tools, over a server of linkscore."""

    def connect() -> AsyncClient:
        return AsyncClient(connection.target, tls=connection.tls_ca or False, token=connection.token)

    agent = AgentCrawl(connect, crawl=connection.crawl_option, max_pages=max_pages)

    @asynccontextmanager
    async def lasting(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await agent.close()

    it = _Tools(agent)
    titles = {
        it.begin: "Begin a crawl",
        it.next_urls: "Next URLs to fetch",
        it.report_page: "Report a fetched page",
        it.explain: "Why a link has its score",
        it.advise: "Whether going on pays",
        it.site_map: "What the site is made of",
    }
    return MCPServer[None](
        "linkscore",
        title="linkscore: which link to fetch next",
        version=version("linkscore"),
        instructions=INSTRUCTIONS,
        tools=[_tool(made, title) for made, title in titles.items()],
        lifespan=lasting,
        log_level="WARNING",
    )


def _tool(made: Any, title: str) -> Tool:
    """Return a tool that refuses arguments it does not have: by default they are dropped in silence."""
    asks = made.__name__ in ("explain", "advise", "site_map")
    hints = ToolAnnotations(read_only_hint=asks, destructive_hint=False, open_world_hint=False)
    tool = Tool.from_function(made, title=title, annotations=hints)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


class _Tools:
    """The tools; agents read the docstring of each, and its parameters."""

    def __init__(self, agent: AgentCrawl) -> None:
        self._agent = agent

    async def begin(self, start_urls: list[str], wanted: str = "", max_pages: int = 0) -> dict[str, Any]:
        """Begin to crawl the sites of some start URLs. Ends a crawl that was begun before.

        wanted: what pages are wanted, as a question or keywords; empty: pages with new text.
        max_pages: pages to fetch at most; 0: all that the budget has left.
        """
        return await _told(self._agent.begin(start_urls, wanted, max_pages))

    async def next_urls(self, n: int = 1) -> dict[str, Any]:
        """Return up to n (at most 20) URLs to fetch next, best first. Each counts against the budget.

        Few at a time are chosen better: every page that is reported improves the choice. `stop` says why
        there are none.
        """
        return await _told(self._agent.next_urls(n))

    async def report_page(
        self, url: str, content: str = "", status: int = 200, reward: float | None = None
    ) -> dict[str, Any]:
        """Report a page that was fetched, so that its links are scored and the order learns.

        content: its HTML, or Markdown with its links; leave it out only for a failed fetch.
        status: its HTTP status.
        reward: what the page was worth to you, from 0 to 1, if you know; the order learns most from it.
        Returns the number of new links and, with `wanted`, how relevant the page is, from 0 to 1.
        """
        return await _told(self._agent.report_page(url, content, status, reward))

    async def explain(self, urls: list[str]) -> dict[str, Any]:
        """Say why URLs that were found have their scores, in a sentence and numbers. At most 20."""
        return await _told(self._agent.explain(urls))

    async def advise(self) -> dict[str, Any]:
        """Say whether going on pays: budget, links that wait, what the next pages should bring, traps."""
        return await _told(self._agent.advise())

    async def site_map(self) -> dict[str, Any]:
        """Show what the site is made of: groups of links by the shape of their URLs, and page templates."""
        return await _told(self._agent.site_map())


async def _told(work: Any) -> dict[str, Any]:
    """Return what a tool found; what went wrong is said to the agent as a sentence."""
    try:
        found: dict[str, Any] = await work
        return found
    except AgentError as error:
        raise ToolError(str(error)) from None
    except LinkscoreError as error:
        raise ToolError(f"linkscore: {error}") from None
    except UnicodeError:
        raise ToolError("an argument holds half a surrogate pair, which is no text: leave it out") from None
