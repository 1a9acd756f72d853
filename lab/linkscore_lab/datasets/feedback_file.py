"""Files of rewards: what somebody thought of pages, page by page."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

from linkscore_lab.datasets.site import identity
from linkscore_scoring.errors import FieldProblem, InvalidInput

_COLUMNS = {"url", "reward"}
_MAX_PROBLEMS = 10


def read_rewards(path: Path) -> dict[str, float]:
    """Return reward by URL identity.

    Parameters
    ----------
    path
        Tab-separated table with columns ``url`` and ``reward`` (in [0, 1]); may be gzip. Of several rows for
        one page the last counts.

    Raises
    ------
    InvalidInput
        Field ``feedback_file``: cannot be read, lacks a column, has no row, or the first rows that are wrong.
    """
    rewards: dict[str, float] = {}
    problems: list[FieldProblem] = []
    for line, url, text in _rows(path):
        try:
            rewards[_identity(url)] = _reward(text)
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


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            missing = _COLUMNS - set(table.fieldnames or ())
            if missing:
                rule = f"{path}: column {', '.join(sorted(missing))} missing, got {table.fieldnames}"
                raise InvalidInput(rule, field="feedback_file")
            for row in table:
                yield table.line_num, (row["url"] or "").strip(), (row["reward"] or "").strip()
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: must be a UTF-8 table, got {error}", field="feedback_file") from error
