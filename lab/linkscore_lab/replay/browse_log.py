"""Counts of a browse log file, read without a server."""

from __future__ import annotations

import secrets
from pathlib import Path

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.reading import FORMATS, log_file, rule_sql
from linkscore_server.browse_logs.visits import (
    MAX_PAGES_A_DAY,
    VisitQuery,
    counts_of,
    load_records,
    spans_of,
    workspace,
)


def read_counts(
    path: Path,
    *,
    site: str | None = None,
    first_day: int | None = None,
    n_days: int | None = None,
) -> BrowseCounts:
    """Return the counts of one site of a browse log, cleaned as the server cleans it."""
    file = log_file(path)
    with workspace() as con:
        load_records(con, FORMATS[file.format](file), rule_sql(), secrets.token_bytes(32))
        spans = spans_of(con, "visits")
        if site is None:
            site = min(spans, key=lambda name: (-spans[name].visits, name), default="")
        if site not in spans:
            raise InvalidInput(f"{path.name} has no visit of {site!r}", field="site")
        start, end = spans[site].first_day, spans[site].last_day
        if first_day is None:
            first_day = start if n_days is None else end - n_days + 1
        width = end - first_day + 1 if n_days is None else n_days
        return counts_of(con, "visits", VisitQuery(site, first_day, width, MAX_PAGES_A_DAY))
