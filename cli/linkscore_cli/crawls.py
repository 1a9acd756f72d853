"""`linkscore crawls`: makes, shows, changes and deletes the crawls of a server, and says where they are.

Policies and budgets are written ``NAME:param=value,...`` and ``NAME=NUMBER``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from google.protobuf import json_format
from rich.filesize import decimal
from rich.table import Table

from linkscore.messages import example_page, filled, policy_spec
from linkscore.v1 import common_pb2, policy_pb2
from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb2
from linkscore_cli.connection import Connection, of_crawl, online
from linkscore_cli.errors import Number
from linkscore_cli.output import json_option, plain, print_json, table, tell, word_of

_FIELDS = policy_pb2.PolicySpec.DESCRIPTOR.fields_by_name


def budget_of(bounds: Sequence[str], option: str) -> pb.Budget | None:
    """Return bounds as a message; None if there are none."""
    given = {name: json_or_text(number) for name, _, number in (text.partition("=") for text in bounds)}
    try:
        return filled(pb.Budget, given, "budget") if given else None
    except ValueError as exc:
        raise click.BadParameter(str(exc), param_hint=option) from exc


def split_policy(text: str) -> tuple[str, dict[str, str]]:
    """Return name and parameters of a policy; ValueError if it is not written as one."""
    name, _, rest = text.partition(":")
    if not name:
        raise ValueError(f"must have the form NAME[:param=value,...], got {text!r}")
    params = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"{name}: parameters must have the form param=value, got {part!r}")
        params[key] = value
    return name, params


def read_policy(text: str) -> policy_pb2.PolicySpec:
    """Return a policy from ``NAME[:param=value,...]``.

    Names that the contract does not know are policies from outside, whose parameters are JSON, or else text.
    """
    name, params = split_policy(text)
    kind = _FIELDS[name].message_type if name in _FIELDS else None
    texts = {field.name for field in kind.fields if field.type == field.TYPE_STRING} if kind else set()
    given = {key: value if key in texts else json_or_text(value) for key, value in params.items()}
    spec = policy_spec((name, given))
    assert spec is not None
    return spec


def policy_text(spec: policy_pb2.PolicySpec) -> str:
    """Return a policy as `read_policy` reads it."""
    name = spec.WhichOneof("policy")
    if name is None:
        return ""
    if name == "external":
        name, params = spec.external.name, json_format.MessageToDict(spec.external.params)
    else:
        params = {field.name: value for field, value in getattr(spec, name).ListFields()}
    written = ",".join(f"{key}={_written(value)}" for key, value in params.items())
    return f"{name}:{written}" if written else str(name)


class PolicyType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2 only
    """The type of options that take a policy."""

    name = "NAME[:param=value,...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> policy_pb2.PolicySpec:
        if isinstance(value, policy_pb2.PolicySpec):
            return value
        try:
            return read_policy(value)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)


def json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# A bound: examples may be 100 pages of up to 10 MB, and deleting a crawl deletes its files.
_TIMEOUT_S = 60.0
# What the contract says absent means.
_DEFAULT_POLICY = "harvest"
# Columns of the table with names of usual length; a narrower terminal wraps lines, nothing is cut off.
_WIDTH = 145
_SCOPES = {"host": pb.CRAWL_SCOPE_HOST, "domain": pb.CRAWL_SCOPE_DOMAIN, "any": pb.CRAWL_SCOPE_ANY}
_Option = Callable[[Callable[..., None]], Callable[..., None]]


@click.group()
def crawls() -> None:
    """The crawls of a server: list, create, show, update, delete, shards."""


def _many(flag: str, name: str, metavar: str, said: str) -> _Option:
    return click.option(flag, name, multiple=True, metavar=metavar, help=f"{said}; repeatable.")


_SETTINGS: tuple[_Option, ...] = (
    click.option("--policy", type=PolicyType(), help="Policy that scores links."),
    _many("--example", "examples", "URL|URL=FILE|FILE",
          "Example of a target page: its URL, its URL and a file of its HTML, or the file"),
    _many("--wanted", "queries", "QUERY",
          "What the crawl is for, a query in words, for which topic scores unless --policy says otherwise"),
    _many("--budget", "budget", "NAME=NUMBER",
          "Bound at which the crawl ends: max_fetches=5000, enough_coverage=0.95"),
    _many("--respect", "respect", "USE", "Use that sites may reserve: ai-train, ai-input, search, tdm"),
    click.option("--revisit", type=Number(0, 1e9, min_open=True), metavar="FETCHES_PER_DAY",
                 help="Fetch known pages again, so many a day of each site."),
    click.option("--observe-only/--no-observe-only", default=None,
                 help="Learn, and answer breadth first.  [default: off]"),
)  # fmt: skip


def _settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the settings that can be made and changed; `_given` reads them."""
    for option in reversed(_SETTINGS):
        command = option(command)
    return command


def _given(
    examples: tuple[str, ...],
    queries: tuple[str, ...],
    budget: tuple[str, ...],
    revisit: float | None,
    **others: Any,
) -> dict[str, Any]:
    """Return the settings that are given, as a client takes them."""
    try:
        pages = [example_page(text) for text in examples]
    except ValueError as exc:
        raise click.BadParameter(str(exc), param_hint="--example") from exc
    found = {
        "examples": pages,
        "wanted": {"queries": queries} if queries else None,
        "budget": budget_of(budget, "--budget"),
        "revisit": revisit and {"fetches_per_day": revisit},
        **others,
    }
    return {name: value for name, value in found.items() if value or value is False}


@crawls.command("list")
@json_option
@online
def list_(as_json: bool, connection: Connection) -> None:
    """List all crawls by name."""
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        found = list(client.list_crawls())
    rows = (
        (
            _id(crawl),
            policy_text(crawl.policy) or _DEFAULT_POLICY,
            _scope(crawl.scope),
            crawl.site_count,
            crawl.page_count,
            crawl.feedback_count,
        )
        for crawl in found
    )
    tell(as_json, found, [table(rows, "crawl", "policy", "scope", "sites", "pages", "feedback")])


@crawls.command()
@_settings
@click.option("--scope", type=click.Choice(list(_SCOPES)), help="Links of the crawl.  [default: host]")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of random draws.")
@click.option("--experience", "experiences", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              multiple=True,
              help="File of `export rules --format experience` to start from; repeatable.")  # fmt: skip
@click.option("--groups", type=click.IntRange(1, 256),
              help="Groups of sites, for several processes.  [default: 1, or as the crawl has]")  # fmt: skip
@json_option
@of_crawl
def create(
    scope: str | None, experiences: tuple[Path, ...], as_json: bool, connection: Connection, **given: Any
) -> None:
    """Create a crawl. Doing so again is fine; another configuration under its name is an error."""
    found = _given(**given)
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        made = client.create_crawl(
            crawl=connection.crawl,
            scope=_SCOPES.get(scope or "", pb.CRAWL_SCOPE_UNSPECIFIED),
            experience=[path.read_bytes() for path in experiences],
            **found,
        )
    tell(as_json, made, [_table(made)])


@crawls.command()
@click.option("--sites", "with_sites", is_flag=True, help="Show its sites too.")
@json_option
@of_crawl
def show(with_sites: bool, as_json: bool, connection: Connection) -> None:
    """Show a crawl: what it was made with, and what it has seen."""
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        crawl = client.get_crawl(crawl=connection.crawl)
        sites = list(client.list_sites(crawl=connection.crawl)) if with_sites else []
    told = plain(crawl) | ({"sites": sites} if with_sites else {})
    tell(as_json, told, [_table(crawl), *([_sites(sites)] if with_sites else ())])


@crawls.command()
@_settings
@click.option("--no-budget", is_flag=True, help="Lift the budget.")
@click.option("--no-respect", is_flag=True, help="Respect no reserved use any more.")
@click.option("--no-examples", is_flag=True, help="Take all examples back.")
@json_option
@of_crawl
def update(as_json: bool, connection: Connection, **given: Any) -> None:
    """Change what is given; a new policy serves from the next call on, examples are added."""
    empty: dict[str, Any] = {"budget": {}, "respect": (), "examples": ()}
    lifted = [name for name in empty if given.pop(f"no_{name}")]
    changes = _given(**given)
    for name in lifted:
        if name in changes:
            raise click.UsageError(f"--no-{name} takes away what is given beside it: give one of the two.")
        changes[name] = empty[name]
    if not changes:
        raise click.UsageError(
            "Nothing to change: give --policy, --example, --wanted, --budget, --respect, --revisit or "
            "--observe-only."
        )
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        changed = client.update_crawl(crawl=connection.crawl, **changes)
    tell(as_json, changed, [_table(changed)])


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
@click.option("--settings", is_flag=True, help="Print the settings in force, as JSON, instead.")
@json_option
@online
def shards(settings: bool, as_json: bool, connection: Connection) -> None:
    """Show the shards of a crawl (--crawl), or of all: owner, events, what a restart replays, memory, disk.

    Exit code 1: one is damaged, or a process of the server does not answer.
    """
    with connection.client(timeout_s=_TIMEOUT_S) as client:
        if settings:
            print_json(client.get_server_info())
            return
        found = list(client.list_shards(crawl=connection.crawl_option))
    tell(as_json, found, _shards(found), width=_WIDTH)
    if any(row.trouble for row in found):
        click.get_current_context().exit(1)


def _id(crawl: pb.Crawl) -> str:
    return crawl.name.removeprefix("crawls/")


def _scope(scope: int) -> str:
    return word_of(pb.CrawlScope, scope) or "host"


def _numbers(message: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in plain(message).items())


_TEXTS: dict[str, Callable[[Any], Any]] = {
    "policy": policy_text,
    "scope": _scope,
    "learning": _numbers,
    "create_time": lambda time: time.ToJsonString(),
    "examples": lambda pages: [page.url or "a page without URL" for page in pages],
    "wanted": lambda wanted: list(wanted.queries),
    "experience_count": lambda n: f"of {n} sites",
    "budget": _numbers,
    "copies": _numbers,
    "decision": common_pb2.Decision.Name,
    "revisit": _numbers,
    "respect": ", ".join,
}
"""Text, or lines, of fields that are no numbers or texts."""


def _table(crawl: pb.Crawl) -> Table:
    rows = []
    for field, value in crawl.ListFields():
        if field.name != "name":
            text = _TEXTS.get(field.name, str)(value)
            lines = "\n".join([text] if isinstance(text, str) else text)
            rows.append((field.name.removesuffix("_count").replace("_", " "), lines))
    return table(rows, title=_id(crawl))


def _sites(sites: list[site_pb2.Site]) -> Table:
    rows = (
        (
            site.host,
            word_of(common_pb2.SiteStage, site.stage),
            site.page_count,
            site.failed_count,
            site.cluster_count,
            site.policy_state,
        )
        for site in sites
    )
    return table(rows, "site", "stage", "pages", "failed", "templates", "what the policy goes by")


def _shards(found: list[pb.Shard]) -> Iterator[str | Table]:
    rows = (
        (
            row.crawl.removeprefix("crawls/"),
            f"{row.group}/{row.group_count}" if row.group_count else "",
            row.owner,
            word_of(pb.ShardState, row.state),
            *(row.event_seq, row.replay_count, row.waiting_count, row.site_count, row.live_site_count),
            decimal(row.memory_bytes),
            decimal(row.disk_bytes),
        )
        for row in found
    )
    head = (
        "crawl",
        "group",
        "owner",
        "state",
        "events",
        "replay",
        "waiting",
        "sites",
        "live",
        "memory",
        "disk",
    )
    yield table(rows, *head)
    yield from (f"{row.crawl or row.owner}: {row.trouble}" for row in found if row.trouble)
