"""A scripted agent answers the question suite over `linkscore mcp`: does it see the page within 30 fetches?

With a server at hand: ``python -m linkscore_research.wanted.agent FOLDER... --target HOST:PORT``.

The agent is a process of its own for each question. It does as the server's instructions say: it begins with
the front page and the question, fetches one URL at a time from the stored site, and hands each page over as
HTML. It says nothing of the worth of pages, since a script does not read.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from rich.console import Console

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.datasets.site import follow, identity_or_none
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_research.wanted.questions import FETCHES, Answered, site_names, table_of, tasks_of
from linkscore_research.wanted.tasks import TagTask, source

_FAILED = 400  # HTTP statuses from here on are failures (RFC 9110, section 15)


async def asked(site: WarcSite, task: TagTask, target: str) -> Answered:
    """Let an agent look for the page of a question."""
    (gold,) = task.pages
    command = ["-m", "linkscore_cli", "mcp", "--target", target, "--max-pages", str(FETCHES)]
    async with (
        stdio_client(StdioServerParameters(command=sys.executable, args=command)) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        await _call(session, "begin", start_urls=[site.entry], wanted=task.tag)
        fetches = 0
        while urls := (await _call(session, "next_urls"))["urls"]:
            fetches += 1
            url = urls[0]["url"]
            final, reply = follow(site, url)
            if gold in {identity_or_none(url), identity_or_none(final)}:
                return Answered(task.site, task.tag, "agent", task.is_judged, fetches)
            content = "" if reply.status >= _FAILED else reply.body.decode("utf-8", "replace")
            await _call(session, "report_page", url=url, content=content, status=reply.status)
    return Answered(task.site, task.tag, "agent", task.is_judged, 0)


async def _call(session: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await session.call_tool(tool, arguments)
    if found.is_error or found.structured_content is None:
        raise RuntimeError(f"{tool}: {found.content}")
    answer: dict[str, Any] = found.structured_content
    return answer


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--half", type=click.Choice(["dev", "judged"]), default="dev", show_default=True)
@click.option("--target", default="127.0.0.1:7411", show_default=True)
@json_file_option
def agent(folders: Sequence[Path], half: str, target: str, json_file: Path | None) -> None:
    outcomes = []
    with figures_to(json_file) as file:
        for name in site_names():
            found = source(name, folders)
            if found is None:
                raise click.UsageError(f"no archive of {name} with its labels")
            site = WarcSite(found.archives[0])
            for task in tasks_of(name):
                if task.is_judged == (half == "judged"):
                    outcomes.append(asyncio.run(asked(site, task, target)))
                    last = outcomes[-1]
                    click.echo(f"{last.site:18} {last.fetches:3} {last.question}", err=True)
            site.close()
        Console().print(table_of(outcomes))
        write_json(file, outcomes)


if __name__ == "__main__":
    sys.exit(agent())
