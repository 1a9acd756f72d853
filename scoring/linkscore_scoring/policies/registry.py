"""All policies by name: every module of this package, and what was registered from outside."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from linkscore_scoring import policies
from linkscore_scoring.errors import AlreadyExists, NotFound
from linkscore_scoring.policies.base import Policy

_external: dict[str, type[Policy]] = {}


def register(policy: type[Policy]) -> None:
    """Make a policy from outside the distribution known under its `name`.

    Raises
    ------
    AlreadyExists
        If another policy has this name.
    """
    taken = builtin().get(policy.name) or _external.get(policy.name)
    if taken is not None and taken is not policy:
        raise AlreadyExists(
            f"policy {policy.name!r}: the name is taken by {taken.__module__}.{taken.__qualname__}"
        )
    _external[policy.name] = policy


def policy_class(name: str) -> type[Policy]:
    """Return a policy by name.

    Raises
    ------
    NotFound
        If there is none; the message lists those there are.
    """
    found = builtin().get(name) or _external.get(name)
    if found is None:
        raise NotFound(f"policy {name!r} is not registered; known: {', '.join(sorted(all_policies()))}")
    return found


def all_policies() -> dict[str, type[Policy]]:
    """Return every known policy by name."""
    return {**builtin(), **_external}


@cache
def builtin() -> dict[str, type[Policy]]:
    """Return the policies of this package: each module or folder called NAME holds the policy called NAME."""
    found = {}
    for module in pkgutil.walk_packages(policies.__path__, f"{policies.__name__}."):
        loaded = importlib.import_module(module.name)
        for _, item in inspect.getmembers(loaded, inspect.isclass):
            if (
                item.__module__ == loaded.__name__
                and issubclass(item, Policy)
                and not inspect.isabstract(item)
            ):
                found[item.name] = item
    return found
