"""PolicySpec to a policy choice and back, alike for all: oneof field -> name, set fields -> parameters."""

from __future__ import annotations

from google.protobuf import json_format
from google.protobuf.message import Message

from linkscore.v1 import policy_pb2
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_scoring.policies.registry import policy_class


def choice_of(spec: policy_pb2.PolicySpec, field: str = "policy") -> PolicyChoice | None:
    """Return the choice a spec makes, checked; None if it is empty.

    Raises
    ------
    InvalidInput
        With the path of every bad field, e.g. ``policy.source_ucc.alpha``.
    """
    name = spec.WhichOneof("policy")
    if name is None:
        return None
    if name == "external":
        choice = PolicyChoice(spec.external.name, json_format.MessageToDict(spec.external.params))
        path = f"{field}.external.params"
    else:
        choice = PolicyChoice(name, set_fields(getattr(spec, name)))
        path = f"{field}.{name}"
    _check(choice, path, field)
    return choice


def spec_of(choice: PolicyChoice) -> policy_pb2.PolicySpec:
    """Return the spec of a choice."""
    spec = policy_pb2.PolicySpec()
    if choice.name not in spec.DESCRIPTOR.fields_by_name:
        spec.external.name = choice.name
        spec.external.params.update(dict(choice.params))
        return spec
    params = getattr(spec, choice.name)
    params.SetInParent()
    for name, value in choice.params.items():
        setattr(params, name, value)
    return spec


def set_fields(params: Message) -> dict[str, object]:
    """Return the fields of a flat message that are set, by name."""
    return {field.name: value for field, value in params.ListFields()} | {
        field.name: getattr(params, field.name)
        for field in params.DESCRIPTOR.fields
        if field.has_presence and params.HasField(field.name)
    }


def _check(choice: PolicyChoice, path: str, field: str) -> None:
    try:
        policy_class(choice.name)
    except LinkscoreError as exc:
        raise InvalidInput(str(exc), field=f"{field}.external.name", reason="UNKNOWN_POLICY") from exc
    try:
        choice.checked()
    except InvalidInput as exc:
        raise exc.under(path) from exc
