"""`linkscore mcp`: tools for agents over standard input and output."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import wraps
from importlib.metadata import version
from threading import Thread
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

    def connect() -> AsyncClient:
        return AsyncClient(connection.target, tls=connection.tls_ca or False, token=connection.token)

    agent = AgentCrawl(connect, crawl=connection.crawl_option, max_pages=max_pages)

    @asynccontextmanager
    async def lasting(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await agent.close()

    titles = {
        agent.begin: "Begin a crawl",
        agent.next_urls: "Next URLs to fetch",
        agent.report_page: "Report a fetched page",
        agent.explain: "Why a link has its score",
        agent.advise: "Whether going on pays",
        agent.site_map: "What the site is made of",
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
    tool = Tool.from_function(_told(made), title=title, annotations=hints)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool


def _told(made: Any) -> Any:
    """Return a tool that says to the agent, as a sentence, what goes wrong."""

    @wraps(made)
    async def told(**given: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await made(**given)
            return found
        except AgentError as error:
            raise ToolError(str(error)) from None
        except LinkscoreError as error:
            raise ToolError(f"linkscore: {error}") from None

    return told
