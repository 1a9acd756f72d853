"""`linkscore data regroup`: a crawl of one group becomes one of several."""

from __future__ import annotations

from pathlib import Path

import click

from linkscore_scoring.engine.groups import MAX_GROUPS
from linkscore_server.commands.data import data_dir_option, opened


@click.command("regroup")
@click.argument("crawl")
@click.option("--groups", type=click.IntRange(2, MAX_GROUPS), required=True, help="How many it is to have.")
@data_dir_option
def regroup_command(crawl: str, groups: int, data_dir: Path) -> None:
    """Divide a crawl of one group into several, so that several processes can share it.

    The crawl stays as it is until all is written, and then changes in one step. Killed before, run it again.
    Tickets that were given out stay good. There is no way back; export the crawl first if you may
    want it as it was.
    """
    with opened(data_dir) as store:
        from linkscore_server.regroup.files import regroup

        ends = regroup(store, crawl, groups)
    click.echo(f"{data_dir}: crawl {crawl} has {groups} groups of {min(ends):,} to {max(ends):,} events")
