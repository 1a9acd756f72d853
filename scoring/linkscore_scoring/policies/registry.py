"""All policies by name: every module of this package, and what was registered from outside."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable

from linkscore_scoring import policies
from linkscore_scoring.errors import AlreadyExists, NotFound
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.guard import guarded

GROUP = "linkscore.policies"
"""Entry points by which installed packages bring policies."""

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
    found = find_policy(name)
    if found is None:
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
    """Return the policies of this package: each module or folder called NAME holds the policy called NAME.

    Raises OSError if they cannot be read now; the next call tries again.
    """
    found = ((name, builtin_policy(name)) for name in _homes())
    return {name: policy for name, policy in found if policy is not None}


def builtin_policy(name: str) -> type[Policy] | None:
    """Return a policy of this package, None if there is none called so; raises as `builtin` does."""
    return _loaded(name) if name in _homes() else None


@cache
def _loaded(name: str) -> type[Policy] | None:
    module = importlib.import_module(_homes()[name])
    for _, item in inspect.getmembers(module, inspect.isclass):
        if item.__module__ != module.__name__ or not issubclass(item, Policy) or inspect.isabstract(item):
            continue
        if item.name == name:
            return item
    return None


@cache
def _homes() -> dict[str, str]:
    """Return the module that would have the policy of a name: the file, or `policy` of the folder."""
    found = {}
    for module in _modules(files(policies), policies.__name__):
        *_, folder, name = module.split(".")
        found[folder if name == "policy" else name] = module
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
