"""The tree of the `linkscore` command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, version
from typing import Any

import click

from linkscore_cli.errors import plainly
from linkscore_cli.extras import COMMANDS, commands_of, extra_of, missing_extra


class CommandGroup(click.Group):
    """A group whose commands are its own and those of an entry point group; a command is loaded when used."""

    def __init__(
        self,
        *,
        entry_group: str = "",
        own: Mapping[str, str] | None = None,
        sections: Mapping[str, Sequence[str]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._entry_group = entry_group
        self._own = {
            name: EntryPoint(name, value if "[" in value else f"{value} [cli]", entry_group)
            for name, value in (own or {}).items()
        }
        self._sections = sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help."""
        names = {*super().list_commands(ctx), *self._entries()}
        placed = [name for section in self._sections.values() for name in section if name in names]
        return placed + sorted(names - set(placed))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command; one that cannot be loaded says why when it is run."""
        own = super().get_command(ctx, name)
        if own is not None:
            return own
        entry = self._entries().get(name)
        return None if entry is None else _load(entry)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the options of the group itself; what is wrong is told in one line."""
        with plainly():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what is wrong is told in one line, of a missing module by the extra that has it."""
        try:
            with plainly():
                return super().invoke(ctx)
        except ModuleNotFoundError as exc:
            entry = self._entries().get(ctx.invoked_subcommand or "")
            if entry is None or not extra_of(entry) or (exc.name or "").startswith("linkscore"):
                raise
            raise click.ClickException(missing_extra(extra_of(entry), exc)) from exc

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below their headings."""
        if not self._sections:
            return super().format_commands(ctx, formatter)
        left = self.list_commands(ctx)
        for heading, names in (*self._sections.items(), ("Others", tuple(left))):
            shown = [name for name in names if name in left]
            left = [name for name in left if name not in shown]
            rows = [(name, self._short_help(ctx, name)) for name in shown]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        return None

    def _entries(self) -> dict[str, EntryPoint]:
        found = commands_of(self._entry_group) if self._entry_group else {}
        return found | self._own

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=90) if command else ""


def _load(entry: EntryPoint) -> click.Command:
    try:
        command = entry.load()
    except ImportError as exc:
        extra = extra_of(entry)
        if extra:
            return _unusable(entry.name, missing_extra(extra, exc), f"(needs linkscore[{extra}])")
        return _unusable(entry.name, f"cannot be loaded from {entry.value}: {exc}", "(cannot be loaded)")
    if not isinstance(command, click.Command):
        return _unusable(entry.name, f"{entry.value} is no click command", "(cannot be loaded)")
    return command


def _unusable(name: str, why: str, short: str) -> click.Command:
    def fail(rest: tuple[str, ...]) -> None:
        raise click.ClickException(f"{name} {why}")

    return click.Command(
        name,
        callback=fail,
        params=[click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)],
        short_help=short,
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
    )


SECTIONS = {
    "Serve": ("serve", "check-config", "token", "health", "data", "console", "frontier", "mcp"),
    "Crawl": ("crawls", "score", "advise", "skipped", "seeds", "revisits", "export", "logs"),
    "Replay and measure": ("try", "demo", "replay"),
}
"""Commands as `linkscore --help` groups them; those of other distributions come last."""

# Loaded when used, as those of others: a server that starts pays for no tables and no client.
_OWN = {
    "crawls": "linkscore_cli.crawls:crawls",
    "score": "linkscore_cli.sites:score",
    "advise": "linkscore_cli.sites:advise",
    "seeds": "linkscore_cli.sites:seeds",
    "skipped": "linkscore_cli.sites:skipped",
    "revisits": "linkscore_cli.sites:revisits",
    "export": "linkscore_cli.sites:export",
    "logs": "linkscore_cli.sites:logs",
    "token": "linkscore_cli.tokens:token",
    "mcp": "linkscore_cli.agents:mcp_command [mcp]",
}


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Say which version this is, and what reads pages where they are read: not beside a crawler."""
    if asked:
        try:
            from linkscore_scoring.kernels import KERNELS
        except ModuleNotFoundError:  # the extra `server` is not installed
            reader = ""
        else:
            reader = f" ({KERNELS.name} reader)"
        click.echo(f"linkscore, version {version('linkscore')}{reader}")
        context.exit()


@click.group(
    cls=CommandGroup,
    entry_group=COMMANDS,
    own=_OWN,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, and which reader reads pages.",
)
def main() -> None:
    """Which links should a crawler follow? A gRPC service that learns while you crawl."""
