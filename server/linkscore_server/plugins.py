"""Policies from outside the distribution: entry points of the group `linkscore.policies`."""

from __future__ import annotations

import inspect
import logging
from importlib.metadata import entry_points

from linkscore_scoring.policies.base import Policy

GROUP = "linkscore.policies"
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
