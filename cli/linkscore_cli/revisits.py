"""Which pages to fetch again: `linkscore revisits`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import click

from linkscore import Client
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.output import json_option, print_json

TIMEOUT_S = 60.0
"""A bound: a call may go through all known pages of a crawl."""
_AT_ONCE = 1_000
"""Pages of one answer; the server gives 10,000 at most. Chosen, not measured."""


@click.command()
@click.argument("name", metavar="[CRAWL]", default="")
@click.option("--site", default="", help="Host, with port if it has one; all sites if none is named.")
@click.option(
    "-n", "--most", type=click.IntRange(1), default=100, show_default=True, help="At most this many."
)
@click.option("--now", type=click.DateTime(), help="Rank for this time, UTC. Default: now.")
@json_option
@online
def revisits(
    name: str, site: str, most: int, now: datetime | None, as_json: bool, connection: Connection
) -> None:
    """Print the URLs of the pages of CRAWL to fetch again, best first."""
    connection = connection.about(name)
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        pages = list(_pages(client, crawl, site, most, now))
    if as_json:
        print_json({"pages": pages})
        return
    for page in pages:
        click.echo(page.url)


def _pages(client: Client, crawl: str, site: str, most: int, now: datetime | None) -> Iterator[pb.DuePage]:
    token, left = "", most
    while left:
        size = min(left, _AT_ONCE)
        answer = client.rank_revisits(crawl=crawl, site=site, page_size=size, page_token=token, now=now)
        yield from answer.pages
        left, token = left - len(answer.pages), answer.next_page_token
        if not token:
            return
