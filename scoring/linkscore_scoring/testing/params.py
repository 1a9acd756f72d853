"""Whether a policy names the parameters that are wrong."""

from __future__ import annotations

from dataclasses import fields
from math import inf, nan
from typing import Any

from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.policies.params import make_params
from linkscore_scoring.testing.subject import Subject

_WRONG: dict[type, list[Any]] = {
    float: [nan, inf, "much", True],
    int: [0.5, "many", True],
    bool: ["yes", 1],
    str: [1, False],
}


def check_bad_params_are_named(subject: Subject) -> None:
    """Unknown fields and values of a wrong kind are refused by the name of the field."""
    make_params(subject.policy, subject.params)
    _check_named(subject, "no_such_parameter", 1)
    for field in fields(subject.policy.Params):
        for value in _WRONG.get(type(field.default), []):
            _check_named(subject, field.name, value)


def _check_named(subject: Subject, field: str, value: Any) -> None:
    try:
        make_params(subject.policy, {**subject.params, field: value})
    except InvalidParams as exc:
        named = [problem.field for problem in exc.problems]
        assert field in named, f"{subject.name}: {field}={value!r} is refused, but {named} is named"
        return
    raise AssertionError(f"{subject.name}: {field}={value!r} is accepted")
