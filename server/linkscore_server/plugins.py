"""What annexes and other packages bring: policies, services, embeddings, found by their entry points."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from linkscore_cli.extras import install_command
from linkscore_scoring.policies.base import Policy

GROUP = "linkscore.policies"
SERVICES = "linkscore.services"
EMBEDDINGS = "linkscore.embeddings"
_log = logging.getLogger(__name__)


def external_policies() -> list[type[Policy]]:
    """Load the policies that installed packages register; one that fails to load is logged and left out."""
    found = []
    for entry in entry_points(group=GROUP):
        try:
            policy = entry.load()
        except Exception:
            _log.exception("policy %s of %s cannot be loaded", entry.name, entry.dist and entry.dist.name)
            continue
        if isinstance(policy, type) and issubclass(policy, Policy) and not inspect.isabstract(policy):
            found.append(policy)
        else:
            _log.error("entry point %s: %r is not a Policy class that can be used", entry.name, policy)
    return found


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
