"""What a crawl knows: `linkscore score`, `advise`, `seeds`, `skipped`, `revisits`, `export` and `logs`.

The server adds `logs import` and `export tables`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import click
from google.protobuf.timestamp_pb2 import Timestamp
from rich.table import Table

from linkscore import Row, rows
from linkscore.v1 import browse_log_service_pb2 as logs_pb
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.errors import safe
from linkscore_cli.main import CommandGroup
from linkscore_cli.output import json_option, name_of, plain, say, table, tell, word_of

# URLs of one call: a quarter of what the server takes.
_BATCH = 5_000


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--why", is_flag=True, help="Say what each score is made of, in the order given.")
@json_option
@online
def score(urls: tuple[str, ...], why: bool, as_json: bool, connection: Connection) -> None:
    """Score URLs by what a crawl has learned, best first; - reads them from standard input.

    Nothing is fetched and nothing learned. A URL is scored by itself: the place of its link, which a crawler
    sends along, is not known here, so that a crawl may think otherwise of the same URL.
    """
    crawl, found, wanted = connection.crawl, list[tuple[str, Row]](), _urls(urls)
    with connection.client() as client:
        if why:
            answer = client.explain_links(crawl=crawl, links=wanted)
            return _explain(answer, as_json)
        while batch := list(islice(wanted, _BATCH)):
            answer = client.score_links(crawl=crawl, links=batch)
            found += zip(batch, rows(answer.links), strict=True)
    tell(as_json, [_plain(url, row) for url, row in found], [_table(found)])
    for url, row in found:
        if not row.usable:
            say(f"{url}: {_problem(row)}", err=True)
    sys.exit(0 if any(row.usable for _, row in found) else 1)


def _urls(given: Iterable[str]) -> Iterator[str]:
    for url in given:
        if url == "-":
            yield from filter(None, map(str.strip, sys.stdin))
        else:
            yield url


def _table(found: list[tuple[str, Row]]) -> Table:
    made = Table("score", "advice", "kind", "bucket", "URL", box=None, pad_edge=False)
    for url, row in sorted(found, key=lambda pair: -pair[1].score):
        if row.usable:
            made.add_row(f"{row.score:.4f}", _advice(row), _kind(row), name_of(row.bucket), name_of(url))
    return made


def _plain(url: str, row: Row) -> dict[str, Any]:
    if not row.usable:
        return {"url": url, "problem": _problem(row)}
    said = {"advice": _advice(row), "kind": _kind(row), "bucket": row.bucket}
    return {"url": url, "score": row.score} | {name: value for name, value in said.items() if value}


def _advice(row: Row) -> str:
    if not row.in_scope:
        return "out of scope"
    if row.verdict == common_pb2.VERDICT_FOLLOW:
        return "follow"
    return "skip" if row.verdict == common_pb2.VERDICT_SKIP else ""


def _kind(row: Row) -> str:
    return word_of(common_pb2.UrlType, row.url_type)


def _problem(row: Row) -> str:
    problems = row.status.problems if row.status is not None else ()
    return "; ".join(problem.description for problem in problems) or "cannot be scored"


def _explain(answer: scoring_pb.ScoreLinksResponse, as_json: bool) -> None:
    for found in answer.explanations:
        if found.status.problems:
            raise click.ClickException(
                "; ".join(f"URL: {safe(p.description)}" for p in found.status.problems)
            )
    told = [{"policy": answer.policy} | plain(found) for found in answer.explanations]
    tell(as_json, told, (part for found in answer.explanations for part in _explained(found, answer.policy)))


def _explained(found: scoring_pb.LinkExplanation, policy: str) -> Iterator[str | Table]:
    yield found.url
    yield f"{policy}: {found.summary}"
    place = found.source_cluster or "unknown cluster", found.tag_path or "unknown link path"
    rows = [("score", f"{found.score:.4f}", ""), ("bucket", found.bucket, ""), ("found on", *place)]
    if reason := word_of(common_pb2.SkipReason, found.skip_reason):
        rows.append(("to skip", reason, "by a setting of the crawl, whatever its score is"))
    yield table([*rows, *((term.name, f"{term.value:.4g}", term.description) for term in found.terms)])


@click.group(cls=CommandGroup, own={"import": "linkscore_server.browse_logs.command:import_logs [logs]"})
def logs() -> None:
    """Browse logs: what people visit on a site, for policies that learn from it."""


@logs.command()
@click.argument("sites", metavar="[SITE]...", nargs=-1)
@json_option
@online
def mine(sites: tuple[str, ...], as_json: bool, connection: Connection) -> None:
    """Mine the browse logs of SITE, or of all sites, now, and say what the policy learned."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answers = {
            site: client.mine_site(crawl=crawl, site=site, timeout_s=MINING_TIMEOUT_S)
            for site in sites or [found.site for found in client.get_browse_stats(crawl=crawl).sites]
        }
    nothing = f"The policy of crawl {crawl} reads no browse logs: there is nothing to mine."
    mined = [_mined(site, answer) for site, answer in answers.items() if answer.policy]
    tell(as_json, answers, mined or [nothing])


def _mined(site: str, answer: logs_pb.MineSiteResponse) -> Table:
    rows = [
        ("window", f"{answer.window_days} days from {_date(answer.window_start)}"),
        ("visits", f"{answer.visit_count:,} of {answer.page_count:,} pages"),
    ]
    if answer.left_out_count:
        rows.append(("left out", f"{answer.left_out_count:,} visits of clients that are no people"))
    return table([*rows, (answer.policy, answer.summary)], title=site)


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


TIMEOUT_S = 60.0
"""A bound: these calls may go through everything a large site has."""
MINING_TIMEOUT_S = 3_600.0
"""A bound, chosen: far beyond what a mining of browse logs takes."""
_FORMATS = [name.removeprefix("RULE_FORMAT_").lower() for name, number in pb.RuleFormat.items() if number]
_REWARDS = {
    pb.REWARD_SOURCE_NOVELTY: "new text, 0 to 1 a fetch (no feedback yet)",
    pb.REWARD_SOURCE_FEEDBACK: "feedback",
}
_KINDS = {
    pb.TRAP_KIND_COPIES: "copies of what is known",
    pb.TRAP_KIND_ENDLESS: "more of the same without end",
    pb.TRAP_KIND_FADING: "nothing new any more",
}


_most = click.option(
    "-n", "--most", type=click.IntRange(1, 10_000), default=16, show_default=True, help="At most this many."
)
_site = click.argument("site", metavar="SITE")
_any_site = click.argument("site", metavar="[SITE]", default="")


@click.command()
@_site
@json_option
@online
def advise(site: str, as_json: bool, connection: Connection) -> None:
    """Say what the next fetches of a site should bring, and what looks like a trap."""
    with connection.client(timeout_s=TIMEOUT_S) as client:
        about = client.get_site(crawl=connection.crawl, site=site)
        advice = client.get_site_advice(crawl=connection.crawl, site=site)
    tell(as_json, {"site": about, "advice": advice}, _advised(about, advice))


@click.command()
@_any_site
@_most
@json_option
@online
def seeds(site: str, most: int, as_json: bool, connection: Connection) -> None:
    """Say which pages a crawl of SITE, or of any URL of it, should start from.

    Without SITE: from which pages news is found, on all sites of the crawl's browse logs.
    """
    with connection.client(timeout_s=TIMEOUT_S if site else MINING_TIMEOUT_S) as client:
        answer = client.suggest_seeds(crawl=connection.crawl, site=site, max_results=most)
    state = f": {answer.policy_state}" if answer.policy_state else ""
    lines = [f"{seed.value:.2f}  {seed.url}  {seed.reason}" for seed in answer.seeds]
    tell(as_json, answer, lines or [f"{answer.policy} suggests no page{state}"])


@click.command()
@_any_site
@click.option(
    "-n", "--most", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most this many."
)
@json_option
@online
def revisits(site: str, most: int, as_json: bool, connection: Connection) -> None:
    """Print the URLs of the pages of SITE, or of all sites, to fetch again, best first."""
    with connection.client(timeout_s=TIMEOUT_S) as client:
        pages = list(client.rank_revisits(crawl=connection.crawl, site=site, max_results=most).pages)
    tell(as_json, {"pages": pages}, (page.url for page in pages))


@click.command()
@_any_site
@click.option("-n", "--most", type=click.IntRange(1, 1_000), default=100, show_default=True,
              help="At most this many of each site.")  # fmt: skip
@json_option
@online
def skipped(site: str, most: int, as_json: bool, connection: Connection) -> None:
    """Say which links of SITE, or of all sites, were left out: why, and the page each stood on.

    A site remembers some 200 of them; the counts are of all.
    """
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        sites = [site] if site else [each.host for each in client.list_sites(crawl=crawl)]
        answers = [
            client.skipped_links(crawl=connection.crawl, site=name, max_results=most) for name in sites
        ]
    counts = sum((Counter(answer.skipped_counts) for answer in answers), Counter[str]())
    links = [link for answer in answers for link in answer.skipped_links]
    reasons = (word_of(common_pb2.SkipReason, link.reason).replace(" ", "_") or "policy" for link in links)
    lines = [f"{why}\t{link.url}\t{link.page_url}" for why, link in zip(reasons, links, strict=True)]
    total = "; ".join(f"{reason}: {n:,}" for reason, n in counts.most_common()) or "no link was left out"
    tell(as_json, {"counts": counts, "links": links}, [*lines, total])


@click.group(cls=CommandGroup, own={"tables": "linkscore_server.commands:export_tables [tables]"})
def export() -> None:
    """What a crawl learned, as files: rules, tables."""


@export.command()
@_site
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    show_default=True,
    help="Folder to write to.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS),
    help="Crawler, or experience: a start for crawls of other sites; repeatable.  [default: all crawlers]",
)
@online
def rules(site: str, formats: tuple[str, ...], out: Path, connection: Connection) -> None:
    """Write what a crawl learned about SITE as files that crawlers load."""
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answer = client.export_rules(crawl=connection.crawl, site=site, formats=formats)
    if answer.policy_state:
        say(f"{answer.policy}: {answer.policy_state}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file in answer.files:
            path = out / Path(file.name).name
            path.write_bytes(file.content)
            for line in (f"wrote {path}", *(f"  {note}" for note in file.notes)):
                say(line)
    except OSError as error:
        raise click.ClickException(f"--out: cannot write: {error}") from error


def _advised(site: pb.Site, advice: pb.SiteAdvice) -> Iterator[str | Table]:
    """Give what is said of a site: its outlook, its groups of links, and traps."""
    whose = "the policy's estimate" if advice.policy_estimate else "by what like links brought lately"
    mean = advice.expected_reward / advice.expected_fetches if advice.expected_fetches else 0.0
    ahead = f"{advice.expected_reward:.1f} in {advice.expected_fetches:,}, best first; {whose}"
    rows = [
        ("policy", site.policy_state),
        ("session ids", ", ".join(site.session_names)),
        ("reward", _REWARDS.get(advice.reward_source, "")),
        ("last fetches", f"{advice.recent_reward:.2f} each, mean of {advice.recent_fetches:,}"),
        ("next fetches", f"{mean:.2f} each, {ahead}"),
        ("links waiting", advice.waiting_links),
        *(("warning", warning) for warning in advice.warnings),
    ]
    yield table((row for row in rows if row[1] != ""), title=f"{site.host}, {site.page_count:,} pages")
    if advice.yields:
        head = ("URL shape", "link path", "fetched", "waiting", "first half", "last half")
        yield table(map(_group, advice.yields), *head, title="Mean reward by group of links")
    if not advice.traps:
        yield "Nothing looks like a trap."
    for trap in advice.traps:
        yield f"Trap? {trap.url_pattern or f'links at {trap.tag_path}'}: {_KINDS.get(trap.kind, '')}"
        yield from (f"  {line}" for line in (trap.evidence, *trap.example_urls))


def _group(group: pb.GroupYield) -> tuple[str | int, ...]:
    path = group.tag_path.rpartition("/")[2] or "unknown"
    rewards = f"{group.early_reward:.2f}", f"{group.late_reward:.2f}"
    return group.url_pattern or "any", path, group.fetched_count, group.waiting_count, *rewards
