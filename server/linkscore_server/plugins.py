"""What other packages bring: policies and embeddings, found by their entry points."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from linkscore_scoring.policies.base import Policy

GROUP = "linkscore.policies"
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


def external_embeddings() -> dict[str, Callable[[], Any]]:
    """Return what loads each embedding that installed packages register; nothing is loaded yet."""
    return {entry.name: partial(_made_by, entry) for entry in entry_points(group=EMBEDDINGS)}


def _made_by(entry: EntryPoint) -> Any:
    return entry.load()()
