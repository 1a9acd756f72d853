"""The tree of the `linkscore` command."""

from __future__ import annotations

from importlib.metadata import version

import click

from linkscore_cli.extras import COMMANDS
from linkscore_cli.plugins import CommandGroup

SECTIONS = {
    "Serve": ("serve", "check-config", "token", "health", "data", "console", "frontier", "mcp"),
    "Crawl": ("crawls", "score", "advise", "skipped", "seeds", "revisits", "export", "logs"),
    "Replay and measure": ("try", "demo", "replay", "compare"),
}
"""Commands as `linkscore --help` groups them; those of other distributions come last."""

# Loaded when used, as those of others: a server that starts pays for no tables and no client.
_OWN = {
    "crawls": "linkscore_cli.crawls:crawls",
    "score": "linkscore_cli.score:score",
    "advise": "linkscore_cli.sites:advise",
    "seeds": "linkscore_cli.sites:seeds",
    "skipped": "linkscore_cli.sites:skipped",
    "revisits": "linkscore_cli.sites:revisits",
    "export": "linkscore_cli.sites:export",
    "logs": "linkscore_cli.logs:logs",
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
