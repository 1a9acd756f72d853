"""`linkscore shards`: the parts that crawls are divided into, and the process that has each."""

from __future__ import annotations

import click
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.output import json_option, print_json

# Columns of the table with names of usual length; a narrower terminal wraps lines, nothing is cut off.
_WIDTH = 145
# A bound: a process that does not answer is given up after 30 s, and its row says so.
_TIMEOUT_S = 60.0
_PACE = ("events/s", "bytes/s", "delay")
_STATES = {
    pb.SHARD_STATE_OPEN: "open",
    pb.SHARD_STATE_PUT_AWAY: "evicted",
    pb.SHARD_STATE_DAMAGED: "damaged",
    pb.SHARD_STATE_SILENT: "no answer",
}


@click.group()
def shards() -> None:
    """The parts that crawls are divided into, and the process that has each."""


@shards.command()
@click.argument("name", required=False, default="")
@click.option(
    "--busiest", type=click.IntRange(1), help="Only so many, those with most events a second first."
)
@json_option
@online
def status(name: str, busiest: int | None, as_json: bool, connection: Connection) -> None:
    """Show the shards of a crawl, or of all: owner, events, what a restart replays, memory, disk.

    What comes a second, and how long a call waits until it is durable, are means over about a minute.

    Exit code 1: one is damaged, or a process of the server does not answer.
    """
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        found = list(client.list_shards(crawl=name or connection.crawl_option))
    if busiest is not None:
        found = _busiest(found, busiest)
    if as_json:
        print_json(found)
    else:
        _show(found)
    if any(row.trouble for row in found):
        click.get_current_context().exit(1)


def _busiest(found: list[pb.Shard], most: int) -> list[pb.Shard]:
    """Return processes that do not answer, and the shards with most events a second."""
    silent = [row for row in found if row.state == pb.SHARD_STATE_SILENT]
    shards = [row for row in found if row.state != pb.SHARD_STATE_SILENT]
    return silent + sorted(shards, key=lambda row: -row.events_per_s)[:most]


def _show(found: list[pb.Shard]) -> None:
    table = Table(box=None, pad_edge=False)  # borders of so many columns alone would take half a terminal
    for column in ("crawl", "group", "owner", "state"):
        table.add_column(column, no_wrap=True)
    for column in ("events", *_PACE, "replay", "waiting", "sites", "live", "memory", "disk"):
        table.add_column(column, justify="right", no_wrap=True)
    console = Console()
    console.width = max(console.width, _WIDTH)
    for row in found:
        if row.state == pb.SHARD_STATE_SILENT:
            table.add_row("", "", Text(row.owner), _STATES[row.state])
            continue
        counts = (row.replay_count, row.waiting_count, row.site_count, row.live_site_count)
        is_open = row.state == pb.SHARD_STATE_OPEN
        table.add_row(
            Text(row.crawl.removeprefix("crawls/")),
            f"{row.group}/{row.group_count}",
            Text(row.owner),
            _STATES.get(row.state, "unknown"),
            *(_pace(row) if is_open else "-" * (1 + len(_PACE))),
            *(f"{count:,}" if is_open else "-" for count in counts),
            decimal(row.memory_bytes) if is_open else "-",
            decimal(row.disk_bytes),
        )
    console.print(table)
    for row in found:
        if row.trouble:
            console.print(Text(f"{row.crawl or row.owner}: {row.trouble}"), style="red", soft_wrap=True)


def _pace(row: pb.Shard) -> tuple[str, str, str, str]:
    """Return its events, how many came a second and in how many bytes, and how long a call waited."""
    bytes_per_s = decimal(round(row.bytes_per_s))
    return f"{row.event_seq:,}", f"{row.events_per_s:,.1f}", bytes_per_s, f"{row.delay_s * 1e3:,.0f} ms"
