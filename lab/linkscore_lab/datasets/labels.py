"""Label files say of which type each page of a stored site is, reward files what each is worth."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from linkscore_cli.files import lines_of
from linkscore_lab.datasets.site import identity
from linkscore_scoring.errors import FieldProblem, InvalidInput


def read_labels(path: Path) -> dict[str, str]:
    """Return page type by URL identity; raises `InvalidInput` as `read_table`."""
    rows = read_table(path, ("url", "page_type"), field="labels")
    return {identity(row["url"]): row["page_type"] for _, row in rows}


def read_table(path: Path, columns: Collection[str], *, field: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and row of a table: commas in ``.csv``, else tabs; none is empty."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            form: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
            form = {"delimiter": ","} if path.suffix == ".csv" else form
            table = csv.DictReader(lines_of(file), restval="", **form)
            missing = set(columns) - set(table.fieldnames or ())
            if missing:
                rule = f"{path}: column {', '.join(sorted(missing))} missing, got {table.fieldnames}"
                raise InvalidInput(rule, field=field)
            for row in table:
                yield table.line_num, row
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: must be a UTF-8 table, got {error}", field=field) from error


# A bound on the length of a message.
_MAX_PROBLEMS = 10


def read_rewards(path: Path) -> dict[str, float]:
    """Return reward by URL identity."""
    rewards: dict[str, float] = {}
    problems: list[FieldProblem] = []
    for line, row in read_table(path, ("url", "reward"), field="feedback_file"):
        try:
            rewards[_identity(row["url"].strip())] = _reward(row["reward"].strip())
        except ValueError as error:
            problems.append(FieldProblem("feedback_file", f"{path}, line {line}: {error}"))
    if problems:
        raise InvalidInput(problems[:_MAX_PROBLEMS])
    if not rewards:
        raise InvalidInput(f"{path}: needs at least one row, got none", field="feedback_file")
    return rewards


def _identity(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must be absolute http(s), got {url[:100]!r}")
    return identity(url)


def _reward(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"reward must be a number in [0, 1], got {text[:40]!r}")
    return value
