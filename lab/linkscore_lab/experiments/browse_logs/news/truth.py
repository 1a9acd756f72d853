"""Which pages of a log are news: what an operator may know, and what figures are judged on."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

from linkscore_lab.datasets.site import identity
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class NewsTruth:
    """Labels by identity: those a learner may read, and those it must not."""

    fit: dict[str, bool]
    judge: dict[str, bool]


def read_news_labels(path: Path) -> dict[str, bool]:
    """Return whether pages are news, by identity.

    Tab separated with a header, plain or gzip; columns ``url`` and ``is_news`` (0 or 1), others are ignored.

    Raises
    ------
    InvalidInput
        If a column is missing or a value is neither.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        missing = {"url", "is_news"} - set(reader.fieldnames or ())
        if missing:
            raise InvalidInput(f"{path}: must have the columns {', '.join(sorted(missing))}", field="labels")
        rows = [(row["url"], row["is_news"]) for row in reader]
    odd = next((value for _, value in rows if value not in ("0", "1")), None)
    if odd is not None:
        raise InvalidInput(f"{path}: is_news must be 0 or 1, got {odd!r:.100}", field="labels")
    return {identity(url): value == "1" for url, value in rows}
