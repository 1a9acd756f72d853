"""The `linkscore` command."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_server.settings import ENVIRONMENT_PREFIX, Settings, load

_Command = Callable[..., None]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="linkscore")
def main() -> None:
    """Which links should a crawler follow? A gRPC service that learns while you crawl."""


def _settings_options(command: _Command) -> _Command:
    """Give a command one option per setting, and --config."""
    for setting in reversed(fields(Settings)):
        flag = "--" + setting.name.replace("_", "-")
        variable = ENVIRONMENT_PREFIX + setting.name.upper()
        text = f"{setting.metadata['doc']} [{variable}; default {setting.default!r}]"
        command = click.option(flag, setting.name, default=None, help=text)(command)
    config = click.Path(dir_okay=False, path_type=Path)
    return click.option("--config", type=config, envvar=f"{ENVIRONMENT_PREFIX}CONFIG", help="TOML file")(
        command
    )


@main.command()
@_settings_options
def serve(config: Path | None, **flags: Any) -> None:
    """Run the server."""
    settings = _load(config, flags)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its C core would write plain lines between the JSON
    from linkscore_server import app, logs  # grpc and numpy only when a server is wanted

    logs.set_up(settings.log_level)
    try:
        asyncio.run(app.run(settings))
    except (LinkscoreError, OSError, RuntimeError, ValueError) as exc:
        logs.log_failed_start(exc)
        sys.exit(1)


@main.command("check-config")
@_settings_options
def check_config(config: Path | None, **flags: Any) -> None:
    """Check the settings as `serve` would read them; exit 0 if they work, 1 if not."""
    settings = _load(config, flags)
    for setting in fields(Settings):
        click.echo(f"{setting.name} = {getattr(settings, setting.name)!r}")


@main.command()
@_settings_options
@click.option("--server-name", default="localhost", show_default=True, help="Name in the TLS certificate.")
@click.option("--timeout", default=3.0, show_default=True, help="Seconds to wait for the answer.")
def health(config: Path | None, server_name: str, timeout: float, **flags: Any) -> None:
    """Ask the server that `serve` would start with these settings; exit 0 if it serves, 1 if not."""
    from linkscore_server.console.health import check_health

    serving, answer = check_health(_load(config, flags), server_name=server_name, timeout_s=timeout)
    click.echo(answer)
    sys.exit(0 if serving else 1)


@main.command()
@click.argument("url")
@click.option("--crawl", required=True, help="Name of the crawl.")
@click.option("--target", default="127.0.0.1:7411", show_default=True, help="Address of the server.")
@click.option("--policy", default="", help="Another policy than the crawl's.")
def explain(url: str, crawl: str, target: str, policy: str) -> None:
    """Say why a URL has its score."""
    from linkscore_server.console.explain import explain_url

    sys.exit(explain_url(url, crawl=crawl, target=target, policy=policy))


@main.command()
@click.option("--metrics", default="127.0.0.1:9411", show_default=True, help="Metrics address of the server.")
@click.option("--every", default=2.0, show_default=True, help="Seconds between looks.")
@click.option("--rounds", default=0, help="Stop after this many looks; 0 goes on until interrupted.")
def top(metrics: str, every: float, rounds: int) -> None:
    """Watch live rates."""
    from linkscore_server.console.top import watch

    sys.exit(watch(metrics, every_s=every, rounds=rounds))


@main.command()
@click.option(
    "--warc",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Stored site instead of the demonstration site.",
)
@click.option(
    "--labels", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="TSV of url and page_type."
)
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--budget", default="25%", show_default=True, help="Pages, or share of the reachable pages.")
@click.option(
    "--policy",
    default="harvest",
    show_default=True,
    help="Policies to compare with breadth-first, separated by commas.",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True
)
def demo(warc: Path | None, labels: Path | None, relevant: str, budget: str, policy: str, out: Path) -> None:
    """Crawl a site with real Scrapy, breadth-first and with linkscore, and compare."""
    try:
        from linkscore_lab.demo import run_demo
    except ImportError as exc:
        raise click.ClickException(f"needs the lab extra: pip install 'linkscore[lab]' ({exc})") from exc
    policies = tuple(name for name in policy.split(",") if name)
    types = tuple(name for name in relevant.split(",") if name)
    try:
        run_demo(warc=warc, labels=labels, relevant=types, budget=budget, policy=policies, out=out)
    except LinkscoreError as exc:
        raise click.ClickException(str(exc)) from exc


_ARCHIVE = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)


@main.command()
@click.argument("archives", nargs=-1, type=_ARCHIVE)
@click.option("--suite", type=_FILE, help="TOML file of sites, tasks and policies, instead of archives.")
@click.option("--labels", type=_FILE, help="TSV of url and page_type.")
@click.option("--url-list", type=_FILE, help="For a folder of HTML: table of path and url.")
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--relevant-url", default="", help="Regular expression found in the URL of a wanted page.")
@click.option("--structured-data", default="", help="Type (QAPage, say) that wanted pages carry.")
@click.option("--feedback-file", type=_FILE, help="TSV of url and reward in [0, 1].")
@click.option("--target-type", "targets", multiple=True, help="Page type to crawl for; repeatable.")
@click.option("--policy", "policies", multiple=True, help="NAME[:param=value,...]; repeatable.")
@click.option("--budget", default=None, help="Fetches, or share of the reachable pages.  [default: 25%]")
@click.option("--seeds", type=int, default=None, help="Runs of each crawl.  [default: 5]")
@click.option("--starts", type=int, default=None, help="Start pages: the entry, others drawn.  [default: 1]")
@click.option("--examples", type=int, default=None, help="Give so many example pages per type.")
@click.option("--feedback", is_flag=True, help="Report the label after each fetch.")
@click.option("--delay", type=int, default=None, help="Fetches by which feedback is late.")
@click.option("--share", type=float, default=None, help="Share of the pages with feedback.")
@click.option("--every", type=int, default=None, help="Fetches between two bucket orders.  [default: 1]")
@click.option("--clusterer", default=None, help="How templates are found.")
@click.option("--paper", is_flag=True, help="Learn by the letter of Xu 2018.")
@click.option("--free-sampling", is_flag=True, help="Charge nothing until the site is learned (Xu 2018).")
@click.option("--target", default="", help="Score with the server at host:port instead of in process.")
@click.option("--report", type=_OUT, help="Write an HTML report.")
@click.option("--json", "json_out", type=_OUT, help="Write the results.")
@click.option("--workers", default=0, help="Processes; 0 means one a core.")
def replay(**options: Any) -> None:
    """Crawl a stored site again under each policy, and compare what they would have found."""
    with _lab():
        from linkscore_lab.replay import command
        from linkscore_lab.replay import options as replay_options

        outputs = {name: options.pop(name) for name in ("target", "report", "json_out", "workers")}
        command.run_replay(replay_options.suite_of(options), **outputs)


@main.command("suite")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--site", "sites", multiple=True, help="Name of a site; repeatable. Default: all with a target."
)
@click.option("--policy", "policies", multiple=True, default=("breadth_first", "harvest"), show_default=True)
@click.option("--out", type=_OUT, default=Path("suite.toml"), show_default=True)
def write_suite(folder: Path, sites: tuple[str, ...], policies: tuple[str, ...], out: Path) -> None:
    """Write the suite of a folder of stored sites with page_types.tsv."""
    with _lab():
        from linkscore_lab.replay.suite_writer import suite_text

        out.write_text(suite_text(folder, policies, sites, relative_to=out.parent), encoding="utf-8")
        click.echo(f"suite: {out}")


@contextmanager
def _lab() -> Iterator[None]:
    """Turn errors of the lab into messages of the command line."""
    try:
        yield
    except ImportError as exc:
        raise click.ClickException(f"needs the lab extra: pip install 'linkscore[lab]' ({exc})") from exc
    except LinkscoreError as exc:
        raise click.ClickException(str(exc)) from exc


def _load(config: Path | None, flags: dict[str, Any]) -> Settings:
    environment = {k: v for k, v in os.environ.items() if k != f"{ENVIRONMENT_PREFIX}CONFIG"}
    try:
        return load(flags, environment, config)
    except InvalidInput as exc:
        for problem in exc.problems:
            click.echo(f"{problem.field}: {problem.rule}", err=True)
        sys.exit(1)


_RESULT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@main.command()
@click.argument("a", type=_RESULT_FILE)
@click.argument("b", type=_RESULT_FILE)
@click.option(
    "--metric", "metrics", multiple=True, help="Metric to compare; repeat it for several. [valid_ratio, ...]"
)
@click.option("--policy-a", default="", help="Set this policy of A against --policy-b of B.")
@click.option("--policy-b", default="", help="Policy of B for --policy-a.")
@click.option(
    "--pair",
    type=click.Choice(["seed", "start", "site"]),
    default="seed",
    show_default=True,
    help="Compare run by run, or means over seeds, or over seeds and starts.",
)
def compare(a: Path, b: Path, metrics: tuple[str, ...], policy_a: str, policy_b: str, pair: str) -> None:
    """Say what result file B gained over A, and whether that is more than noise."""
    try:
        from linkscore_lab.replay.compare_show import compare_files
    except ImportError as exc:
        raise click.ClickException(f"needs the lab extra: pip install 'linkscore[lab]' ({exc})") from exc
    try:
        compare_files(a, b, metrics, policy_first=policy_a, policy_second=policy_b, pair=pair)
    except LinkscoreError as exc:
        raise click.ClickException(str(exc)) from exc
