"""The contract has each policy by its name, with its parameters."""

from __future__ import annotations

from dataclasses import fields

import pytest

from linkscore.v1 import policy_pb2
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin

SPEC = policy_pb2.PolicySpec.DESCRIPTOR.oneofs_by_name["policy"]


def test_the_contract_has_one_field_for_each_policy() -> None:
    assert {field.name for field in SPEC.fields} - {"external"} == set(builtin())


@pytest.mark.parametrize("policy", builtin().values(), ids=builtin().keys())
def test_the_contract_has_the_parameters_of_the_policy_and_all_are_optional(policy: type[Policy]) -> None:
    [message] = [field.message_type for field in SPEC.fields if field.name == policy.name]
    assert {field.name for field in message.fields} == {field.name for field in fields(policy.Params)}
    assert all(field.has_presence for field in message.fields)
