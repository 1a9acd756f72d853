"""Which command and which import needs which extra of the distribution; works without click."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

COMMANDS = "linkscore.commands"
"""Group of the entry points of commands."""

LOGS_COMMANDS = "linkscore.commands.logs"
"""Group of those below `linkscore logs`."""

_EXTRAS = {"linkscore_server": "server", "linkscore_lab": "lab"}


def commands_of(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; the first wins if two distributions use a name."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def extra_of(entry: EntryPoint) -> str:
    """Return the extra of linkscore that a command needs; empty for commands of other distributions."""
    return _EXTRAS.get(entry.module.partition(".")[0], "")


def missing_extra(extra: str, exc: ImportError) -> str:
    """Say which extra has what could not be imported."""
    return f"needs the {extra} extra: pip install 'linkscore[{extra}]' ({exc})"
