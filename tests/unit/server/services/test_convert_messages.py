"""Names, paging, policies, pages and results: messages to values and back."""

from __future__ import annotations

import pytest

from linkscore.v1 import policy_pb2
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.policies.registry import builtin
from linkscore_server.services.messages import (
    spec_of,
)


def test_the_policies_of_the_contract_are_those_of_the_library() -> None:
    fields = set(policy_pb2.PolicySpec.DESCRIPTOR.fields_by_name)
    assert fields - {"external"} == set(builtin())


@pytest.mark.parametrize("name", sorted(builtin()))
def test_an_unset_parameter_differs_from_one_that_is_zero(name: str) -> None:
    spec = policy_pb2.PolicySpec()
    params = getattr(spec, name)
    params.SetInParent()
    assert spec_of(PolicyChoice(name)) == spec
    for field in params.DESCRIPTOR.fields:
        assert field.has_presence, f"{name}.{field.name} must be optional"
