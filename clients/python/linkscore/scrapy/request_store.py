"""Where waiting requests are kept: in memory, or in the job directory."""

from __future__ import annotations

import pickle
import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy.utils.request import request_from_dict

from linkscore.frontier import Place


class MemoryRequestStore:
    """Keeps requests as they are, by number; nothing survives."""

    def __init__(self) -> None:
        self._requests: dict[int, Any] = {}

    def put(self, number: int, request: Any, fingerprint: bytes, places: Sequence[Place]) -> None:
        self._requests[number] = request

    def also(self, number: int, places: Sequence[Place]) -> None:
        pass

    def move(self, number: int, request: Any, places: Sequence[Place]) -> None:
        self._requests[number] = request

    def get(self, number: int) -> Any:
        return self._requests[number]

    def take(self, number: int) -> Any:
        return self._requests.pop(number)

    def save(self, values: Mapping[str, float]) -> None:
        pass

    def close(self) -> None:
        self._requests.clear()


_SCHEMA = """
CREATE TABLE IF NOT EXISTS request (number INTEGER PRIMARY KEY, fingerprint BLOB, body BLOB);
CREATE TABLE IF NOT EXISTS wait (number INTEGER, bucket TEXT, slot TEXT, penalty REAL);
CREATE INDEX IF NOT EXISTS wait_number ON wait (number);
CREATE TABLE IF NOT EXISTS bucket (name TEXT PRIMARY KEY, value REAL);
"""


class DiskRequestStore:
    """Keeps requests in one SQLite file of the job directory, however many buckets there are.

    Every change is in the file at once, so a crawl that is killed resumes with its whole frontier. What was
    taken last stays in the file for `in_flight` more: after a kill those few are fetched again rather than
    lost.
    """

    def __init__(self, path: Path, *, spider: Any, in_flight: int = 32) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._spider = spider
        self._in_flight = in_flight
        self._taken: deque[int] = deque()
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(
            "PRAGMA synchronous = OFF"
        )  # as safe as Scrapy's own queues if the machine goes down
        self._db.executescript(_SCHEMA)

    def entries(self) -> Iterator[tuple[int, bytes, list[Place]]]:
        """Give what waits since the last run, oldest first."""
        places: dict[int, list[Place]] = {}
        for number, bucket, slot, penalty in self._db.execute(
            "SELECT number, bucket, slot, penalty FROM wait"
        ):
            places.setdefault(number, []).append(Place(bucket, -penalty, 0.0, slot=slot))
        for number, mark in self._db.execute("SELECT number, fingerprint FROM request ORDER BY number"):
            yield number, mark, places.get(number, [])

    def values(self) -> dict[str, float]:
        """Give the buckets' values as last saved."""
        return dict(self._db.execute("SELECT name, value FROM bucket"))

    def put(self, number: int, request: Any, fingerprint: bytes, places: Sequence[Place]) -> None:
        body = _dump(request, self._spider)
        with self._transaction():
            self._db.execute("INSERT INTO request VALUES (?, ?, ?)", (number, fingerprint, body))
            self._write(number, places)

    def also(self, number: int, places: Sequence[Place]) -> None:
        with self._transaction():
            self._write(number, places)

    def move(self, number: int, request: Any, places: Sequence[Place]) -> None:
        body = _dump(request, self._spider)
        with self._transaction():
            self._db.execute("UPDATE request SET body = ? WHERE number = ?", (body, number))
            self._db.execute("DELETE FROM wait WHERE number = ?", (number,))
            self._write(number, places)

    def _write(self, number: int, places: Sequence[Place]) -> None:
        rows = [(number, place.bucket, place.slot, place.penalty) for place in places]
        self._db.executemany("INSERT INTO wait VALUES (?, ?, ?, ?)", rows)

    def get(self, number: int) -> Any:
        (body,) = self._db.execute("SELECT body FROM request WHERE number = ?", (number,)).fetchone()
        # A job directory is trusted like the project's code, here as in Scrapy's own disk queues.
        return request_from_dict(pickle.loads(body), spider=self._spider)  # noqa: S301

    def take(self, number: int) -> Any:
        request = self.get(number)
        self._taken.append(number)
        if len(self._taken) > self._in_flight:
            self._forget([self._taken.popleft()])
        return request

    def _forget(self, numbers: Sequence[int]) -> None:
        keys = [(number,) for number in numbers]
        with self._transaction():
            self._db.executemany("DELETE FROM request WHERE number = ?", keys)
            self._db.executemany("DELETE FROM wait WHERE number = ?", keys)

    def save(self, values: Mapping[str, float]) -> None:
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO bucket VALUES (?, ?)", values.items())

    def close(self) -> None:
        self._forget(list(self._taken))
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _dump(request: Any, spider: Any) -> bytes:
    try:
        return pickle.dumps(request.to_dict(spider=spider), protocol=4)
    except (pickle.PicklingError, AttributeError, TypeError) as e:
        raise ValueError(str(e)) from e
