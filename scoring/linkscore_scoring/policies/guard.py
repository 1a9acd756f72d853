"""Policies from outside the distribution: one that fails is taken out, and its crawl goes on without it.

Of a method that only reads, breadth-first order answers this once. One that learns leaves nobody knows what
behind, so the policy of that site is taken out: breadth-first order answers until the crawl is configured
again, and the site says why (`describe`, and in each explanation). Both are functions of the events alone.
"""

from __future__ import annotations

import errno
import functools
import inspect
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from linkscore_scoring.errors import LinkscoreError
from linkscore_scoring.policies.base import Explanation, Policy
from linkscore_scoring.policies.baselines import BreadthFirst
from linkscore_scoring.state import packed

FAILURES: Counter[str] = Counter()
"""How often policies failed in this process, by name."""

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EAGAIN)
"""Errors that say nothing of the policy: the process or the machine is short of something."""

_LEARNS = {
    *("__init__", "load_state", "observe", "feedback", "expect", "model_activated", "logs_mined"),
    *("set_examples", "set_wanted", "set_experience"),
}
"""What changes a policy; it cannot be asked again where one of these failed."""

_FAILURE = "_taken_out_because"
"""Attribute of a policy that was taken out; in its state, the only field."""

_log = logging.getLogger(__name__)


def guarded(kind: type[Policy]) -> type[Policy]:
    """Return a policy class in whose methods nothing unexpected is raised: breadth-first order replaces it.

    Errors of linkscore pass, and those of a machine that is short of something. Scores and states that cannot
    be used are failures too.
    """
    made: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made |= {"__doc__": kind.__doc__, _FAILURE: ""}
    for name in (*_ASKED, "__init__"):
        member = inspect.getattr_static(kind, name)
        if inspect.isfunction(member):
            made[name] = _safe(member, kind.name, name)
    return cast(type[Policy], type(kind)(kind.__name__, (kind,), made))  # type: ignore[misc]


def failure_of(policy: Policy) -> str:
    """Return why a policy was taken out; empty if it was not."""
    return getattr(policy, _FAILURE, "")


def _safe(call: Callable[..., Any], policy: str, name: str) -> Callable[..., Any]:
    check: Callable[..., Any] | None = _CHECKS.get(name)
    stand_in: Any = (lambda *_, **__: None) if name in _LEARNS else getattr(BreadthFirst, name)
    stand_in = Policy.__init__ if name == "__init__" else stand_in

    @functools.wraps(call)
    def safe(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "load_state":
            setattr(self, _FAILURE, args[0].get(_FAILURE, ""))
        if not (why := getattr(self, _FAILURE, "")):
            try:
                answer = [*found] if inspect.isgenerator(found := call(self, *args, **kwargs)) else found
                if check is not None:
                    check(answer, *args)
                return answer
            except (LinkscoreError, MemoryError):
                raise
            except Exception as exc:
                if getattr(exc, "errno", None) in _SHORT:
                    raise
                why = _noted(policy, name, exc)
            if name in _LEARNS:
                setattr(self, _FAILURE, why)
        if name == "to_state":
            return {_FAILURE: why}
        if name == "explain":
            return [replace(found, summary=f"{why}: {found.summary}") for found in stand_in(self, *args)]
        return why if name == "describe" else stand_in(self, *args, **kwargs)

    return safe


def _noted(policy: str, name: str, error: Exception) -> str:
    """Count and log that a policy failed, each method once with its traceback; return it in words."""
    key = f"{policy}.{name}"
    if not _SEEN[key]:
        _log.error("policy %r fails; breadth-first order replaces it", policy, exc_info=error)
    _SEEN[key] += 1
    FAILURES[policy] += 1
    # What an error says may differ from run to run (an address, a time); what a site keeps may not.
    return f"policy {policy!r} failed, breadth-first order replaces it: {name} raised {type(error).__name__}"


_SEEN: Counter[str] = Counter()


def _check_score(scored: Any, links: Any, site: Any) -> None:
    _check_value(scored.scores, links.urls, site)
    if len(scored.buckets) != len(links.urls):
        raise ValueError(f"{len(scored.buckets)} buckets of {len(links.urls)} links")


def _check_value(scores: Any, items: Any, site: Any) -> None:
    if scores.shape != (len(items),):
        raise ValueError(f"scores of shape {scores.shape} for {len(items)}")
    if not np.all((scores >= 0) & (scores <= 1)):
        raise ValueError("a score outside [0, 1]")


def _check_explanations(found: Any, links: Any, site: Any) -> None:
    if len(found) != len(links.urls) or not all(isinstance(item, Explanation) for item in found):
        raise ValueError(f"not an Explanation of each of {len(links.urls)} links")


_CHECKS: dict[str, Callable[..., Any]] = {
    "score": _check_score,
    "value": _check_value,
    "explain": _check_explanations,
    "to_state": packed,
}
"""What raises if an answer is not one of a policy."""


_ASKED = ["load_state", "to_state"] + [
    name for name, member in vars(Policy).items() if not name.startswith("_") and inspect.isfunction(member)
]
"""What is asked of a policy from outside."""
