"""All policies by name: those of this package, and what was registered from outside."""

from __future__ import annotations

import inspect
import logging
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name

from linkscore_scoring import policies
from linkscore_scoring.errors import AlreadyExists, NotFound
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.guard import guarded

GROUP = "linkscore.policies"
"""Entry points by which installed packages bring policies."""

_HOMES = {
    "anthelion": "anthelion:Anthelion",
    "behavior_discovery": "browse_log:BehaviorDiscovery",
    "behavior_fetch": "browse_log:BehaviorFetch",
    "breadth_first": "baselines:BreadthFirst",
    "focus": "focus.policy:Focus",
    "harvest": "harvest.policy:Harvest",
    "in_degree": "link_graph:InDegree",
    "keyword": "baselines:Keyword",
    "newest": "baselines:Newest",
    "news_prefix": "browse_log:NewsByPrefix",
    "opic": "link_graph:Opic",
    "pagerank": "link_graph:Pagerank",
    "source_target": "source:SourceTarget",
    "source_ucc": "source:SourceUcc",
    "topic": "topic.policy:Topical",
    "uniform_random": "baselines:UniformRandom",
}
"""Module below `policies`, and class, of each policy of this package: imported when it is asked for."""
_external: dict[str, type[Policy]] = {}
_log = logging.getLogger(__name__)


def register(policy: type[Policy]) -> None:
    """Make a policy from outside the distribution known under its `name`; its errors are named, see `guard`.

    Raises AlreadyExists if another policy has this name.
    """
    taken = find_policy(policy.name)
    if taken is not None and policy not in (taken, taken.__base__):
        raise AlreadyExists(
            f"policy {policy.name!r}: the name is taken by {taken.__module__}.{taken.__qualname__}"
        )
    if taken is None:
        _external[policy.name] = guarded(policy)


def policy_class(name: str) -> type[Policy]:
    """Return a policy by name.

    Raises NotFound if there is none; the message lists those there are.
    """
    if find_policy(name) is None:
        register_installed()
    found = find_policy(name)
    if found is None:
        near = "".join(f", did you mean {each}?" for each in get_close_matches(name, all_policies(), n=1))
        raise NotFound(
            f"no policy is named {name!r}{near or ':'} there are {', '.join(sorted(all_policies()))}"
        )
    return found


@cache
def register_installed() -> None:
    """Register the policies that installed packages bring; one that fails to load is logged and left out."""
    for entry in entry_points(group=GROUP):
        try:
            policy = entry.load()
        except Exception:
            _log.exception("policy %s of %s cannot be loaded", entry.name, entry.dist and entry.dist.name)
            continue
        if isinstance(policy, type) and issubclass(policy, Policy) and not inspect.isabstract(policy):
            register(policy)
        else:
            _log.error("entry point %s: %r is not a Policy class that can be used", entry.name, policy)


def find_policy(name: str) -> type[Policy] | None:
    """Return a policy by name, None if there is none; nothing is imported but its own modules."""
    return builtin_policy(name) or _external.get(name)


def all_policies() -> dict[str, type[Policy]]:
    """Return every known policy by name, those of installed packages included."""
    register_installed()
    return {**builtin(), **_external}


def builtin() -> dict[str, type[Policy]]:
    """Return the policies of this package by name."""
    return {name: policy for name in _HOMES if (policy := builtin_policy(name)) is not None}


@cache
def builtin_policy(name: str) -> type[Policy] | None:
    """Return a policy of this package, None if there is none called so."""
    return resolve_name(f"{policies.__name__}.{_HOMES[name]}") if name in _HOMES else None
