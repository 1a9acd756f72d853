"""A policy as it is named on the command line."""

from __future__ import annotations

from linkscore.v1 import policy_pb2
from linkscore_scoring.policies.registry import builtin


def spec_of_name(policy: str) -> policy_pb2.PolicySpec | None:
    """Return the message of a policy with its default parameters; None for an empty name."""
    if not policy:
        return None
    spec = policy_pb2.PolicySpec()
    if policy in builtin():
        getattr(spec, policy).SetInParent()
    else:
        spec.external.name = policy
    return spec
