"""Every command of `linkscore`, by its path."""

from __future__ import annotations

import click

from linkscore_cli.main import main


def leaves(command: click.Command, *path: str) -> dict[tuple[str, ...], click.Command]:
    """All commands of the tree that are no groups, by their path."""
    if not isinstance(command, click.Group):
        return {path: command}
    context = click.Context(command)
    found = {}
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        found |= leaves(inner, *path, name)
    return found


TREE = leaves(main)
# Of annexes those too that ask about a crawl at a server.
ONLINE = {
    path for path, command in TREE.items() if {"target", "crawl"} <= {param.name for param in command.params}
} - {("console",), ("frontier",), ("mcp",)}
