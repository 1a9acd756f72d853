"""Commands of the server: `serve`, `check-config`, `health`, `data`, `export tables`.

The command line loads this to list its help, so it imports click and the settings, and everything heavier
when a command runs.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import grpc

from linkscore_cli.errors import Number
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_server.settings import ENVIRONMENT_PREFIX, Settings, is_database, load

if TYPE_CHECKING:
    from linkscore_server.store import Store

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
    from linkscore_server import app, observability  # numpy only when a server is wanted
    from linkscore_server.front.workers import Supervisor

    observability.set_up(settings.log_level)
    again = partial(read_settings, config, flags)
    try:
        asyncio.run(Supervisor(settings).run() if settings.workers > 1 else app.run(settings, again))
    except (LinkscoreError, OSError, RuntimeError, ValueError) as exc:
        observability.log_failed_start(exc)
        sys.exit(1)


@click.command("check-config", cls=SettingsCommand)
@settings_options
def check_config(config: Path | None, **flags: Any) -> None:
    """Check the settings as `serve` would read them; exit 0 if they work, 1 if not."""
    settings = settings_of(config, flags)
    for name, value in settings.shown().items():
        click.echo(f"{name} = {value}")
    if settings.is_in_database:
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


_FILE = click.Path(dir_okay=False, path_type=Path)
_GIVEN_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
store_option = click.option(
    "--data-dir",
    default="./linkscore-data",
    envvar="LINKSCORE_DATA_DIR",
    show_default=True,
    help="Data folder, or postgresql://USER@HOST/DATABASE.",
)


@click.group()
def data() -> None:
    """Stores of servers: check them, back them up, move crawls between them."""


@data.command()
@click.argument("data_dir", metavar="DIR", default="./linkscore-data", envvar="LINKSCORE_DATA_DIR")
@click.option(
    "--replay",
    is_flag=True,
    help="Also apply all events anew and compare with the states that are kept; takes 3 ms an event.",
)
def check(data_dir: str, *, replay: bool) -> None:
    """Read everything in a store and say what is wrong; exit 0 if nothing is, 1 if something is.

    DIR is a data folder, or postgresql://USER@HOST/DATABASE. Nothing is changed. A server may be running.
    """
    with opened_store(data_dir) as store:
        from linkscore_scoring.engine.events import decode
        from linkscore_server.crawls.opening import unlike_their_replay
        from linkscore_server.data_folder import DataFolder
        from linkscore_server.store.moving import problems_of

        beside = DataFolder(None)  # without its lock: a server may have it
        beside.path = None if is_database(data_dir) else Path(data_dir)
        problems = _told(problems_of(store, decode))
        if find_spec("duckdb") is not None:
            from linkscore_server.browse_logs.service import problems_in

            problems += sum(_told(problems_in(beside, key)) for key in store.shards())
        if replay and not problems:
            problems = _told(unlike_their_replay(store))
        crawls = {key.partition("@")[0] for key in store.shards()}
        place = _place(store, data_dir)
    click.echo(f"{place}: {len(crawls)} crawls, {problems} problems", err=bool(problems))
    sys.exit(1 if problems else 0)


@data.command()
@click.argument("file", type=_FILE)
@store_option
def backup(file: Path, data_dir: str) -> None:
    """Write all crawls and secrets of a data folder, as of one moment, into a new file.

    A server may be running. Browse logs (`browse` in the folder) are files of their own: copy them too. A
    database in PostgreSQL is backed up by pg_dump.
    """
    with opened_store(data_dir) as store:
        from linkscore_server.store import moving

        size = moving.backup(store, file)
    click.echo(f"{file}: {size:,} bytes")


@data.command()
@click.argument("file", type=_GIVEN_FILE)
@store_option
def restore(file: Path, data_dir: str) -> None:
    """Make a data folder of a backup; one that has crawls already is left as it is."""
    with plain_failures():
        from linkscore_server.store import moving

        moving.restore(file, Path(data_dir))
    click.echo(f"{data_dir}: restored from {file}")


@data.command("export")
@click.argument("crawl")
@click.argument("file", type=_FILE)
@store_option
def export(crawl: str, file: Path, data_dir: str) -> None:
    """Write a crawl into a new file, as a backup with this crawl alone. A server may be running.

    Neither browse logs nor the secret of tickets are in it: links that wait with tickets go by their URL
    where it is imported.
    """
    with opened_store(data_dir) as store:
        from linkscore_server.store.moving import export_crawl

        events = export_crawl(store, crawl, file)
    click.echo(f"{file}: crawl {crawl} ({events:,} events), {file.stat().st_size:,} bytes")


@data.command("import")
@click.argument("file", type=_GIVEN_FILE)
@store_option
def import_(file: Path, data_dir: str) -> None:
    """Add the crawls of a file that `data export` or `data backup` wrote; a damaged one is refused by name.

    A data folder that is not there is made. A server that runs finds the crawl when it is asked for.
    """
    with opened_store(data_dir, makes=True) as store:
        from linkscore_server.store.moving import import_crawls

        for crawl, events in import_crawls(store, file).items():
            click.echo(f"{_place(store, data_dir)}: imported crawl {crawl} ({events:,} events)")


def _place(store: Store, data_dir: str) -> str:
    """Return where a store is as it was named, but for a password."""
    return store.engine.place if store.engine.is_shared else data_dir


def _told(problems: Iterator[str]) -> int:
    count = 0
    for problem in problems:
        click.echo(problem)
        count += 1
    return count


@contextmanager
def opened_store(data_dir: str, *, makes: bool = False) -> Iterator[Store]:
    """Open a store; errors end the command with their message, and so does a folder without one, mostly."""
    with plain_failures():
        from linkscore_server.store import open_store
        from linkscore_server.store.store import FILE

        if not makes and not is_database(data_dir) and not Path(data_dir, FILE).exists():
            raise click.BadParameter(f"'{data_dir}' has no store of linkscore ({FILE}).", param_hint="DIR")
        with closing(open_store(data_dir)) as store:
            yield store


@contextmanager
def plain_failures() -> Iterator[None]:
    """End the command with the message of an error."""
    try:
        yield
    except (LinkscoreError, OSError, ImportError) as exc:
        raise click.ClickException(str(exc)) from exc


@click.command("tables")
@click.option("--crawl", envvar="LINKSCORE_CRAWL", required=True, show_envvar=True, help="Id of the crawl.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder to write to; tables there are replaced.",
)
@store_option
@click.option("--events-only", is_flag=True, help="Only what came in, nothing of what was learned.")
def export_tables(crawl: str, out: Path, data_dir: str, *, events_only: bool) -> None:
    """Write a crawl as tables in Parquet: fetches, pages, links, rewards, arms, templates, judged.

    A server may be running; nothing is changed. Events that no state has yet are applied, 3 ms each.
    """
    from linkscore_server.tables import write_tables

    with opened_store(data_dir) as store:
        for name, count in write_tables(store, crawl, out, events_only=events_only).items():
            click.echo(f"{out / name}.parquet: {count:,} rows")
