"""`linkscore data regroup`: a crawl is given another number of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from linkscore_scoring.engine.groups import MAX_GROUPS
from linkscore_server.commands.data import data_dir_option, elsewhere, opened, plain_failures, store_options


@click.command("regroup")
@click.argument("crawl")
@click.option("--groups", type=click.IntRange(2, MAX_GROUPS), required=True, help="How many it is to have.")
@data_dir_option
@store_options
def regroup_command(crawl: str, groups: int, data_dir: Path, **log: Any) -> None:
    """Divide a crawl into another number of groups, so that more or fewer processes share it.

    No server may run. The crawl stays as it is until all is written. Killed, run it again: in a data folder
    the crawl is then as it was or divided, and in another store (`--log SCHEME://...`) no server opens it
    before. Tickets that were given out stay good. There is no way back to one group; export the crawl first
    if you may want it as it was.
    """
    with elsewhere(log) as other:
        if other is None:
            with opened(data_dir) as store:
                from linkscore_server.regroup.files import regroup

                ends = regroup(store, crawl, groups)
        else:
            with plain_failures():
                from linkscore_server.regroup.writing import write_divided

                remote, there = other
                ends = remote.rewrite(there, crawl, groups, write_divided)
    place = log["log"] if other else data_dir
    click.echo(f"{place}: crawl {crawl} has {groups} groups of {min(ends):,} to {max(ends):,} events")
