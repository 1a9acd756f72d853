"""The `linkscore` command."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from linkscore_cli.lab import LAB_COMMANDS
from linkscore_cli.logs import logs as logs_group
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
    from linkscore_server import app  # grpc and numpy only when a server is wanted
    from linkscore_server.observability import logs

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
    from linkscore_cli.health import check_health

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
    from linkscore_cli.explain import explain_url

    sys.exit(explain_url(url, crawl=crawl, target=target, policy=policy))


@main.command()
@click.option("--crawl", required=True, help="Name of the crawl.")
@click.option("--site", required=True, help="Host, with port if it has one, or registrable domain.")
@click.option("--target", default="127.0.0.1:7411", show_default=True, help="Address of the server.")
@click.option("--horizon", default=100, show_default=True, help="Fetches to look ahead and back.")
def advise(crawl: str, site: str, target: str, horizon: int) -> None:
    """Say what the next fetches of a site should bring, and what looks like a trap."""
    from linkscore_cli.advise import advise_on_site

    sys.exit(advise_on_site(site, crawl=crawl, target=target, horizon=horizon))


@main.command("export-rules")
@click.argument("crawl")
@click.argument("site")
@click.option("--format", "formats", multiple=True, help="Crawler, for example nutch; all if none is named.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=".", help="Folder to write to."
)
@click.option("--target", default="127.0.0.1:7411", show_default=True, help="Address of the server.")
@click.option("--policy", default="", help="Another policy than the crawl's.")
@click.option("--min-confidence", default=0.0, show_default=True, help="Leave out URL rules of less, 0 to 1.")
def export_rules(crawl: str, site: str, formats: tuple[str, ...], out: Path, **asked: Any) -> None:
    """Write what CRAWL learned about the URLs of SITE as files that crawlers load."""
    from linkscore_cli.export_rules import write_rules

    sys.exit(write_rules(site, crawl=crawl, formats=formats, out=out, **asked))


@main.command()
@click.argument("crawl")
@click.argument("site")
@click.option("--target", default="127.0.0.1:7411", show_default=True, help="Address of the server.")
@click.option("--policy", default="", help="Another policy than the crawl's.")
@click.option("-n", "--most", default=16, show_default=True, help="At most this many.")
def seeds(crawl: str, site: str, target: str, policy: str, most: int) -> None:
    """Say which pages a crawl of SITE, or of any URL of it, should start from."""
    from linkscore_cli.seeds import print_seeds

    sys.exit(print_seeds(site, crawl=crawl, target=target, policy=policy, most=most))


@main.command()
@click.option("--metrics", default="127.0.0.1:9411", show_default=True, help="Metrics address of the server.")
@click.option("--every", default=2.0, show_default=True, help="Seconds between looks.")
@click.option("--rounds", default=0, help="Stop after this many looks; 0 goes on until interrupted.")
def top(metrics: str, every: float, rounds: int) -> None:
    """Watch live rates."""
    from linkscore_cli.top import watch

    sys.exit(watch(metrics, every_s=every, rounds=rounds))


def _load(config: Path | None, flags: dict[str, Any]) -> Settings:
    environment = {k: v for k, v in os.environ.items() if k != f"{ENVIRONMENT_PREFIX}CONFIG"}
    try:
        return load(flags, environment, config)
    except InvalidInput as exc:
        for problem in exc.problems:
            click.echo(f"{problem.field}: {problem.rule}", err=True)
        sys.exit(1)


for _command in (*LAB_COMMANDS, logs_group):
    main.add_command(_command)
