"""What a crawl knows of its sites: `linkscore advise`, `seeds`, `skipped`, `revisits` and `export`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click
from rich.table import Table

from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.errors import Number
from linkscore_cli.output import json_option, say, table, tell, word_of
from linkscore_cli.plugins import CommandGroup
from linkscore_cli.policies import PolicyType

TIMEOUT_S = 60.0
"""A bound: these calls may go through everything a large site has."""
MINING_TIMEOUT_S = 3_600.0
"""A bound, chosen: far beyond what a mining of browse logs takes."""
_FORMATS = [
    name.removeprefix("RULE_FORMAT_").lower()
    for name, number in pb.RuleFormat.items()
    if number not in (pb.RULE_FORMAT_UNSPECIFIED, pb.RULE_FORMAT_EXPERIENCE)
]
_REWARDS = {
    pb.REWARD_SOURCE_NOVELTY: "new text, 0 to 1 a fetch (no feedback yet)",
    pb.REWARD_SOURCE_FEEDBACK: "feedback",
}
_KINDS = {
    pb.TRAP_KIND_COPIES: "copies of what is known",
    pb.TRAP_KIND_ENDLESS: "more of the same without end",
    pb.TRAP_KIND_FADING: "nothing new any more",
}


_policy = click.option("--policy", type=PolicyType(), help="Another policy than the crawl's.")
_most = click.option(
    "-n", "--most", type=click.IntRange(1, 10_000), default=16, show_default=True, help="At most this many."
)
_site = click.argument("site", metavar="SITE")
_any_site = click.argument("site", metavar="[SITE]", default="")


@click.command()
@click.option(
    "--horizon",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Fetches to look ahead and back.",
)
@_site
@json_option
@online
def advise(site: str, horizon: int, as_json: bool, connection: Connection) -> None:
    """Say what the next fetches of a site should bring, and what looks like a trap."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        about = client.get_site(crawl=crawl, site=site)
        advice = client.get_site_advice(crawl=crawl, site=site, horizon=horizon)
    tell(as_json, {"site": about, "advice": advice}, _advised(about, advice))


@click.command()
@_any_site
@_policy
@_most
@json_option
@online
def seeds(
    site: str, policy: policy_pb2.PolicySpec | None, most: int, as_json: bool, connection: Connection
) -> None:
    """Say which pages a crawl of SITE, or of any URL of it, should start from.

    Without SITE: from which pages news is found, on all sites of the crawl's browse logs.
    """
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S if site else MINING_TIMEOUT_S) as client:
        answer = client.suggest_seeds(crawl=crawl, site=site, policy=policy, max_results=most)
    state = f": {answer.policy_state}" if answer.policy_state else ""
    lines = [f"{seed.value:.2f}  {seed.url}  {seed.reason}" for seed in answer.seeds]
    tell(as_json, answer, lines or [f"{answer.policy} suggests no page{state}"])


@click.command()
@_any_site
@click.option(
    "-n", "--most", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most this many."
)
@click.option("--now", type=click.DateTime(), help="Rank for this time, UTC. Default: now.")
@json_option
@online
def revisits(site: str, most: int, now: datetime | None, as_json: bool, connection: Connection) -> None:
    """Print the URLs of the pages of SITE, or of all sites, to fetch again, best first."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        pages = list(client.rank_revisits(crawl=crawl, site=site, page_size=most, now=now).pages)
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
        answers = [client.skipped_links(crawl=crawl, site=name, max_results=most) for name in sites]
    counts = sum((Counter(answer.skipped_counts) for answer in answers), Counter[str]())
    links = [link for answer in answers for link in answer.skipped_links]
    reasons = (word_of(common_pb2.SkipReason, link.reason).replace(" ", "_") or "policy" for link in links)
    lines = [f"{why}\t{link.url}\t{link.page_url}" for why, link in zip(reasons, links, strict=True)]
    total = "; ".join(f"{reason}: {n:,}" for reason, n in counts.most_common()) or "no link was left out"
    tell(as_json, {"counts": counts, "links": links}, [*lines, total])


@click.group(cls=CommandGroup, own={"tables": "linkscore_server.commands.data:export_tables [tables]"})
def export() -> None:
    """What a crawl learned, as files: rules, experience, tables."""


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
    help="Crawler; repeatable. All if none is named.",
)
@_policy
@click.option(
    "--min-confidence",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Leave out URL rules of less.",
)
@online
def rules(
    site: str,
    formats: tuple[str, ...],
    out: Path,
    policy: policy_pb2.PolicySpec | None,
    min_confidence: float,
    connection: Connection,
) -> None:
    """Write what a crawl learned about the URLs of SITE as files that crawlers load."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answer = client.export_rules(
            crawl=crawl, site=site, formats=formats, policy=policy, min_confidence=min_confidence
        )
    counts = f"{len(answer.url_rules)} URL rules, {len(answer.tag_path_rules)} tag paths"
    if answer.denied_rules:
        counts += f", {len(answer.denied_rules)} about copies"
    state = f"; {answer.policy_state}" if answer.policy_state else ""
    say(f"{answer.policy}: {counts}{state}")
    with _writing():
        out.mkdir(parents=True, exist_ok=True)
        for file in answer.files:
            path = out / Path(file.name).name
            path.write_bytes(file.content)
            for line in (f"wrote {path}", *(f"  {note}" for note in file.notes)):
                say(line)


@export.command()
@_site
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write.")
@_policy
@online
def experience(site: str, out: Path, policy: policy_pb2.PolicySpec | None, connection: Connection) -> None:
    """Write what a crawl learned of SITE, for crawls of other sites of its software to start from."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answer = client.export_rules(crawl=crawl, site=site, formats=["experience"], policy=policy)
    with _writing():
        out.write_bytes(answer.files[0].content)
    say(f"wrote {out}: {answer.files[0].notes[0]}")


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
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
        head = ("URL shape", "tag path", "fetched", "waiting", "first half", "last half")
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
