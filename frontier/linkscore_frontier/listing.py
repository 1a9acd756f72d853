"""What a store of URLs can be asked, beside what to fetch: where a URL stands, lists, counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b

from linkscore_frontier.records import Listed, State


class Listing:
    """Reads the URLs of a crawl; changes nothing.

    Parameters
    ----------
    db
        The open file of a store.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def find(self, key: str, url: str) -> Listed | None:
        """Return a URL of a queue."""
        rows = self._rows("mark = ?", (mark(key, url),), limit=1)
        return rows[0] if rows else None

    def urls(
        self, *, after: int, most: int, key: str = "", text: str = "", fold: bool = False, skip: int = 0
    ) -> list[Listed]:
        """Return URLs by the order they came, those with a number above `after`, without the first `skip`."""
        where, values = condition(key, text, fold=fold)
        return self._rows(f"url.id > ? AND {where}", (after, *values), limit=most, skip=skip)

    def count(self, *, key: str = "", text: str = "", fold: bool = False) -> int:
        """Count URLs, done ones too."""
        where, values = condition(key, text, fold=fold)
        found: int = self._db.execute(f"SELECT COUNT(*) FROM url WHERE {where}", values).fetchone()[0]
        return found

    def _rows(self, where: str, values: Sequence[object], *, limit: int, skip: int = 0) -> list[Listed]:
        rows = self._db.execute(
            "SELECT url.id, url, key, info, state, due, created FROM url JOIN queue ON queue.id = url.queue "
            f"WHERE {where} ORDER BY url.id LIMIT ? OFFSET ?",
            (*values, limit, skip),
        )
        return [Listed(row[0], row[1], row[2], row[3], State(row[4]), row[5], row[6]) for row in rows]


def mark(key: str, url: str) -> bytes:
    """Return what identifies a URL of a queue: 128 bits, so that no two of any crawl are taken for one."""
    return blake2b(f"{key}\0{url}".encode(), digest_size=16).digest()


def condition(key: str, text: str = "", *, fold: bool = False) -> tuple[str, list[str]]:
    """Return the SQL condition, with its values, of URLs of a queue that hold a text; empty: of any."""
    parts, values = ["1"], list[str]()
    if key:
        parts.append("queue = (SELECT id FROM queue WHERE key = ?)")
        values.append(key)
    if text:
        parts.append("instr(lower(url), lower(?))" if fold else "instr(url, ?)")
        values.append(text)
    return " AND ".join(parts), values
