"""Label files say of which type each page of a stored site is, reward files what each is worth."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from linkscore_lab.datasets.site import identity
from linkscore_scoring.errors import FieldProblem, InvalidInput


@dataclass(frozen=True, slots=True)
class SitePageType:
    """What a page type of one site is good for; `kind` is ENTRY, INDEX, THREAD, OTHER or empty."""

    name: str
    user_content: bool
    target: bool
    kind: str = ""


def read_labels(path: Path) -> dict[str, str]:
    """Return page type by URL identity; raises `InvalidInput` when a column is missing."""
    with _open_table(path) as file:
        rows = _rows(path, file, {"url", "page_type"})
        return {identity(row["url"]): row["page_type"] for row in rows}


def read_page_types(path: Path) -> dict[str, list[SitePageType]]:
    """Return the page types of each site named in `path`; raises `InvalidInput` when a column is missing."""
    types: dict[str, list[SitePageType]] = {}
    with _open_table(path) as file:
        for row in _rows(path, file, {"site", "page_type", "user_content", "target"}):
            good_for = row["user_content"] == "1", row["target"] == "1"
            kind = SitePageType(row["page_type"], *good_for, row.get("kind", ""))
            types.setdefault(row["site"], []).append(kind)
    return types


def read_templates(path: Path) -> dict[str, dict[str, str]]:
    """Return the template of each page type of each site; raises `InvalidInput` when a column is missing."""
    templates: dict[str, dict[str, str]] = {}
    with _open_table(path) as file:
        for row in _rows(path, file, {"site", "page_type", "template"}):
            templates.setdefault(row["site"], {})[row["page_type"]] = row["template"]
    return templates


@contextmanager
def _open_table(path: Path) -> Iterator[TextIO]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        yield file


def _rows(path: Path, file: TextIO, needed: set[str]) -> Iterator[Mapping[str, str]]:
    reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = needed - set(reader.fieldnames or ())
    if missing:
        raise InvalidInput(
            f"{path}: column {', '.join(sorted(missing))} missing, got {reader.fieldnames}", field="labels"
        )
    return iter(reader)


_REWARD_COLUMNS = {"url", "reward"}
# A bound on the length of a message.
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
    for line, url, text in _reward_rows(path):
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


def _reward_rows(path: Path) -> Iterator[tuple[int, str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            missing = _REWARD_COLUMNS - set(table.fieldnames or ())
            if missing:
                rule = f"{path}: column {', '.join(sorted(missing))} missing, got {table.fieldnames}"
                raise InvalidInput(rule, field="feedback_file")
            for row in table:
                yield table.line_num, (row["url"] or "").strip(), (row["reward"] or "").strip()
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: must be a UTF-8 table, got {error}", field="feedback_file") from error
