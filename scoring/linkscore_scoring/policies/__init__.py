"""What a link is worth: one module or folder a policy, with all its own parts.

`base` is what a policy is: its parameters, what it knows and what it answers. `with_fallback` has policies
that hand over to another one, `registry` all of them by name. Who writes a policy needs the names below, and
tries it with `linkscore_scoring.testing`; one that lives outside this package says ``register(MyPolicy)``. A
policy of this package has the name of its module or folder and is found by it.

Names are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkscore_scoring.policies.base import (
        FOLLOW,
        NO_VERDICT,
        SKIP,
        Explanation,
        Params,
        Policy,
        Scored,
        Scores,
        Term,
        make_params,
        one_of,
        outside,
    )
    from linkscore_scoring.policies.registry import all_policies, policy_class, register

__all__ = [
    "FOLLOW",
    "NO_VERDICT",
    "SKIP",
    "Explanation",
    "Params",
    "Policy",
    "Scored",
    "Scores",
    "Term",
    "all_policies",
    "make_params",
    "one_of",
    "outside",
    "policy_class",
    "register",
]

_HOMES = {
    **dict.fromkeys(__all__, "base"),
    **dict.fromkeys(("all_policies", "policy_class", "register"), "registry"),
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: parts of some policies are also used without any site model."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
