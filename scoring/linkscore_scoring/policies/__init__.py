"""What a link is worth: one module or folder a policy, with all its own parts.

`base` is what a policy is: its parameters, what it knows and what it answers. `with_fallback` has policies
that hand over to another one, `registry` all of them by name. Who writes a policy needs the names below, and
tries it with `linkscore_scoring.testing`; one that lives outside this package says ``register(MyPolicy)``.
"""

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
    within,
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
    "policy_class",
    "register",
    "within",
]
