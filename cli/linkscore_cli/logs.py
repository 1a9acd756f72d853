"""`linkscore logs`: what browse logs tell. The server adds `logs import`."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import click
from google.protobuf.timestamp_pb2 import Timestamp
from rich.table import Table

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.files import lines_of, reading, text_of
from linkscore_cli.output import json_option, table, tell
from linkscore_cli.plugins import CommandGroup
from linkscore_cli.sites import MINING_TIMEOUT_S

# A bound, chosen.
_TIMEOUT_S = 60.0
# A bound, of a table of labels: the server takes at most 100,000 URLs of 2,083 characters.
_MAX_LABEL_BYTES = 256 << 20
_YES, _NO = ("1", "true", "yes", "news"), ("0", "false", "no", "")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(cls=CommandGroup, own={"import": "linkscore_server.browse_logs.command:import_logs [logs]"})
def logs() -> None:
    """Browse logs: what people visit on a site, for policies that learn from it."""


@logs.command()
@click.argument("sites", metavar="[SITE]...", nargs=-1)
@click.option(
    "--window",
    type=click.IntRange(0, 3_650),
    default=0,
    help="Days to look back from the last; 0: the server's setting.",
)
@click.option("--labels", type=_FILE, help="Table of url and is_news, to fit the threshold of news on.")
@json_option
@online
def mine(
    sites: tuple[str, ...],
    window: int,
    labels: Path | None,
    as_json: bool,
    connection: Connection,
) -> None:
    """Mine the browse logs of SITE, or of all sites, now, and say what policies learned."""
    crawl = connection.crawl
    known = read_labels(labels) if labels else {}
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        answers = {
            site: client.mine_site(
                crawl=crawl,
                site=site,
                window_days=window,
                news_labels=known,
                timeout_s=MINING_TIMEOUT_S,
            )
            for site in sites or [found.site for found in client.get_browse_stats(crawl=crawl).sites]
        }
    nothing = f"No policy of crawl {crawl} reads browse logs: there is nothing to mine."
    mined = [_mined(site, answer) for site, answer in answers.items() if answer.policies]
    tell(as_json, answers, mined or [nothing])


@logs.command()
@json_option
@online
def stats(as_json: bool, connection: Connection) -> None:
    """Say what a crawl holds of browse logs."""
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        found = client.get_browse_stats(crawl=connection.crawl)
    tell(as_json, found, [_records(found), _sites(found)])


def read_labels(path: Path) -> dict[str, bool]:
    """Return whether pages are news, from a table with the columns url and is_news, tabs or commas between.

    BadParameter if it is no text, a column is missing, or a row says neither yes nor no; it names the line.
    """
    with reading("--labels", path):
        text = text_of(path, max_bytes=_MAX_LABEL_BYTES)
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    table = csv.DictReader(lines_of(io.StringIO(text, newline="")), delimiter=delimiter, restval="")
    try:
        if not {"url", "is_news"} <= set(table.fieldnames or ()):
            raise _bad_labels(f"{path.name} must have the columns url and is_news")
        return {row["url"]: _is_news(row["is_news"], path, table.line_num) for row in table}
    except csv.Error as exc:
        raise _bad_labels(f"{path.name}, line {table.line_num}: {exc}") from exc


def _is_news(value: str, path: Path, line: int) -> bool:
    if value.lower() not in _YES + _NO:
        raise _bad_labels(f"{path.name}, line {line}: is_news must be 1 or 0, got {value[:40]!r}")
    return value.lower() in _YES


def _bad_labels(rule: str) -> click.BadParameter:
    return click.BadParameter(rule, param_hint="--labels")


def _mined(site: str, answer: pb.MineSiteResponse) -> Table:
    rows = [
        ("window", f"{answer.window_days} days from {_date(answer.window_start)}"),
        ("visits", f"{answer.visit_count:,} of {answer.page_count:,} pages"),
    ]
    if answer.left_out_count:
        rows.append(("left out", f"{answer.left_out_count:,} visits of clients that are no people"))
    return table([*rows, *((mined.policy, mined.summary) for mined in answer.policies)], title=site)


def _records(stats: pb.GetBrowseStatsResponse) -> Table:
    left_out = sorted(stats.left_out.items(), key=lambda item: -item[1])
    rows = [("visits", stats.visit_count, "one a client, page and day of a batch")]
    rows += [(rule, count, RULES.get(rule, "left out by the sender")) for rule, count in left_out]
    title = f"{len(stats.days)} days, {stats.batch_count:,} batches"
    return table(rows, "", "records", "", title=title)


def _sites(stats: pb.GetBrowseStatsResponse) -> Table:
    rows = [
        (
            site.site,
            site.visit_count,
            _date(site.first_day),
            _date(site.last_day),
            f"{site.mined_days} days from {_date(site.mined_start)}" if site.mined_days else "not yet",
        )
        for site in stats.sites
    ]
    return table(rows, "site", "visits", "first day", "last day", "mined")


def _date(time: Timestamp) -> str:
    return datetime.fromtimestamp(time.seconds, UTC).date().isoformat()


RULES = {
    "bad_line": "not readable, or without time or client",
    "method": "not a GET",
    "status": "answered with 400 or more",
    "bot": "user agent of a program",
    "asset": "content type or extension of something other than a page",
    "bad_url": "no absolute http or https URL",
    "host": "host not among those asked for",
    "repeat": "same client, page and day as another record",
}
"""What the reasons to leave a record out mean, by the names the server counts them under."""
