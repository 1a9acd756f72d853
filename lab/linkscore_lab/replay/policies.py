"""Policies as written on a command line: ``NAME`` or ``NAME:param=value,...``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linkscore_lab.replay.scorer import ORACLES
from linkscore_scoring.errors import InvalidInput, InvalidParams, LinkscoreError
from linkscore_scoring.policies.base import any_part, make_params
from linkscore_scoring.policies.registry import all_policies, policy_class


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy with the parameters that differ from their defaults, and how it was written."""

    text: str
    name: str
    params: Mapping[str, Any]


def read_policy(text: str) -> PolicyText:
    """Return a policy from ``NAME[:param=value,...]``; values are JSON, or else text."""
    name, _, rest = text.partition(":")
    if name not in ORACLES:
        try:
            policy_class(name)
        except LinkscoreError as exc:
            known = ", ".join(sorted([*all_policies(), *ORACLES]))
            raise InvalidInput(f"must be one of {known}, got {name!r}", field="policy") from exc
    params = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise InvalidInput(f"{name}: parameters are param=value, got {part!r}", field="policy")
        params[key.strip()] = _value(value.strip())
    return PolicyText(text, name, params)


def reads_layout(policy: PolicyText) -> bool:
    """Say whether a policy needs pages with their layout; one that each task completes does not."""
    if policy.name in ORACLES:
        return False
    kind = policy_class(policy.name)
    try:
        return any_part(kind, make_params(kind, dict(policy.params)), "reads_layout")
    except InvalidParams:
        return kind.reads_layout


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
