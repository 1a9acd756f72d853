"""Which command and which import needs which extra of the distribution; works without click."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

COMMANDS = "linkscore.commands"
"""Group of the entry points of commands."""

LOGS_COMMANDS = "linkscore.commands.logs"
"""Group of those below `linkscore logs`."""

_EXTRAS = {
    "linkscore_console": "console",
    "linkscore_server": "server",
    "linkscore_frontier": "frontier",
    "linkscore_lab": "lab",
}
# A module that only this extra brings.
_MARKS = {"console": "starlette", "server": "grpc_health", "frontier": "grpc_health", "lab": "warcio"}


def commands_of(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; the first wins if two distributions use a name."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def extra_of(entry: EntryPoint) -> str:
    """Return the extra of linkscore that a command needs; empty for commands of other distributions."""
    return _EXTRAS.get(entry.module.partition(".")[0], "")


def is_installed(extra: str) -> bool:
    """Say whether an extra seems to be there; nothing is imported."""
    try:
        return extra not in _MARKS or find_spec(_MARKS[extra]) is not None
    except ImportError:
        return False


def missing_extra(extra: str, exc: ImportError) -> str:
    """Say which extra has what could not be imported."""
    return f"needs the {extra} extra: pip install 'linkscore[{extra}]' ({exc})"
