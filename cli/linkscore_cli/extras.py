"""Which command and which import needs which extra of the distribution; works without click."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, distribution, entry_points
from pathlib import Path
from urllib.parse import urlsplit

COMMANDS = "linkscore.commands"
"""Group of the entry points of commands."""


def commands_of(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; the first wins if two distributions use a name."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def extra_of(entry: EntryPoint) -> str:
    """Return the extra of linkscore that a command needs; empty for commands of other distributions."""
    return entry.extras[0] if entry.extras and entry.module.startswith("linkscore_") else ""


def missing_extra(extra: str, exc: ImportError) -> str:
    """Say which extra has what could not be imported."""
    return f"needs the {extra} extra: {install_command(extra)} ({exc})"


def install_command(extra: str) -> str:
    """Return the command that adds an extra, from where linkscore was installed: a clone, a wheel, an index.

    pip notes a clone or a wheel in ``direct_url.json`` (PEP 610), and nothing of an index.
    """
    from urllib.request import url2pathname  # which brings http.client: only for who lacks something

    noted = json.loads(distribution("linkscore").read_text("direct_url.json") or "{}")
    url = urlsplit(noted.get("url", ""))
    source = url2pathname(url.path) if url.scheme == "file" else ""
    if not source or not Path(source).exists():
        return f"pip install 'linkscore[{extra}]'"
    editable = "-e " if noted.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}'{source}[{extra}]'"
