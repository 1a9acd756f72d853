"""Write the tables of settings and metrics into docs/operations.md; --check fails when they are stale."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from linkscore_server.crawls.collector import RegistryCollector
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"
_NO_CRAWLS = SimpleNamespace(actors=list, names=list, damaged=())


def main() -> int:
    """Write, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    written = PAGE.read_text(encoding="utf-8")
    fresh = with_tables(written)
    if not given.check:
        PAGE.write_text(fresh, encoding="utf-8")
    elif fresh != written:
        print(f"{PAGE}: tables are stale, run make gen", file=sys.stderr)
        return 1
    return 0


def with_tables(page: str) -> str:
    """Return a page with what stands between the markers of each table replaced.

    Raises
    ------
    ValueError
        If the markers of a table are not there exactly once.
    """
    for name, make in TABLES.items():
        marker = f"<!-- {name}: made by `make gen` -->\n"
        end = f"<!-- end of {name} -->"
        pattern = re.compile(re.escape(marker) + ".*?" + re.escape(end), re.DOTALL)
        table = marker + make() + end
        page, count = pattern.subn(lambda _, table=table: table, page)
        if count != 1:
            raise ValueError(f"{PAGE.name}: markers of table {name!r} found {count} times, must be once")
    return page


def settings_table() -> str:
    """Return one row per setting, in the order of the dataclass."""
    rows = ((f"`{s.name}`", _default(s.default), str(s.metadata["doc"])) for s in fields(Settings))
    return _table(("Setting", "Default", "Meaning"), rows)


def metrics_table() -> str:
    """Return one row per metric by name, with the suffix under which Prometheus shows it."""
    metrics = Metrics()
    collectors: Iterable[Any] = metrics.registry._collector_to_names
    described = [(family, c._labelnames) for c in collectors for family in c.describe()]
    counted = [(family, family._labelnames) for family in RegistryCollector(_NO_CRAWLS, Settings()).collect()]  # type: ignore[arg-type]
    rows = sorted(
        (f"`{_shown(family)}`", family.type, ", ".join(labels) or "-", family.documentation)
        for family, labels in [*described, *counted]
    )
    return _table(("Metric", "Kind", "Labels", "Meaning"), rows)


TABLES: dict[str, Callable[[], str]] = {"settings": settings_table, "metrics": metrics_table}


def _shown(family: Any) -> str:
    return f"{family.name}_total" if family.type == "counter" else str(family.name)


def _default(value: object) -> str:
    return f"`{value}`" if value != "" else "empty"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    sys.exit(main())
