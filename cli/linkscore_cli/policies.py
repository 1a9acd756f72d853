"""Policies and budgets as written on a command line: ``NAME:param=value,...`` and ``NAME=NUMBER``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click
from click.shell_completion import CompletionItem
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor

from linkscore.messages import policy_spec
from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1 import policy_pb2

_WHOLE = (pb.Budget.DESCRIPTOR.fields_by_name["max_fetches"].type,)  # uint64


def budget_of(bounds: Sequence[str], option: str) -> pb.Budget | None:
    """Return bounds as a message; None if there are none."""
    made, fields = pb.Budget(), pb.Budget.DESCRIPTOR.fields_by_name
    for text in bounds:
        name, _, number = text.partition("=")
        if name not in fields:
            meant = get_close_matches(name, list(fields), n=1)
            rule = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(fields)}"
            raise click.BadParameter(f"no bound is named {name!r}: {rule}", param_hint=option)
        is_whole = fields[name].type in _WHOLE
        try:
            setattr(made, name, int(number) if is_whole else float(number))
        except ValueError:
            what = "a whole number" if is_whole else "a number"
            raise click.BadParameter(f"{name} must be {what}, got {number!r}", param_hint=option) from None
    return made if bounds else None


_KINDS = {
    FieldDescriptor.CPPTYPE_STRING: "a text",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
}
_FIELDS = policy_pb2.PolicySpec.DESCRIPTOR.fields_by_name


def read_policy(text: str) -> policy_pb2.PolicySpec:
    """Return a policy from ``NAME[:param=value,...]``.

    Names that the contract does not know are policies from outside, whose parameters are JSON, or else text.

    Examples
    --------
    >>> read_policy("harvest:curiosity=0.5,hub_weight=1").harvest.curiosity
    0.5
    >>> read_policy("harvest:curiousity=0.5")
    Traceback (most recent call last):
    ...
    ValueError: harvest: must have parameters among exploration, hub_weight, curiosity, got 'curiousity'
    """
    name, _, rest = text.partition(":")
    if not name:
        raise ValueError(f"must have the form NAME[:param=value,...], got {text!r}")
    params: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"{name}: parameters must have the form param=value, got {part!r}")
        params[key] = _value(name, key, value)
    spec = policy_spec((name, params))
    assert spec is not None
    return spec


def policy_text(spec: policy_pb2.PolicySpec) -> str:
    """Return a policy as `read_policy` reads it.

    Examples
    --------
    >>> policy_text(read_policy("harvest:curiosity=0.5"))
    'harvest:curiosity=0.5'
    """
    name = spec.WhichOneof("policy")
    if name is None:
        return ""
    if name == "external":
        name, params = spec.external.name, json_format.MessageToDict(spec.external.params)
    else:
        params = {field.name: value for field, value in getattr(spec, name).ListFields()}
    written = ",".join(f"{key}={_written(value)}" for key, value in params.items())
    return f"{name}:{written}" if written else str(name)


class PolicyType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2 only
    """The type of options that take a policy; completes names."""

    name = "NAME[:param=value,...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> policy_pb2.PolicySpec:
        if isinstance(value, policy_pb2.PolicySpec):
            return value
        try:
            return read_policy(value)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(n) for n in _FIELDS if n != "external" and n.startswith(incomplete)]


def _value(policy: str, key: str, text: str) -> Any:
    """Return a parameter as its field's type has it."""
    if policy == "external" or policy not in _FIELDS:
        return _json(text)
    known = _params_of(policy)
    if key not in known:
        rule = f"must have parameters among {', '.join(known)}" if known else "must have no parameters"
        raise ValueError(f"{policy}: {rule}, got {key!r}")
    kind = known[key].cpp_type
    value = text if kind == FieldDescriptor.CPPTYPE_STRING else _json(text)
    fits = {
        FieldDescriptor.CPPTYPE_STRING: isinstance(value, str),
        FieldDescriptor.CPPTYPE_BOOL: isinstance(value, bool),
        FieldDescriptor.CPPTYPE_DOUBLE: isinstance(value, int | float) and not isinstance(value, bool),
    }
    if not fits.get(kind, isinstance(value, int) and not isinstance(value, bool)):
        raise ValueError(f"{policy}: {key} must be {_KINDS.get(kind, 'a whole number')}, got {text!r}")
    return value


def _params_of(policy: str) -> Mapping[str, Any]:
    params = _FIELDS[policy].message_type
    return params.fields_by_name if params else {}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
