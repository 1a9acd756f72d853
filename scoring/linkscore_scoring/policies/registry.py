"""All policies by name: every module of this package, and what was registered from outside."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from linkscore_scoring import policies
from linkscore_scoring.errors import AlreadyExists, NotFound
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.guard import guarded

_external: dict[str, type[Policy]] = {}


def register(policy: type[Policy]) -> None:
    """Make a policy from outside the distribution known under its `name`; its errors are named, see `guard`.

    Raises
    ------
    AlreadyExists
        If another policy has this name.
    """
    taken = builtin().get(policy.name) or _external.get(policy.name)
    if taken is not None and policy not in (taken, taken.__base__):
        raise AlreadyExists(
            f"policy {policy.name!r}: the name is taken by {taken.__module__}.{taken.__qualname__}"
        )
    if taken is None:
        _external[policy.name] = guarded(policy)


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
    """Return the policies of this package: each module or folder called NAME holds the policy called NAME.

    Raises
    ------
    OSError
        If they cannot be read now; the next call tries again.
    """
    found = {}
    for module in _modules(files(policies), policies.__name__):
        loaded = importlib.import_module(module)
        for _, item in inspect.getmembers(loaded, inspect.isclass):
            if (
                item.__module__ == loaded.__name__
                and issubclass(item, Policy)
                and not inspect.isabstract(item)
            ):
                found[item.name] = item
    return found


def _modules(folder: Traversable, package: str) -> Iterator[str]:
    """Yield the names of the modules of a package and of those in it.

    `pkgutil` finds none in a folder that it cannot list, of a process short of descriptors for example: that
    must be an error, for what is found is kept.
    """
    for entry in sorted(folder.iterdir(), key=lambda found: found.name):
        name = f"{package}.{entry.name.removesuffix('.py')}"
        if entry.joinpath("__init__.py").is_file():
            yield name
            yield from _modules(entry, name)
        elif entry.name.endswith(".py") and entry.name != "__init__.py":
            yield name
