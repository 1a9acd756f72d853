"""Bad lines of a log: how many there are, and what some of them look like without what they say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import duckdb

MAX_SAMPLES = 5
_END_CHARS = 45


@dataclass(slots=True)
class BadLines:
    """Bad lines of a file.

    Attributes
    ----------
    count
        How many there are.
    samples
        Shapes of the first ones.
    """

    count: int = 0
    samples: list[str] = field(default_factory=list)

    def add(self, line: str | None) -> None:
        """Count a line, and keep its shape if few are kept yet."""
        self.count += 1
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(shape_of(line or ""))


def shape_of(line: str) -> str:
    """Return a line with every letter as `a` or `A` and every digit as `9`; of a long one both ends.

    It shows what is wrong with the form of a line and nothing of a client, an address or a page.
    """
    cut = line if len(line) <= 2 * _END_CHARS else f"{line[:_END_CHARS]} ... {line[-_END_CHARS:]}"
    return re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", re.sub(r"\d", "9", cut))


def rejected(con: duckdb.DuckDBPyConnection) -> BadLines:
    """Return the lines that DuckDB's reader could not split or decode in the scans of a connection."""
    tables = con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchone()
    found = BadLines()
    if not tables or not tables[0]:
        return found
    lines = "SELECT scan_id, line, min(csv_line) AS text FROM reject_errors GROUP BY scan_id, line"
    for (text,) in con.execute(
        f"SELECT text FROM ({lines}) ORDER BY scan_id, line LIMIT {MAX_SAMPLES}"
    ).fetchall():
        found.samples.append(shape_of(str(text).strip("\r\n")))
    row = con.execute(f"SELECT count(*) FROM ({lines})").fetchone()
    found.count = row[0] if row else 0
    return found
