"""Label files: which type each page of a stored site has, and which types are user content."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from linkscore_lab.datasets.site import identity
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class PageType:
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


def read_page_types(path: Path) -> dict[str, list[PageType]]:
    """Return the page types of each site named in `path`; raises `InvalidInput` when a column is missing."""
    types: dict[str, list[PageType]] = {}
    with _open_table(path) as file:
        for row in _rows(path, file, {"site", "page_type", "user_content", "target"}):
            good_for = row["user_content"] == "1", row["target"] == "1"
            kind = PageType(row["page_type"], *good_for, row.get("kind", ""))
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
