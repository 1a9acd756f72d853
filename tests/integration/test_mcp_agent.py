"""`linkscore mcp`: an agent by script, over standard input and output, crawls the example site."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from linkscore import Client
from support.server_process import serving

EXAMPLE = Path(__file__).parents[2] / "examples/site.py"
START = "http://forum.example/"
BUDGET = 60


@pytest.fixture(scope="module")
def fetch() -> Callable[[str], str | None]:
    page = runpy.run_path(str(EXAMPLE))["page"]
    return lambda url: page(url.removeprefix(START[:-1]))


class Agent:
    """Calls tools as a model does."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = await self._session.call_tool(tool, arguments)
        assert not found.is_error, found.content
        assert found.structured_content is not None
        return found.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        found = await self._session.call_tool(tool, arguments)
        assert found.is_error
        return "".join(part.text for part in found.content)  # type: ignore[union-attr]


@asynccontextmanager
async def agent(target: str, *flags: str) -> AsyncIterator[Agent]:
    """Start the command as a host of agents does."""
    command = ["-m", "linkscore_cli", "mcp", "--target", target, *flags]
    async with (
        stdio_client(StdioServerParameters(command=sys.executable, args=command)) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        yield Agent(session)


async def crawled(it: Agent, fetch: Callable[[str], str | None], n: int, *, says_reward: bool) -> list[str]:
    """Let an agent crawl as INSTRUCTIONS say; return what it fetched."""
    fetched: list[str] = []
    while urls := (await it.call("next_urls", n=n))["urls"]:
        for one in urls:
            body = fetch(one["url"])
            fetched.append(one["url"])
            if body is None:
                await it.call("report_page", url=one["url"], status=404)
                continue
            reward = {"reward": float('class="post"' in body)} if says_reward else {}
            await it.call("report_page", url=one["url"], content=body, **reward)
    return fetched


@pytest.mark.long
async def test_an_agent_finds_threads_and_stops_when_its_budget_is_spent(
    target: str, fetch: Callable[[str], str | None]
) -> None:
    async with agent(target, "--max-pages", str(BUDGET)) as it:
        begun = await it.call("begin", start_urls=[START])
        assert begun["budget"] == {"pages_left": BUDGET, "pages_used": 0}
        fetched = await crawled(it, fetch, 1, says_reward=True)
        assert len(fetched) == BUDGET == len(set(fetched))
        # In the order found ten are threads: boards, members, tags and days come first.
        assert sum("/thread/" in url for url in fetched) > 0.6 * BUDGET
        assert "stop crawling" in (await it.call("next_urls"))["stop"]
        assert "budget" in (await it.call("advise"))["decision"]
        assert "stop crawling" in await it.refused("report_page", url=f"{START}thread/x", content="<p>")
        assert "already" in await it.refused("report_page", url=START, content="<p>")
        assert "new_links" not in await it.call("report_page", url=START, reward=0.5)
        assert "stop crawling" in await it.refused("begin", start_urls=[START])
        crawl = begun["crawl"]
        with Client(target) as client:
            assert client.get_crawl(crawl=crawl).page_count == BUDGET
    with Client(target) as client:
        assert crawl not in [one.name.removeprefix("crawls/") for one in client.list_crawls()]


@pytest.mark.long
async def test_what_an_agent_asks_is_answered(target: str, fetch: Callable[[str], str | None]) -> None:
    async with agent(target, "--crawl", "kept", "--max-pages", "30") as it:
        assert "begin" in await it.refused("next_urls")
        assert "html" in await it.refused("report_page", url=START, html="<p>")
        await it.call("begin", start_urls=[START], wanted="armon belter corvin", max_pages=25)
        (first,) = (await it.call("next_urls"))["urls"]
        assert first["url"] == START
        told = await it.call("report_page", url=START, content=fetch(START))
        assert told["new_links"] == 9
        assert 0.0 <= told["relevance"] <= 1.0
        await crawled(it, fetch, 4, says_reward=False)
        advice = await it.call("advise")
        assert advice["waiting"] > 0
        (site,) = advice["sites"]
        assert (site["site"], site["pages"]) == ("forum.example", 25)
        assert sum(int(group.get("fetched_count", 0)) for group in site["yields"]) >= 20
        again = await it.call("begin", start_urls=["http://other.example/"])
        assert again["budget"] == {"pages_left": 5, "pages_used": 25}
    with Client(target) as client:
        assert client.get_crawl(crawl="kept").page_count == 25


async def test_tools_say_what_they_are_for(target: str) -> None:
    async with agent(target) as it:
        tools = {tool.name: tool for tool in (await it._session.list_tools()).tools}
        assert list(tools) == ["begin", "next_urls", "report_page", "advise"]
        assert all(tool.description for tool in tools.values())
        assert tools["report_page"].input_schema["required"] == ["url"]
        assert "greater than or equal to 1 " in await it.refused("next_urls", n=-1)
        assert "less than or equal to 1 " in await it.refused("report_page", url=START, reward=7)


async def test_half_a_surrogate_pair_is_answered() -> None:
    """The client of `mcp` cannot write one; other hosts of agents do."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    said = {"name": "report_page", "arguments": {"url": START, "content": "\ud800"}}
    asked = [{"method": "initialize", "params": hello}, {"method": "tools/call", "params": said}]
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, **each}) for n, each in enumerate(asked)]
    command = [sys.executable, "-m", "linkscore_cli", "mcp", "--target", "127.0.0.1:1"]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        for line in lines:
            print(line, file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
        process.stdin.close()
    assert (answer["id"], "no crawl was begun" in str(answer["result"])) == (1, True)


async def test_a_server_that_is_not_there_is_said_to_the_agent() -> None:
    async with agent("127.0.0.1:1") as it:
        assert "127.0.0.1:1" in await it.refused("begin", start_urls=[START])


@pytest.mark.slow
async def test_a_server_that_goes_and_comes_back_costs_an_agent_an_answer_and_no_page(
    tmp_path: Path, fetch: Callable[[str], str | None]
) -> None:
    with serving(tmp_path) as process:
        target = process.target
        async with agent(target, "--crawl", "kept", "--max-pages", "20") as it:
            await it.call("begin", start_urls=[START])
            (first,) = (await it.call("next_urls"))["urls"]
            await it.call("report_page", url=first["url"], content=fetch(first["url"]))
            (second,) = (await it.call("next_urls"))["urls"]
            process.kill()
            page = {"url": second["url"], "content": fetch(second["url"])}
            assert "linkscore" in await it.refused("report_page", **page)
            assert "linkscore" in await it.refused("next_urls")
            with serving(tmp_path, "--listen", target):
                for _ in range(400):  # a connection that failed is tried again after some seconds
                    found = await it._session.call_tool("report_page", page)
                    if not found.is_error:
                        break
                    await asyncio.sleep(0.5)
                assert found.structured_content is not None
                assert found.structured_content["budget"]["pages_used"] == 2
                fetched = await crawled(it, fetch, 1, says_reward=True)
                assert len({first["url"], second["url"], *fetched}) == 20
                with Client(target) as client:
                    assert client.get_crawl(crawl="kept").page_count == 20
