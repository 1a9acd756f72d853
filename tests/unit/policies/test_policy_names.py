"""A policy has one name: of its class, file, oneof field and test file; and one set of parameters."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from linkscore.v1 import policy_pb2
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin

SPEC = policy_pb2.PolicySpec.DESCRIPTOR.oneofs_by_name["policy"]


@pytest.mark.whole
def test_the_contract_has_one_field_for_each_policy() -> None:
    assert {field.name for field in SPEC.fields} - {"external"} == set(builtin())


@pytest.mark.parametrize("policy", builtin().values(), ids=builtin().keys())
def test_file_and_test_file_are_called_like_the_policy(policy: type[Policy]) -> None:
    home = Path(inspect.getfile(policy))
    assert policy.name in (home.stem, home.parent.name)
    assert list(Path(__file__).parent.rglob(f"test_{policy.name}.py"))


@pytest.mark.parametrize("policy", builtin().values(), ids=builtin().keys())
def test_the_contract_has_the_parameters_of_the_policy_and_all_are_optional(policy: type[Policy]) -> None:
    [message] = [field.message_type for field in SPEC.fields if field.name == policy.name]
    assert {field.name for field in message.fields} == {field.name for field in fields(policy.Params)}
    assert all(field.has_presence for field in message.fields)
