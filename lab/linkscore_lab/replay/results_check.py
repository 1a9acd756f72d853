"""Turn the JSON of a result file into records, naming whatever does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from linkscore_lab.metrics import even_points
from linkscore_lab.replay.results_records import Explanation, Input, Meta, Results, RunResult
from linkscore_scoring.errors import InvalidInput

FORMAT = 1
_Check = Callable[[Any, str], Any]


def parse_results(data: Any) -> Results:
    """Return the content of a result file; raises `InvalidInput` with the path of the first wrong field."""
    top = _object(data, "")
    if top.get("format") != FORMAT:
        raise InvalidInput(f"must be {FORMAT}, got {top.get('format')!r}", field="format")
    inputs = _map(_input)(_need(top, "inputs", ""), "inputs")
    meta = Meta(
        _text(_need(top, "created", ""), "created"), inputs, _text(_need(top, "linkscore", ""), "linkscore")
    )
    return Results(meta, _list(_run)(_need(top, "runs", ""), "runs"))


def _run(value: Any, where: str) -> RunResult:
    run = RunResult(**_record(_object(value, where), RunResult, _RUN, where))
    if len(run.curve) != run.fetched:
        raise InvalidInput(f"must have {run.fetched} entries, got {len(run.curve)}", field=f"{where}.curve")
    points = len(even_points(run.fetched))
    for name, counts in run.composition.items():
        if len(counts) != points:
            raise InvalidInput(
                f"must have {points} entries, got {len(counts)}", field=f"{where}.composition.{name}"
            )
    return run


def _input(value: Any, where: str) -> Input:
    return Input(**_record(_object(value, where), Input, {"sha256": _text, "damaged": _count}, where))


def _explanation(value: Any, where: str) -> Explanation:
    checks: dict[str, _Check] = {"url": _text, "score": _number, "bucket": _text, "summary": _text}
    return Explanation(**_record(_object(value, where), Explanation, checks, where))


def _record(value: dict[str, Any], cls: Any, checks: dict[str, _Check], where: str) -> dict[str, Any]:
    """Return the checked fields of a dataclass; those with a default may be absent."""
    optional = {f.name for f in fields(cls) if f.default is not MISSING or f.default_factory is not MISSING}
    return {
        name: check(_need(value, name, where), f"{where}.{name}")
        for name, check in checks.items()
        if name in value or name not in optional
    }


def _need(value: dict[str, Any], name: str, where: str) -> Any:
    if name not in value:
        raise InvalidInput("is missing", field=f"{where}.{name}" if where else name)
    return value[name]


def _checked(what: str, fits: Callable[[Any], bool]) -> _Check:
    def check(value: Any, where: str) -> Any:
        if not fits(value):
            raise InvalidInput(f"must be {what}, got {repr(value)[:60]}", field=where)
        return value

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_object = _checked("an object", lambda value: isinstance(value, dict))
_array = _checked("a list", lambda value: isinstance(value, list))
_text = _checked("a text", lambda value: isinstance(value, str))
_number = _checked("a number", _is_number)
_integer = _checked("a whole number", _is_int)
_count = _checked("a whole number of at least 0", lambda value: _is_int(value) and value >= 0)
_metric = _checked("a number or null", lambda value: value is None or _is_number(value))


def _list(check: _Check) -> _Check:
    def check_all(value: Any, where: str) -> tuple[Any, ...]:
        return tuple(check(each, f"{where}[{i}]") for i, each in enumerate(_array(value, where)))

    return check_all


def _map(check: _Check) -> _Check:
    def check_all(value: Any, where: str) -> dict[str, Any]:
        return {name: check(each, f"{where}.{name}") for name, each in _object(value, where).items()}

    return check_all


_RUN: dict[str, _Check] = {
    "site": _text,
    "task": _text,
    "mode": _text,
    "policy": _text,
    "seed": _integer,
    "start": _text,
    "budget": _count,
    "fetched": _count,
    "seconds": _number,
    "metrics": _map(_metric),
    "curve": _list(_count),
    "n_reachable": _count,
    "n_wanted": _count,
    "order_digest": _text,
    "links_out_of_archive": _count,
    "cpu_seconds": _number,
    "composition": _map(_list(_count)),
    "wanted_types": _list(_text),
    "explanations": _list(_explanation),
}
