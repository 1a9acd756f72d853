"""Policies from outside the distribution: their errors say whose they are, and where they came from."""

from __future__ import annotations

import errno
import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

import msgpack

from linkscore_scoring.errors import LinkscoreError, PolicyFailed
from linkscore_scoring.policies.base import Policy

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EAGAIN)
"""Errors that say nothing of the policy: the process or the machine is short of something."""


def guarded(kind: type[Policy]) -> type[Policy]:
    """Return a policy class whose methods raise `PolicyFailed` where those of `kind` raise the unexpected.

    Errors of linkscore pass, and those of a machine that is short of something. A state of `to_state` that
    cannot be stored is an error of the policy too.
    """
    made: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made["__doc__"] = kind.__doc__
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        is_own = member is not inspect.getattr_static(Policy, name, None)
        is_asked = name == "__init__" or not name.startswith("_")
        if is_own and is_asked and (found := _guarded(member, kind.name, name)) is not None:
            made[name] = found
    if "to_state" in made:
        made["to_state"] = _guarded(_storable(made["to_state"]), kind.name, "to_state")
    return cast(type[Policy], type(kind)(kind.__name__, (kind,), made))  # type: ignore[misc]


def _guarded(member: Any, policy: str, name: str) -> Any:
    """Return a method or property with its errors named, None of what is neither."""
    if isinstance(member, classmethod | staticmethod):
        return type(member)(_naming(member.__func__, policy, name))
    if isinstance(member, property):
        return property(_naming(member.fget, policy, name) if member.fget is not None else None, member.fset)
    return _naming(member, policy, name) if inspect.isfunction(member) else None


def _naming(call: Callable[..., Any], policy: str, name: str) -> Callable[..., Any]:
    @functools.wraps(call)
    def named(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except (LinkscoreError, MemoryError):
            raise
        except Exception as exc:
            if getattr(exc, "errno", None) in _SHORT:
                raise
            raise PolicyFailed(f"policy {policy!r}: {name} raised {type(exc).__name__}: {exc}") from exc

    return named


def _storable(to_state: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(to_state)
    def stored(*args: Any, **kwargs: Any) -> Any:
        state = to_state(*args, **kwargs)
        msgpack.packb(state)
        return state

    return stored
