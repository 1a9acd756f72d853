"""What a crawl knows of one site: `linkscore advise`, `seeds` and `export-experience`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_cli.connection import Connection, online
from linkscore_cli.output import json_option, name_of, print_json
from linkscore_cli.policies import PolicyType

TIMEOUT_S = 60.0
"""A bound: these calls may go through everything a large site has."""
_REWARDS = {
    pb.REWARD_SOURCE_NOVELTY: "new text, 0 to 1 a fetch (no feedback yet)",
    pb.REWARD_SOURCE_FEEDBACK: "feedback",
}
_KINDS = {
    pb.TRAP_KIND_COPIES: "copies of what is known",
    pb.TRAP_KIND_ENDLESS: "more of the same without end",
    pb.TRAP_KIND_FADING: "nothing new any more",
}


def of_site(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a server and `[CRAWL] SITE` or `--site`, as `connection` and `site`."""

    @wraps(command)
    def placed(*, names: tuple[str, ...], site: str, connection: Connection, **rest: Any) -> None:
        *crawls, name = (*names, site) if site else (names or ("",))
        if not name or len(crawls) > 1:
            raise click.UsageError("Name one site, by --site HOST or as [CRAWL] SITE.")
        command(site=name, connection=connection.about("".join(crawls)), **rest)

    option = click.option("--site", default="", help="Host, with port if it has one, or registrable domain.")
    return click.argument("names", metavar="[CRAWL] SITE", nargs=-1)(option(online(placed)))


@click.command()
@click.option(
    "--horizon",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Fetches to look ahead and back.",
)
@json_option
@of_site
def advise(site: str, horizon: int, as_json: bool, connection: Connection) -> None:
    """Say what the next fetches of a site should bring, and what looks like a trap."""
    console, crawl = Console(), connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        about = client.get_site(crawl=crawl, site=site)
        advice = client.get_site_advice(crawl=crawl, site=site, horizon=horizon)
    if as_json:
        print_json({"site": about, "advice": advice})
        return
    console.print(_outlook(about, advice))
    if advice.yields:
        console.print(_groups(advice))
    _print_traps(advice, console)


@click.command()
@click.option("--policy", type=PolicyType(), help="Another policy than the crawl's.")
@click.option(
    "-n", "--most", type=click.IntRange(1, 1_000), default=16, show_default=True, help="At most this many."
)
@json_option
@of_site
def seeds(
    site: str, policy: policy_pb2.PolicySpec | None, most: int, as_json: bool, connection: Connection
) -> None:
    """Say which pages a crawl of SITE, or of any URL of it, should start from."""
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answer = client.suggest_seeds(crawl=connection.crawl, site=site, policy=policy, max_results=most)
    if as_json:
        print_json(answer)
    else:
        print_seeds(answer)


def print_seeds(answer: pb.SuggestSeedsResponse) -> None:
    """Print pages to start from, or why there are none."""
    console = Console()
    for seed in answer.seeds:
        console.print(Text(f"{seed.value:.2f}  {seed.url}  {seed.reason}"), soft_wrap=True)
    if not answer.seeds:
        state = f": {answer.policy_state}" if answer.policy_state else ""
        console.print(Text(f"{answer.policy} suggests no page{state}"), soft_wrap=True)


@click.command("export-experience")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write.")
@click.option("--policy", type=PolicyType(), help="Another policy than the crawl's.")
@of_site
def export_experience(
    site: str, out: Path, policy: policy_pb2.PolicySpec | None, connection: Connection
) -> None:
    """Write what CRAWL learned of SITE, for crawls of other sites of its software to start from."""
    crawl = connection.crawl
    with connection.client(timeout_s=TIMEOUT_S) as client:
        answer = client.export_experience(crawl=crawl, site=site, policy=policy)
    try:
        out.write_bytes(answer.experience)
    except OSError as error:
        raise click.ClickException(f"--out: cannot write: {error}") from error
    click.echo(f"wrote {out}: {answer.group_count:,} groups of links, {answer.page_count:,} pages")


def _outlook(site: pb.Site, advice: pb.SiteAdvice) -> Table:
    whose = "the policy's estimate" if advice.policy_estimate else "by what like links brought lately"
    mean = advice.expected_reward / advice.expected_fetches if advice.expected_fetches else 0.0
    title = name_of(f"{site.host}, {site.page_count:,} pages")
    table = Table(title=title, title_justify="left", show_header=False)
    if site.policy_state:
        table.add_row("policy", Text(site.policy_state))
    if site.session_names:
        table.add_row("session ids", Text(", ".join(site.session_names)))
    table.add_row("reward", _REWARDS.get(advice.reward_source, ""))
    table.add_row("last fetches", f"{advice.recent_reward:.2f} each, mean of {advice.recent_fetches:,}")
    table.add_row(
        "next fetches",
        f"{mean:.2f} each, {advice.expected_reward:.1f} in {advice.expected_fetches:,}, best first; {whose}",
    )
    table.add_row("links waiting", f"{advice.waiting_links:,}")
    if advice.needs_examples:
        table.add_row(
            "unsure",
            "three pages of what you want would help most (SuggestExamples, or Teach in the console)",
        )
    return table


def _groups(advice: pb.SiteAdvice) -> Table:
    head = ("URL shape", "tag path", "fetched", "waiting", "first half", "last half")
    table = Table(*head, title="Mean reward by group of links", title_justify="left")
    for group in advice.yields:
        table.add_row(
            name_of(group.url_pattern or "any"),
            name_of(group.tag_path.rpartition("/")[2] or "unknown"),
            f"{group.fetched_count:,}",
            f"{group.waiting_count:,}",
            f"{group.early_reward:.2f}",
            f"{group.late_reward:.2f}",
        )
    return table


def _print_traps(advice: pb.SiteAdvice, console: Console) -> None:
    if not advice.traps:
        console.print("Nothing looks like a trap.")
    for trap in advice.traps:
        what = trap.url_pattern or f"links at {trap.tag_path}"
        console.print(Text(f"Trap? {what}: {_KINDS.get(trap.kind, '')}", style="yellow"), soft_wrap=True)
        console.print(Text(f"  {trap.evidence}"), soft_wrap=True)
        for url in trap.example_urls:
            console.print(Text(f"  {url}"), soft_wrap=True)
