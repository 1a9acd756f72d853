"""`linkscore serve` and `linkscore check-config`: the server with the settings of a command line."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_server.settings import ENVIRONMENT_PREFIX, Settings, load

_Command = Callable[..., None]

# Variables of commands that call a server: whoever exports them in a shell may still serve from it. Those
# that could be taken for protection of a server (LINKSCORE_TOKEN, LINKSCORE_TLS_CA) stay errors.
_OF_CALLERS = {f"{ENVIRONMENT_PREFIX}{name}" for name in ("CONFIG", "TARGET", "CRAWL")}
# Those of `linkscore frontier` are of another process.
_OF_FRONTIERS = f"{ENVIRONMENT_PREFIX}FRONTIER_"
_HINTS = {
    "token": "is for commands that call a server; a server reads its token from token_file",
    "tls_ca": "is for commands that call a server; a server takes tls_cert, tls_key and tls_client_ca",
}


class SettingsCommand(click.Command):
    """A command with an option per setting, listed under their headings in a line each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        headings = {setting.name: setting.metadata["group"] for setting in fields(Settings)}
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                groups.setdefault(headings.get(parameter.name or "", "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        formatter.write_text("Each is a variable too, LINKSCORE_LISTEN say. See docs/reference/settings.md.")


def settings_options(command: _Command) -> _Command:
    """Give a command one option per setting, and --config."""
    for setting in reversed(fields(Settings)):
        flag = "--" + setting.name.replace("_", "-")
        text = setting.metadata["doc"].partition(";")[0].replace("`", "")
        default = f"  [{setting.default}]" if setting.default != "" else ""
        command = click.option(flag, setting.name, default=None, metavar="", help=text + default)(command)
    config = click.Path(dir_okay=False, path_type=Path)
    return click.option("--config", type=config, envvar=f"{ENVIRONMENT_PREFIX}CONFIG", help="TOML file")(
        command
    )


def read_settings(config: Path | None, flags: dict[str, Any]) -> Settings:
    """Return the settings of a command line."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_CALLERS and not name.startswith(_OF_FRONTIERS)
    }
    return load(flags, environment, config)


def settings_of(config: Path | None, flags: dict[str, Any]) -> Settings:
    """Return the settings of a command line; if they cannot work, name all problems and exit with 1."""
    try:
        return read_settings(config, flags)
    except InvalidInput as exc:
        for problem in exc.problems:
            click.echo(f"{problem.field}: {_HINTS.get(problem.field, problem.rule)}", err=True)
        sys.exit(1)


@click.command(cls=SettingsCommand)
@settings_options
def serve(config: Path | None, **flags: Any) -> None:
    """Run the server."""
    settings = settings_of(config, flags)
    from linkscore_server import app  # numpy only when a server is wanted
    from linkscore_server.front.workers import Supervisor
    from linkscore_server.observability import logs

    logs.set_up(settings.log_level)
    again = partial(read_settings, config, flags)
    try:
        asyncio.run(Supervisor(settings, again).run() if settings.workers > 1 else app.run(settings, again))
    except (LinkscoreError, OSError, RuntimeError, ValueError) as exc:
        logs.log_failed_start(exc)
        sys.exit(1)


@click.command("check-config", cls=SettingsCommand)
@settings_options
def check_config(config: Path | None, **flags: Any) -> None:
    """Check the settings as `serve` would read them; exit 0 if they work, 1 if not."""
    settings = settings_of(config, flags)
    for name, value in settings.shown().items():
        click.echo(f"{name} = {value}")
