"""`linkscore serve`, `check-config` and `health`: the server with the settings of a command line."""

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
import grpc

from linkscore_cli.errors import Number
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
        asyncio.run(Supervisor(settings).run() if settings.workers > 1 else app.run(settings, again))
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
    if settings.is_in_database:
        from linkscore_server.commands.data import plain_failures
        from linkscore_server.store.postgres import PostgresEngine

        with plain_failures():
            PostgresEngine(settings.data_dir).session().close()


_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104 - addresses to listen on, not to connect to


@click.command(cls=SettingsCommand)
@settings_options
@click.option(
    "--server-name", default="localhost", show_default=True, help="Name in the TLS certificate of the server."
)
@click.option(
    "--timeout",
    type=Number(0, 3_600, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds to wait for the answer.",
)
def health(config: Path | None, server_name: str, timeout: float, **flags: Any) -> None:
    """Ask whether the server that `serve` would start with these settings serves; exit 0 if so, 1 if not."""
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    try:
        with _channel_of(settings_of(config, flags), server_name) as channel:
            status = (
                health_pb2_grpc.HealthStub(channel)
                .Check(health_pb2.HealthCheckRequest(), timeout=timeout)
                .status
            )
    except grpc.RpcError as error:
        click.echo(f"{error.code().name}: {error.details()}")
        sys.exit(1)
    click.echo(health_pb2.HealthCheckResponse.ServingStatus.Name(status))
    sys.exit(status != health_pb2.HealthCheckResponse.SERVING)


def target_of(listen: str) -> str:
    """Return the address to ask: loopback for a server that listens everywhere."""
    host, _, port = listen.rpartition(":")
    return f"127.0.0.1:{port}" if host in _EVERYWHERE else listen


def _channel_of(settings: Settings, server_name: str) -> grpc.Channel:
    """Return a channel to the server of these settings: it trusts its certificate, and shows it if asked."""
    target = target_of(settings.listen)
    if not settings.tls_cert:
        return grpc.insecure_channel(target)
    chain, key = Path(settings.tls_cert).read_bytes(), Path(settings.tls_key).read_bytes()
    pair = (key, chain) if settings.tls_client_ca else (None, None)
    named = [("grpc.ssl_target_name_override", server_name)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(chain, *pair), named)
