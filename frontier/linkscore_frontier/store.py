"""The URLs of one crawl in one SQLite file: what waits, what is leased, what is done; one writer.

A URL waits in up to four buckets of its queue. Buckets are ordered by their values, the URLs of a bucket by
the part of the score that is their own, then first in, first out. Counts of what waits are kept in memory
and read anew when the file is opened; everything else is in the file before a call returns.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

MAX_PLACES = 4
"""Buckets a URL waits in at most: as for Scrapy."""

MAX_GIVEN = 10_000
"""URLs of one answer at most: a bound, so that one call does not lease a whole crawl."""

# Leases and dates that run out are looked at in portions: a bound of the time one call takes.
_SWEPT = 10_000
# Digits of a part of a score that count: differences below are noise of the server's arithmetic.
_DIGITS = 6

NEW = 0
"""The bucket of URLs that linkscore was not asked about yet."""

UNKNOWN = 1
"""The bucket of URLs that linkscore says nothing about."""

# Both come after all buckets of linkscore, whose values are in [0, 1]; what is new may turn out to be good.
_VALUES = {NEW: -1.0, UNKNOWN: -2.0}

_SCHEMA = """
CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, key TEXT UNIQUE, delay INTEGER,
    blocked INTEGER DEFAULT 0, most INTEGER DEFAULT 0, given REAL DEFAULT 0);
CREATE TABLE IF NOT EXISTS bucket (id INTEGER PRIMARY KEY, name TEXT UNIQUE, value REAL);
CREATE TABLE IF NOT EXISTS url (id INTEGER PRIMARY KEY, mark BLOB UNIQUE, url TEXT, queue INTEGER,
    state INTEGER, due INTEGER, created INTEGER, places TEXT, info BLOB);
CREATE INDEX IF NOT EXISTS url_queue ON url (queue);
CREATE INDEX IF NOT EXISTS url_due ON url (due) WHERE state IN (1, 2);
CREATE TABLE IF NOT EXISTS wait (bucket INTEGER, queue INTEGER, worse REAL, since INTEGER, url INTEGER,
    PRIMARY KEY (bucket, queue, worse, since, url)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failure (id INTEGER PRIMARY KEY, event TEXT, url TEXT, status INTEGER,
    ticket BLOB);
"""


class State(IntEnum):
    """Where a URL stands: `due` is when it came, when it may be fetched again, or when its lease ends."""

    WAITING = 0
    LATER = 1
    LEASED = 2
    DONE = 3


class Status(IntEnum):
    """What became of a URL that was put: numbers of the contract."""

    OK = 0
    SKIPPED = 1
    FAIL = 2


class Place(NamedTuple):
    """A bucket a link waits in, the score of the link there, and the value the bucket had."""

    bucket: str
    score: float
    value: float


@dataclass(slots=True)
class Arrival:
    """A URL that is put.

    Attributes
    ----------
    url, key
        The URL and its queue.
    info
        What the crawler keeps with it, as bytes.
    places
        Buckets it waits in; None if linkscore was not asked about it, empty if it knows nothing.
    is_known
        Whether it was fetched.
    due
        Second from which it may be fetched again; 0: never.
    failed_status, ticket
        HTTP status of a fetch that failed, 0 if it did not; ticket of the link.
    """

    url: str
    key: str
    info: bytes = b""
    places: Sequence[Place] | None = None
    is_known: bool = False
    due: int = 0
    failed_status: int = 0
    ticket: bytes = b""


class Given(NamedTuple):
    """A URL that is given to a crawler."""

    url: str
    key: str
    info: bytes


class Listed(NamedTuple):
    """A URL as a list shows it."""

    id: int
    url: str
    key: str
    info: bytes
    state: State
    due: int
    created: int


class Failure(NamedTuple):
    """A fetch that failed, to be reported: a repeated report of one `event` counts once."""

    id: int
    event: str
    url: str
    status: int
    ticket: bytes


@dataclass(slots=True)
class Queue:
    """A queue: how many of its URLs wait in which bucket, are in other states, and how it is paced."""

    id: int
    key: str
    delay: int | None = None
    blocked: int = 0
    most: int = 0
    given: float = 0.0
    waiting: Counter[int] = field(default_factory=Counter)
    states: Counter[State] = field(default_factory=Counter)

    @property
    def active(self) -> int:
        """URLs that are not done."""
        return sum(n for state, n in self.states.items() if state is not State.DONE)

    def gives(self, now: float, each: int, delay: int) -> bool:
        """Say whether it may give URLs now: not blocked, paced, within its limit, not too many under way."""
        return (
            bool(self.waiting)
            and self.blocked < now
            and self.given + (delay if self.delay is None else self.delay) <= now
            and not 0 < self.most <= self.states[State.DONE]
            and (not each or self.states[State.LEASED] < each)
        )


class CrawlStore:
    """The URLs of one crawl.

    Parameters
    ----------
    path
        The file; made if it is not there.

    Raises
    ------
    sqlite3.Error
        If it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # what was acknowledged is on the disk
        self._db.execute("PRAGMA cache_size = -65536")  # 64 MiB: the inner pages of some ten million URLs
        self._db.executescript(_SCHEMA)
        self._load()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def erase(self) -> None:
        """Close the file and delete it."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _load(self) -> None:
        db = self._db
        self.values: dict[int, float] = dict(_VALUES)
        self._buckets: dict[str, int] = {}
        for number, name, value in db.execute("SELECT id, name, value FROM bucket"):
            self._buckets[name], self.values[number] = number, value
        self._names = {number: name for name, number in self._buckets.items()}
        self.queues: dict[str, Queue] = {}
        by_id: dict[int, Queue] = {}
        for row in db.execute("SELECT id, key, delay, blocked, most, given FROM queue"):
            self.queues[row[1]] = by_id[row[0]] = Queue(*row)
        for queue, state, n in db.execute("SELECT queue, state, COUNT(*) FROM url GROUP BY queue, state"):
            by_id[queue].states[State(state)] = n
        for queue, bucket, n in db.execute("SELECT queue, bucket, COUNT(*) FROM wait GROUP BY bucket, queue"):
            by_id[queue].waiting[bucket] = n
        self._by_id = by_id
        self.failures: int = db.execute("SELECT COUNT(*) FROM failure").fetchone()[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write all or nothing; what is counted in memory follows the file."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._load()
            raise

    # URLs that come

    def put(self, arrivals: Iterable[Arrival], now: float) -> list[Status]:
        """Take in URLs; a discovered one that is known is skipped, but may wait in further buckets."""
        with self._transaction():
            return [self._put(arrival, int(now)) for arrival in arrivals]

    def _put(self, new: Arrival, now: int) -> Status:
        queue = self._queue(new.key)
        mark = _mark(new.key, new.url)
        row = self._db.execute("SELECT id, state, due, places FROM url WHERE mark = ?", (mark,)).fetchone()
        places = None if new.places is None else self._numbered(new.places)
        if row is not None and not new.is_known:
            if State(row[1]) is State.WAITING and places:
                self._wait_also(row[0], queue, row[2], _read(row[3]), places)
            return Status.SKIPPED
        if row is not None:
            self._leave(row[0], queue, State(row[1]), row[2], _read(row[3]))
            places = places or _read(row[3])
        state = State.WAITING
        if new.is_known and new.due == 0:
            state = State.DONE
        elif new.is_known and new.due > now:
            state = State.LATER
        due = new.due if new.is_known else now
        written = None if places is None else json.dumps(places)
        if row is None:
            cursor = self._db.execute(
                "INSERT INTO url (mark, url, queue, state, due, created, places, info) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (mark, new.url, queue.id, state, due, now, written, new.info),
            )
            number = cursor.lastrowid or 0
        else:
            number = row[0]
            self._db.execute(
                "UPDATE url SET state = ?, due = ?, places = ?, info = ? WHERE id = ?",
                (state, due, written, new.info, number),
            )
        queue.states[state] += 1
        if state is State.WAITING:
            self._wait(number, queue, due, places)
        if new.failed_status:
            failure = (uuid.uuid4().hex, new.url, new.failed_status, new.ticket)
            self._db.execute("INSERT INTO failure (event, url, status, ticket) VALUES (?, ?, ?, ?)", failure)
            self.failures += 1
        return Status.OK

    def _queue(self, key: str) -> Queue:
        queue = self.queues.get(key)
        if queue is None:
            cursor = self._db.execute("INSERT INTO queue (key) VALUES (?)", (key,))
            queue = self.queues[key] = Queue(cursor.lastrowid or 0, key)
            self._by_id[queue.id] = queue
        return queue

    def _numbered(self, places: Sequence[Place]) -> list[list[float]]:
        """Return (bucket, what makes the link worse than the bucket) of each place, a bucket once."""
        found: dict[int, float] = {}
        for place in places[:MAX_PLACES]:
            number = self._buckets.get(place.bucket)
            if number is None:
                number = 2 + len(self._buckets)
                row = (number, place.bucket, place.value)
                self._db.execute("INSERT INTO bucket (id, name, value) VALUES (?, ?, ?)", row)
                self._buckets[place.bucket], self._names[number] = number, place.bucket
                self.values[number] = place.value
            found.setdefault(number, round(place.value - place.score, _DIGITS))
        return [[number, worse] for number, worse in found.items()]

    def _wait(self, number: int, queue: Queue, since: int, places: list[list[float]] | None) -> None:
        for bucket, worse in _where(places):
            row = (bucket, queue.id, worse, since, number)
            self._db.execute(
                "INSERT INTO wait (bucket, queue, worse, since, url) VALUES (?, ?, ?, ?, ?)", row
            )
            queue.waiting[int(bucket)] += 1

    def _wait_also(
        self, number: int, queue: Queue, since: int, old: list[list[float]] | None, new: list[list[float]]
    ) -> None:
        known = {bucket for bucket, _ in old or ()}
        more = [place for place in new if place[0] not in known][: MAX_PLACES - len(known)]
        if not more:
            return
        if not old:  # it waits as new or unknown, and is neither any more
            self._stop_waiting(number, queue, since, old)
        self._wait(number, queue, since, more)
        places = json.dumps([*(old or ()), *more])
        self._db.execute("UPDATE url SET places = ? WHERE id = ?", (places, number))

    def _leave(
        self, number: int, queue: Queue, state: State, due: int, places: list[list[float]] | None
    ) -> None:
        """Take a URL out of the state it is in."""
        queue.states[state] -= 1
        if state is State.WAITING:
            self._stop_waiting(number, queue, due, places)

    def _stop_waiting(self, number: int, queue: Queue, since: int, places: list[list[float]] | None) -> None:
        for bucket, worse in _where(places):
            self._db.execute(
                "DELETE FROM wait WHERE bucket = ? AND queue = ? AND worse = ? AND since = ? AND url = ?",
                (bucket, queue.id, worse, since, number),
            )
            queue.waiting[int(bucket)] -= 1
            if not queue.waiting[int(bucket)]:
                del queue.waiting[int(bucket)]

    # URLs that go

    def take(
        self, *, queues: int, each: int, lease_s: int, now: float, delay: int, key: str = ""
    ) -> list[Given]:
        """Lease the best URLs: of the `queues` best queues that may give any, up to `each` (0: any number).

        Parameters
        ----------
        queues, each
            Bounds of the answer.
        lease_s
            Seconds for which nobody else is given them.
        now
            Seconds since 1970.
        delay
            Seconds between two gifts of a queue that has no delay of its own.
        key
            The only queue to take from, empty for all.
        """
        self.sweep(now)
        wanted = [self.queues[key]] if key in self.queues else [] if key else self.queues.values()
        able = [queue for queue in wanted if queue.gives(now, each, delay)]
        best = heapq.nlargest(queues or len(able), able, key=lambda queue: (self._best(queue), -queue.given))
        given: list[Given] = []
        with self._transaction():
            for queue in best:
                room = MAX_GIVEN - len(given)
                given += self._take(queue, min(each or room, room), int(now) + lease_s)
                queue.given = now
                self._db.execute("UPDATE queue SET given = ? WHERE id = ?", (now, queue.id))
                if len(given) == MAX_GIVEN:
                    break
        return given

    def _best(self, queue: Queue) -> float:
        return max(self.values[bucket] for bucket in queue.waiting)

    def _take(self, queue: Queue, most: int, until: int) -> list[Given]:
        given: list[Given] = []
        while len(given) < most and queue.waiting:
            # Of buckets of equal value the older one.
            bucket = max(queue.waiting, key=lambda number: (self.values[number], -number))
            rows = self._db.execute(
                "SELECT url.id, url.url, due, places, info FROM wait JOIN url ON url.id = wait.url "
                "WHERE wait.bucket = ? AND wait.queue = ? ORDER BY worse, since, wait.url LIMIT ?",
                (bucket, queue.id, most - len(given)),
            ).fetchall()
            for number, url, due, places, info in rows:
                self._leave(number, queue, State.WAITING, due, _read(places))
                self._lease(number, queue, until)
                given.append(Given(url, queue.key, info))
        return given

    def _lease(self, number: int, queue: Queue, until: int) -> None:
        queue.states[State.LEASED] += 1
        self._db.execute("UPDATE url SET state = ?, due = ? WHERE id = ?", (State.LEASED, until, number))

    def sweep(self, now: float) -> None:
        """Let URLs wait again whose lease or date ran out."""
        rows = self._db.execute(
            "SELECT id, queue, state, due, places FROM url WHERE state IN (1, 2) AND due <= ? "
            "ORDER BY due LIMIT ?",
            (int(now), _SWEPT),
        ).fetchall()
        if not rows:
            return
        with self._transaction():
            for number, queue_id, state, due, places in rows:
                queue = self._by_id[queue_id]
                # What was given once and not fetched goes first among its equals.
                since = due if State(state) is State.LATER else 0
                self._leave(number, queue, State(state), due, None)
                queue.states[State.WAITING] += 1
                update = (State.WAITING, since, number)
                self._db.execute("UPDATE url SET state = ?, due = ? WHERE id = ?", update)
                self._wait(number, queue, since, _read(places))

    # What linkscore says

    @property
    def waiting_buckets(self) -> list[str]:
        """Names of linkscore's buckets in which URLs wait."""
        numbers = {number for queue in self.queues.values() for number in queue.waiting}
        return sorted(self._names[number] for number in numbers if number > UNKNOWN)

    def revalue(self, values: dict[str, float]) -> None:
        """Take in what buckets are worth now."""
        with self._transaction():
            for name, value in values.items():
                self.values[self._buckets[name]] = value
                self._db.execute("UPDATE bucket SET value = ? WHERE name = ?", (value, name))

    def unscored(self, most: int) -> list[tuple[int, str, bytes]]:
        """Return number, URL and information of URLs that linkscore was not asked about, oldest first."""
        return self._db.execute(
            "SELECT url.id, url.url, info FROM wait JOIN url ON url.id = wait.url WHERE bucket = ? LIMIT ?",
            (NEW, most),
        ).fetchall()

    def place(self, found: Iterable[tuple[int, Sequence[Place]]]) -> None:
        """Let URLs wait where linkscore says; those it knows nothing of go last."""
        with self._transaction():
            for number, places in found:
                row = self._db.execute(
                    "SELECT queue, due FROM url WHERE id = ? AND state = 0 AND places IS NULL", (number,)
                ).fetchone()
                if row is None:  # given, deleted or found again meanwhile
                    continue
                queue, written = self._by_id[row[0]], self._numbered(places)
                self._stop_waiting(number, queue, row[1], None)
                self._wait(number, queue, row[1], written)
                update = (json.dumps(written), number)
                self._db.execute("UPDATE url SET places = ? WHERE id = ?", update)

    def unreported(self, most: int) -> list[Failure]:
        """Return failed fetches that linkscore was not told of, oldest first."""
        rows = self._db.execute(
            "SELECT id, event, url, status, ticket FROM failure ORDER BY id LIMIT ?", (most,)
        )
        return [Failure(*row) for row in rows]

    def reported(self, failures: Iterable[Failure]) -> None:
        """Forget failed fetches that linkscore was told of."""
        numbers = [(failure.id,) for failure in failures]
        with self._transaction():
            self._db.executemany("DELETE FROM failure WHERE id = ?", numbers)
            self.failures -= len(numbers)

    # Control

    def set_queue(self, key: str, name: str, value: int) -> bool:
        """Set `delay`, `blocked` or `most` of a queue; false if there is none of this key."""
        queue = self.queues.get(key)
        if queue is None:
            return False
        column = {"delay": "delay", "blocked": "blocked", "most": "most"}[name]
        with self._transaction():
            self._db.execute(f"UPDATE queue SET {column} = ? WHERE id = ?", (value, queue.id))
            setattr(queue, column, value)
        return True

    def delete_queue(self, key: str) -> int:
        """Delete a queue with its URLs; return how many of them were not done."""
        queue = self.queues.get(key)
        if queue is None:
            return 0
        with self._transaction():
            self._db.execute("DELETE FROM url WHERE queue = ?", (queue.id,))
            for bucket in queue.waiting:
                self._db.execute("DELETE FROM wait WHERE bucket = ? AND queue = ?", (bucket, queue.id))
            self._db.execute("DELETE FROM queue WHERE id = ?", (queue.id,))
            del self.queues[key], self._by_id[queue.id]
        return queue.active

    def purge(self, before: int, key: str = "") -> int:
        """Delete URLs that came before a second, of a queue or of all; return how many."""
        where, values = _condition(self.queues, key, "", False)
        rows = self._db.execute(
            f"SELECT id, queue, state, due, places FROM url WHERE created < ? AND {where}",
            (before, *values),
        ).fetchall()
        with self._transaction():
            for number, queue, state, due, places in rows:
                self._leave(number, self._by_id[queue], State(state), due, _read(places))
                self._db.execute("DELETE FROM url WHERE id = ?", (number,))
        return len(rows)

    # Questions

    def find(self, key: str, url: str) -> Listed | None:
        """Return a URL of a queue."""
        rows = self._listed("mark = ?", (_mark(key, url),), limit=1)
        return rows[0] if rows else None

    def list_urls(
        self, *, after: int, most: int, key: str = "", text: str = "", fold: bool = False, skip: int = 0
    ) -> list[Listed]:
        """Return URLs by the order they came, those with a number above `after`, without the first `skip`."""
        where, values = _condition(self.queues, key, text, fold)
        return self._listed(f"url.id > ? AND {where}", (after, *values), limit=most, skip=skip)

    def _listed(self, where: str, values: Sequence[object], *, limit: int, skip: int = 0) -> list[Listed]:
        rows = self._db.execute(
            "SELECT url.id, url, key, info, state, due, created FROM url JOIN queue ON queue.id = url.queue "
            f"WHERE {where} ORDER BY url.id LIMIT ? OFFSET ?",
            (*values, limit, skip),
        )
        return [Listed(row[0], row[1], row[2], row[3], State(row[4]), row[5], row[6]) for row in rows]

    def count(self, *, key: str = "", text: str = "", fold: bool = False) -> int:
        """Count URLs, done ones too."""
        where, values = _condition(self.queues, key, text, fold)
        found: int = self._db.execute(f"SELECT COUNT(*) FROM url WHERE {where}", values).fetchone()[0]
        return found


def _mark(key: str, url: str) -> bytes:
    """Return what identifies a URL of a queue: 128 bits, so that no two of any crawl are taken for one."""
    return blake2b(f"{key}\0{url}".encode(), digest_size=16).digest()


def _read(places: str | None) -> list[list[float]] | None:
    return None if places is None else json.loads(places)


def _where(places: list[list[float]] | None) -> Iterable[Sequence[float]]:
    """Return the places a URL really waits in: a bucket of our own if linkscore named none."""
    if places is None:
        return ((NEW, 0.0),)
    return places or ((UNKNOWN, 0.0),)


def _condition(queues: dict[str, Queue], key: str, text: str, fold: bool) -> tuple[str, list[object]]:
    parts, values = ["1"], list[object]()
    if key:
        parts.append("queue = ?")
        values.append(queues[key].id if key in queues else -1)
    if text:
        parts.append("instr(lower(url), lower(?))" if fold else "instr(url, ?)")
        values.append(text)
    return " AND ".join(parts), values
