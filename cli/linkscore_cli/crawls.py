"""`linkscore crawls`: makes, shows, changes and deletes the crawls of a server, and says where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from linkscore.messages import example_page
from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb2
from linkscore_cli.connection import Connection, of_crawl, online
from linkscore_cli.files import bytes_of, reading
from linkscore_cli.output import json_option, name_of, plain, print_json, say
from linkscore_cli.policies import PolicyType, budget_of, policy_text

# A bound: examples may be 100 pages of up to 10 MB, and deleting a crawl deletes its files.
_TIMEOUT_S = 60.0
# A bound: what the server takes in one message, by default.
_MAX_BYTES = 64 << 20
# What the contract says absent means.
_DEFAULT_POLICY = "harvest"
# Columns of the table with names of usual length; a narrower terminal wraps lines, nothing is cut off.
_WIDTH = 145
_PACE = ("events/s", "bytes/s", "delay")
_STATES = {
    pb.SHARD_STATE_OPEN: "open",
    pb.SHARD_STATE_PUT_AWAY: "evicted",
    pb.SHARD_STATE_DAMAGED: "damaged",
    pb.SHARD_STATE_SILENT: "no answer",
}
_SCOPES = {"host": pb.CRAWL_SCOPE_HOST, "domain": pb.CRAWL_SCOPE_DOMAIN, "any": pb.CRAWL_SCOPE_ANY}
_LEARN = {name.removeprefix("LEARN_").lower(): n for name, n in pb.Learn.items() if n}
_Command = Callable[..., None]


@click.group()
def crawls() -> None:
    """The crawls of a server: list, create, show, update, delete, shards."""


def _many(flag: str, name: str, metavar: str, said: str) -> Callable[[_Command], _Command]:
    return click.option(flag, name, multiple=True, metavar=metavar, help=f"{said}; repeatable.")


_policy = click.option("--policy", type=PolicyType(), help="Policy that scores links.")
_extra_policies = click.option(
    "--extra-policy",
    "extra_policies",
    type=PolicyType(),
    multiple=True,
    help="Policy that learns beside it; repeatable.",
)
_example = "Example of a target page: its URL, its URL and a file of its HTML, or the file"
_examples = _many("--example", "examples", "URL|URL=FILE|FILE", _example)
_query = "What the crawl is for, a query in words, for which topic scores unless --policy says otherwise"
_wanted = _many("--wanted", "queries", "QUERY", _query)
_languages = _many("--language", "languages", "CODE", "Language of target pages: en")
_embedding = click.option(
    "--embedding", default="", metavar="NAME", help="Plug-in that compares pages with the queries by meaning."
)
_bound = "Bound at which the crawl ends: max_fetches=5000, enough_coverage=0.95"
_budget = _many("--budget", "bounds", "NAME=NUMBER", _bound)
_respect = _many("--respect", "respect", "USE", "Use that sites may reserve: ai-train, ai-input, search, tdm")


@crawls.command("list")
@json_option
@online
def list_(as_json: bool, connection: Connection) -> None:
    """List all crawls by name."""
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        found = list(client.list_crawls())
    if as_json:
        print_json(found)
        return
    table = Table("crawl", "policy", "scope", "sites", "pages", "feedback")
    for crawl in found:
        counts = (f"{n:,}" for n in (crawl.site_count, crawl.page_count, crawl.feedback_count))
        table.add_row(name_of(_id(crawl)), name_of(_policy_of(crawl)), _scope(crawl), *counts)
    Console().print(table)


@crawls.command()
@_policy
@_extra_policies
@click.option("--scope", type=click.Choice(list(_SCOPES)), help="Links of the crawl.  [default: host]")
@_examples
@_wanted
@_languages
@_embedding
@_budget
@_respect
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Seed of random draws.")
@click.option("--observe-only", is_flag=True, help="Answer without encoded priorities.")
@click.option("--keep-titles", is_flag=True, help="Keep titles of pages, for the console.")
@click.option(
    "--experience",
    "experiences",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="File of `linkscore export experience` to start from; repeatable.",
)
@click.option(
    "--groups",
    type=click.IntRange(1, 256),
    help="Groups of sites, for several processes.  [default: 1, or those of an existing crawl]",
)
@click.option(
    "--learn", type=click.Choice(list(_LEARN)), help="When templates are learned.  [default: always]"
)
@click.option("--sample-pages", type=click.IntRange(8, 2_000), help="Pages before templates are learned.")
@click.option("--max-sample-pages", type=click.IntRange(8, 2_000), help="Pages of a site kept for learning.")
@json_option
@of_crawl
def create(
    policy: policy_pb2.PolicySpec | None,
    extra_policies: tuple[policy_pb2.PolicySpec, ...],
    scope: str | None,
    examples: tuple[str, ...],
    queries: tuple[str, ...],
    languages: tuple[str, ...],
    embedding: str,
    bounds: tuple[str, ...],
    respect: tuple[str, ...],
    seed: int,
    observe_only: bool,
    groups: int | None,
    keep_titles: bool,
    experiences: tuple[Path, ...],
    learn: str | None,
    as_json: bool,
    connection: Connection,
    **learning: Any,
) -> None:
    """Create a crawl. Doing so again is fine; another configuration under its name is an error."""
    pages = _example_pages(examples)
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        made = client.create_crawl(
            crawl=connection.crawl,
            policy=policy,
            extra_policies=extra_policies,
            scope=_SCOPES.get(scope or "", pb.CRAWL_SCOPE_UNSPECIFIED),
            learning=_learning(**learning),
            learn=_LEARN.get(learn or "", pb.LEARN_UNSPECIFIED),
            observe_only=observe_only,
            seed=seed,
            examples=pages,
            wanted=_wanted_of(queries, languages, embedding),
            groups=groups or 0,
            keep_titles=keep_titles,
            experience=[_experience(path) for path in experiences],
            budget=budget_of(bounds, "--budget"),
            respect=respect,
        )
    _show(made, as_json)


@crawls.command()
@click.option("--sites", "with_sites", is_flag=True, help="Show its sites too.")
@json_option
@of_crawl
def show(with_sites: bool, as_json: bool, connection: Connection) -> None:
    """Show a crawl: what it was made with, and what it has seen."""
    name = connection.crawl
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        crawl = client.get_crawl(crawl=name)
        sites = list(client.list_sites(crawl=name)) if with_sites else []
    if as_json and with_sites:
        print_json(plain(crawl) | {"sites": sites})
        return
    _show(crawl, as_json)
    if with_sites:
        Console().print(_sites(sites))


@crawls.command()
@_policy
@_extra_policies
@click.option("--no-extra-policies", is_flag=True, help="Remove the policies that learn beside it.")
@_examples
@_wanted
@_languages
@_embedding
@_budget
@click.option("--no-budget", is_flag=True, help="Lift the budget.")
@_respect
@click.option("--no-respect", is_flag=True, help="Respect no reserved use any more.")
@click.option("--observe-only/--no-observe-only", default=None, help="Answer without encoded priorities.")
@json_option
@of_crawl
def update(
    policy: policy_pb2.PolicySpec | None,
    extra_policies: tuple[policy_pb2.PolicySpec, ...],
    no_extra_policies: bool,
    examples: tuple[str, ...],
    queries: tuple[str, ...],
    languages: tuple[str, ...],
    embedding: str,
    bounds: tuple[str, ...],
    no_budget: bool,
    respect: tuple[str, ...],
    no_respect: bool,
    observe_only: bool | None,
    as_json: bool,
    connection: Connection,
) -> None:
    """Change what is given; a new policy serves from the next call on, examples are added."""
    _one_of("extra-policy", extra_policies, "no-extra-policies", no_extra_policies)
    _one_of("budget", bounds, "no-budget", no_budget)
    _one_of("respect", respect, "no-respect", no_respect)
    changes: dict[str, Any] = {
        "policy": policy,
        "extra_policies": extra_policies if extra_policies or no_extra_policies else None,
        "observe_only": observe_only,
        "examples": _example_pages(examples) or None,
        "wanted": _wanted_of(queries, languages, embedding),
        "budget": {} if no_budget else budget_of(bounds, "--budget"),
        "respect": respect if respect or no_respect else None,
    }
    if all(value is None for value in changes.values()):
        raise click.UsageError(
            "Nothing to change: give --policy, --extra-policy, --example, --budget, --respect or "
            "--observe-only."
        )
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        changed = client.update_crawl(crawl=connection.crawl, **changes)
    _show(changed, as_json)


@crawls.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@of_crawl
def delete(yes: bool, connection: Connection) -> None:
    """Delete a crawl, its models and its log."""
    name = connection.crawl
    if not yes:
        click.confirm(f"Delete crawl {name} of {connection.target}, its models and its log?", abort=True)
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        client.delete_crawl(crawl=name)
    click.echo(f"deleted: {name}")


@crawls.command()
@click.option(
    "--busiest",
    type=click.IntRange(1, 1_000_000),
    help="Only so many, those with most events a second first.",
)
@click.option(
    "--settings", is_flag=True, help="Print version and settings of the server that answers, as JSON."
)
@json_option
@online
def shards(busiest: int | None, settings: bool, as_json: bool, connection: Connection) -> None:
    """Show the shards of a crawl (--crawl), or of all: owner, events, what a restart replays, memory, disk.

    What comes a second, and how long a call waits until it is durable, are means over about a minute.

    Exit code 1: one is damaged, or a process of the server does not answer.
    """
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        if settings:
            print_json(client.get_server_info())
            return
        found = list(client.list_shards(crawl=connection.crawl_option))
    if busiest is not None:
        found = _busiest(found, busiest)
    if as_json:
        print_json(found)
    else:
        _show_shards(found)
    if any(row.trouble for row in found):
        click.get_current_context().exit(1)


def _one_of(name: str, given: Sequence[Any], none: str, is_none: bool) -> None:
    if given and is_none:
        raise click.UsageError(f"--{name} and --{none} cannot both be given.")


def _wanted_of(
    queries: tuple[str, ...], languages: tuple[str, ...], embedding: str
) -> Mapping[str, Any] | None:
    """Return what a crawl is for in words; None if nothing is said."""
    said = {"queries": queries, "languages": languages, "embedding": embedding}
    return said if any(said.values()) else None


def _learning(sample_pages: int | None, max_sample_pages: int | None) -> pb.LearningConfig | None:
    """Return how sites are learned, None if nothing is said about it."""
    if not (sample_pages or max_sample_pages):
        return None
    return pb.LearningConfig(sample_pages=sample_pages, max_sample_pages=max_sample_pages)


def _example_pages(given: tuple[str, ...]) -> list[pb.ExamplePage]:
    try:
        return [example_page(text) for text in given]
    except ValueError as exc:
        raise click.BadParameter(str(exc), param_hint="--example") from exc


def _experience(path: Path) -> bytes:
    with reading("--experience", path):
        return bytes_of(path, max_bytes=_MAX_BYTES)


def _show(crawl: pb.Crawl, as_json: bool) -> None:
    if as_json:
        print_json(crawl)
        return
    examples = [page.url or "a page without URL" for page in crawl.examples]
    rows: dict[str, str | list[str]] = {
        "policy": _policy_of(crawl),
        "extra policies": [policy_text(spec) for spec in crawl.extra_policies],
        "scope": _scope(crawl),
        **{field.name.replace("_", " "): str(value) for field, value in crawl.learning.ListFields()},
        "examples": examples,
        "wanted": [query.text for query in crawl.wanted.queries],
        "languages": ", ".join(crawl.wanted.languages),
        "budget": ", ".join(f"{field.name}={value:g}" for field, value in crawl.budget.ListFields()),
        "stopped": crawl.decision_reason,
        "respect": ", ".join(crawl.respect),
        "groups": str(crawl.groups) if crawl.groups > 1 else "",
        "learn": "on_demand" if crawl.learn == pb.LEARN_ON_DEMAND else "",
        "observe only": "yes" if crawl.observe_only else "",
        "keep titles": "yes" if crawl.keep_titles else "",
        "experience": f"of {crawl.experience_count} sites" if crawl.experience_count else "",
        "seed": str(crawl.seed or ""),
        "created": crawl.create_time.ToJsonString(),
        "sites": f"{crawl.site_count:,}",
        "pages": f"{crawl.page_count:,}",
        "feedback": f"{crawl.feedback_count:,}",
        "events": f"{crawl.event_seq:,}",
    }
    table = Table(title=name_of(_id(crawl)), title_justify="left", show_header=False)
    for name, value in rows.items():
        if value:
            table.add_row(name, name_of(*([value] if isinstance(value, str) else value)))
    Console().print(table)


def _sites(sites: list[site_pb2.Site]) -> Table:
    table = Table("site", "stage", "pages", "failed", "templates", "what the policy goes by")
    for site in sites:
        stage = common_pb2.SiteStage.Name(site.stage).removeprefix("SITE_STAGE_").lower()
        counts = (f"{n:,}" for n in (site.page_count, site.failed_count, site.cluster_count))
        table.add_row(name_of(site.host), stage, *counts, name_of(site.policy_state))
    return table


def _id(crawl: pb.Crawl) -> str:
    return crawl.name.removeprefix("crawls/")


def _policy_of(crawl: pb.Crawl) -> str:
    return policy_text(crawl.policy) or _DEFAULT_POLICY


def _scope(crawl: pb.Crawl) -> str:
    return next((name for name, known in _SCOPES.items() if known == crawl.scope), "host")


def _busiest(found: list[pb.Shard], most: int) -> list[pb.Shard]:
    """Return processes that do not answer, and the shards with most events a second."""
    silent = [row for row in found if row.state == pb.SHARD_STATE_SILENT]
    shards = [row for row in found if row.state != pb.SHARD_STATE_SILENT]
    return silent + sorted(shards, key=lambda row: -row.events_per_s)[:most]


def _show_shards(found: list[pb.Shard]) -> None:
    table = Table(box=None, pad_edge=False)  # borders of so many columns alone would take half a terminal
    for column in ("crawl", "group", "owner", "state"):
        table.add_column(column, no_wrap=True)
    for column in ("events", *_PACE, "replay", "waiting", "sites", "live", "memory", "disk"):
        table.add_column(column, justify="right", no_wrap=True)
    console = Console()
    console.width = max(console.width, _WIDTH)
    for row in found:
        if row.state == pb.SHARD_STATE_SILENT:
            table.add_row("", "", name_of(row.owner), _STATES[row.state])
            continue
        counts = (row.replay_count, row.waiting_count, row.site_count, row.live_site_count)
        is_open = row.state == pb.SHARD_STATE_OPEN
        table.add_row(
            name_of(row.crawl.removeprefix("crawls/")),
            f"{row.group}/{row.group_count}",
            name_of(row.owner),
            _STATES.get(row.state, "unknown"),
            *(_pace(row) if is_open else "-" * (1 + len(_PACE))),
            *(f"{count:,}" if is_open else "-" for count in counts),
            decimal(row.memory_bytes) if is_open else "-",
            decimal(row.disk_bytes),
        )
    console.print(table)
    for row in found:
        if row.trouble:
            say(f"{row.crawl or row.owner}: {row.trouble}", fg="red")


def _pace(row: pb.Shard) -> tuple[str, str, str, str]:
    """Return its events, how many came a second and in how many bytes, and how long a call waited."""
    bytes_per_s = decimal(round(row.bytes_per_s))
    return f"{row.event_seq:,}", f"{row.events_per_s:,.1f}", bytes_per_s, f"{row.delay_s * 1e3:,.0f} ms"
