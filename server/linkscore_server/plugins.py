"""What annexes and other packages bring: services, embeddings, found by their entry points."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from linkscore_cli.extras import install_command

SERVICES = "linkscore.services"
EMBEDDINGS = "linkscore.embeddings"
_log = logging.getLogger(__name__)


def external_services() -> list[Any]:
    """Load the services that annexes register, `services.Services`; one that cannot be loaded is left out.

    Of one whose extra is not installed a line of the log says how to get it.
    """
    found = []
    for entry in sorted(entry_points(group=SERVICES), key=lambda entry: entry.name):
        try:
            found.append(entry.load())
        except ModuleNotFoundError as exc:
            remedy = f"; {install_command(entry.extras[0])}" if entry.extras else ""
            _log.warning("services %s are left out: %s%s", entry.name, exc, remedy)
        except Exception:
            _log.exception("services %s cannot be loaded", entry.name)
    return found


def external_embeddings() -> dict[str, Callable[[], Any]]:
    """Return what loads each embedding that installed packages register; nothing is loaded yet."""
    return {entry.name: partial(_made_by, entry) for entry in entry_points(group=EMBEDDINGS)}


def _made_by(entry: EntryPoint) -> Any:
    return entry.load()()
