"""What a replay leaves: one record a crawl, written to a file that `linkscore compare` and reports read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linkscore_lab.replay.results_check import FORMAT, parse_results
from linkscore_lab.replay.results_records import (
    Explanation,
    Input,
    Meta,
    Results,
    RunResult,
    order_digest,
)
from linkscore_scoring.errors import InvalidInput

__all__ = [
    "FORMAT",
    "Explanation",
    "Input",
    "Meta",
    "Results",
    "RunResult",
    "order_digest",
    "read_results",
    "write_results",
]


def write_results(path: Path, runs: Iterable[RunResult], meta: Meta) -> None:
    """Write a result file, one line a run; a file of that name is replaced as a whole.

    Raises
    ------
    InvalidInput
        If a number is not finite.
    """
    head = {"linkscore": meta.linkscore, "format": FORMAT, "created": meta.created}
    inputs = {site: asdict(source) for site, source in meta.inputs.items()}
    lines = ",\n".join(_json(asdict(run)) for run in runs)
    text = f'{_json(head)[:-1]},"inputs":{_json(inputs)},"runs":[\n{lines}\n]}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def read_results(path: Path) -> Results:
    """Return what `write_results` wrote; fields it does not know are ignored.

    Raises
    ------
    InvalidInput
        If the file is no result file of this format; the message names file, field and rule.
    """
    try:
        return parse_results(_load(path))
    except InvalidInput as exc:
        raise exc.under(str(path)) from None


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as exc:
        raise InvalidInput(f"cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"must be JSON: {exc}") from exc


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def _json(value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError as exc:
        raise InvalidInput(f"must hold finite numbers only: {exc}", field="runs") from exc
