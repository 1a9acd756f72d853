"""Parameters of policies: frozen dataclasses, made from plain values and checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from linkscore_scoring.errors import FieldProblem, InvalidParams

if TYPE_CHECKING:
    from linkscore_scoring.policies.base import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Base of policy parameters: a frozen dataclass whose fields all have defaults."""

    def problems(self) -> Iterator[FieldProblem]:
        """Yield one problem for each field that is out of range."""
        return iter(())


def make_params(policy: type[Policy], values: dict[str, Any]) -> Params:
    """Return the parameters of a policy from a mapping of field to value; fields left out keep their default.

    Raises
    ------
    InvalidParams
        Naming every unknown field and every field out of range.
    """
    kinds = {f.name: type(f.default) for f in fields(policy.Params)}
    given, problems = {}, list[FieldProblem]()
    for name, value in values.items():
        try:
            given[name] = _typed(value, kinds[name])
        except KeyError:
            has = ", ".join(sorted(kinds)) or "none"
            problems.append(FieldProblem(name, f"{policy.name} has no such parameter (it has: {has})"))
        except ValueError as exc:
            problems.append(FieldProblem(name, str(exc)))
    params = policy.Params(**given)
    broken = list(params.problems())
    problems += [problem for problem in broken if problem.field in given] if problems else broken
    if problems:
        raise InvalidParams(problems)
    return params


_KINDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}


def _typed(value: Any, kind: type) -> Any:
    """Return a value as the kind of its field's default; numbers of a Struct are all floats.

    Raises
    ------
    ValueError
        If the value is of another kind.
    """
    if kind not in _KINDS or (type(value) is kind and kind in (bool, str)):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and (kind is float or (kind is int and value == int(value))):
        return kind(value)
    raise ValueError(f"must be {_KINDS[kind]}, got {value!r:.100}")


def outside(field: str, value: float, low: float, high: float) -> Iterator[FieldProblem]:
    """Yield a problem if `value` is not in [low, high]."""
    if not low <= value <= high:
        yield FieldProblem(field, f"must be in [{low:g}, {high:g}], got {value!r}")


def one_of(field: str, value: str, known: Iterable[str]) -> Iterator[FieldProblem]:
    """Yield a problem if `value` is not among the known names."""
    names = list(known)
    if value not in names:
        yield FieldProblem(field, f"must be one of {', '.join(names)}, got {value!r:.100}")
