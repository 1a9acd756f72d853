"""The URLs of one crawl in one SQLite file: what waits, what is leased, what is done; one writer.

A URL waits in up to four buckets of its queue. Buckets are ordered by their values, the URLs of a bucket by
the part of the score that is their own, then first in, first out. While linkscore is away the value of a
bucket fades with each URL that is taken from it, and a new URL waits behind the others of the bucket where
the last new URL of its shape was, until linkscore says where it belongs (`linkscore.outages`).

Counts of what waits and of what is under way are kept in memory and read anew when the file is opened;
everything else is in the file before a call returns.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from linkscore.order import Allotment
from linkscore.outages import Outlook
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier.records import (
    Arrival,
    Given,
    Listed,
    Place,
    Question,
    Queue,
    QueueSlot,
    State,
    Status,
    read_slots,
)

MAX_PLACES = 4
"""Buckets a URL waits in at most: as for Scrapy."""

MAX_GIVEN = 1_000
"""URLs of one answer at most, a bound, chosen: a call leases no whole crawl, and no more than 32 MB."""

# How far behind the best URL of a bucket one waits that is only guessed to belong there: behind all others.
_GUESSED = 1.0
# What one RankBuckets call may carry (the server's default of `max_buckets_per_call`).
_MAX_RANKED = 100_000
_MAX_IN_FLIGHT = 10_000  # buckets under way that it may name
# URLs of a bucket that are read at a time: what comes with them may be large.
_TAKEN = 100
# Leases and dates that run out are looked at in portions: a bound of the time one call takes.
_SWEPT = 10_000
# Digits of a part of a score that count: differences below are noise of the server's arithmetic.
_DIGITS = 6

NEW, UNKNOWN = 0, 1
"""Buckets of URLs that linkscore was not asked about yet, and that it says nothing about."""

# Both come after all buckets of linkscore, whose values are in [0, 1]; what is new may turn out to be good.
_VALUES = {NEW: -1.0, UNKNOWN: -2.0}

_FORMAT = 2  # of the file (`user_version`); another one is refused
_SCHEMA = """
CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, key TEXT UNIQUE, delay INTEGER,
    blocked INTEGER DEFAULT 0, most INTEGER DEFAULT 0, given REAL DEFAULT 0);
CREATE TABLE IF NOT EXISTS bucket (id INTEGER PRIMARY KEY, name TEXT UNIQUE, value REAL);
CREATE TABLE IF NOT EXISTS url (id INTEGER PRIMARY KEY, mark BLOB UNIQUE, url TEXT, queue INTEGER,
    state INTEGER, due INTEGER, created INTEGER, places TEXT, info BLOB, taken INTEGER DEFAULT 0);
CREATE INDEX IF NOT EXISTS url_queue ON url (queue);
CREATE INDEX IF NOT EXISTS url_due ON url (due) WHERE state IN (1, 2);
CREATE TABLE IF NOT EXISTS wait (bucket INTEGER, queue INTEGER, worse REAL, since INTEGER, url INTEGER,
    PRIMARY KEY (bucket, queue, worse, since, url)) WITHOUT ROWID;
"""


class _Kept(NamedTuple):
    """Where a URL stands, as the file has it: `taken` is the bucket a leased one was taken from."""

    number: int
    queue: int
    state: int
    due: int
    places: str | None
    taken: int


_KEPT = "url.id, url.queue, state, due, places, taken"


class CrawlStore:
    """The URLs of one crawl; sqlite3.Error if the file cannot be opened, or is of another format.

    `queues` has them by key, `values` what buckets are worth by number, `new` how many URLs linkscore was not
    asked about yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # what was acknowledged is on the disk
        self._db.execute("PRAGMA cache_size = -65536")  # 64 MiB: the inner pages of some ten million URLs
        self._check_format()
        self._db.executescript(_SCHEMA)
        self._allotment, self._outlook = Allotment(), Outlook()
        self._has_stopped = False
        self._is_scored = False
        self._load()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def erase(self) -> None:
        """Close the file and delete it."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def count(self, *states: State) -> int:
        """Count the URLs in some states."""
        return sum(queue.states[state] for queue in self.queues.values() for state in states)

    def _check_format(self) -> None:
        (number,) = self._db.execute("PRAGMA user_version").fetchone()
        if number not in (0, _FORMAT):  # 0: a new file
            self._db.close()
            rule = f"{self.path}: of format {number}, this linkscore reads {_FORMAT}"
            raise sqlite3.DatabaseError(f"{rule}: open it with the version that wrote it, or delete it")
        self._db.execute(f"PRAGMA user_version = {_FORMAT}")

    def _load(self) -> None:
        db = self._db
        self.values: dict[int, float] = dict(_VALUES)
        self._buckets: dict[str, int] = {}
        for number, name, value in db.execute("SELECT id, name, value FROM bucket"):
            self._buckets[name], self.values[number] = number, value
        self._names = {number: name for name, number in self._buckets.items()}
        found = (Queue(*row) for row in db.execute("SELECT id, key, delay, blocked, most, given FROM queue"))
        self._by_id = {queue.id: queue for queue in found}
        self.queues: dict[str, Queue] = {queue.key: queue for queue in self._by_id.values()}
        for queue, state, n in db.execute("SELECT queue, state, COUNT(*) FROM url GROUP BY queue, state"):
            self._by_id[queue].states[State(state)] = n
        for queue, bucket, n in db.execute("SELECT queue, bucket, COUNT(*) FROM wait GROUP BY bucket, queue"):
            self._by_id[queue].waiting[bucket] = n
        self.new = sum(queue.waiting[NEW] for queue in self._by_id.values())
        leased = "SELECT taken, COUNT(*) FROM url WHERE state = 2 GROUP BY taken"
        self._under_way = Counter(dict(db.execute(leased)))
        self._is_news = True

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
        known = self._kept(_mark(new.key, new.url))
        places = self._places(new, known)
        if known is not None and not new.is_known:
            if known.state == State.WAITING and places:
                self._wait_also(known, queue, places)
            return Status.SKIPPED
        if known is not None:
            self._leave(known)
            places = places or read_slots(known.places)
        state = State.WAITING
        if new.is_known:
            self._outlook.fetched(new.url, is_page=not new.failed_status)
            state = State.DONE if new.due == 0 else State.LATER if new.due > now else State.WAITING
        due = new.due if new.is_known else now
        number = self._write(new, known, queue, (state, due, _written(places), new.info), now)
        queue.states[state] += 1
        if state is State.WAITING:
            self._wait(number, queue, due, places)
        return Status.OK

    def _places(self, new: Arrival, known: _Kept | None) -> list[QueueSlot] | None:
        """Return where a URL that comes may wait: as it says, or while linkscore is away by the guess."""
        places = None if new.places is None else self._numbered(new.places)
        self._is_scored |= bool(places)
        if places and not new.is_known and (known is None or _is_unscored(known)):
            self._placed(new.url, places)
        elif places is None and known is None and self._outlook.away:
            places = self._guessed(new.url)
        return places

    def _write(
        self,
        new: Arrival,
        known: _Kept | None,
        queue: Queue,
        fields: tuple[State, int, str | None, bytes],
        now: int,
    ) -> int:
        """Write state, due time, places and information of a URL; return its number."""
        if known is not None:
            update = "UPDATE url SET state = ?, due = ?, places = ?, info = ? WHERE id = ?"
            self._db.execute(update, (*fields, known.number))
            return known.number
        cursor = self._db.execute(
            "INSERT INTO url (mark, url, queue, created, state, due, places, info) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (_mark(new.key, new.url), new.url, queue.id, now, *fields),
        )
        return cursor.lastrowid or 0

    def _kept(self, mark: bytes) -> _Kept | None:
        row = self._db.execute(f"SELECT {_KEPT} FROM url WHERE mark = ?", (mark,)).fetchone()
        return None if row is None else _Kept(*row)

    def _queue(self, key: str) -> Queue:
        queue = self.queues.get(key)
        if queue is None:
            cursor = self._db.execute("INSERT INTO queue (key) VALUES (?)", (key,))
            queue = self.queues[key] = Queue(cursor.lastrowid or 0, key)
            self._by_id[queue.id] = queue
        return queue

    def _numbered(self, places: Sequence[Place]) -> list[QueueSlot]:
        """Return places with the numbers of their buckets, a bucket once."""
        found: dict[int, QueueSlot] = {}
        for place in places[:MAX_PLACES]:
            number = self._buckets.get(place.bucket)
            if number is None:
                number = 2 + len(self._buckets)
                row = (number, place.bucket, place.value)
                self._db.execute("INSERT INTO bucket (id, name, value) VALUES (?, ?, ?)", row)
                self._buckets[place.bucket], self._names[number] = number, place.bucket
                self.values[number] = place.value
            score_penalty = round(place.value - place.score, _DIGITS)
            found.setdefault(number, QueueSlot(number, score_penalty, place.ticket))
        return list(found.values())

    def _placed(self, url: str, places: Sequence[QueueSlot]) -> None:
        """Note where a URL that is new was found best."""
        best = max(places, key=lambda slot: self.values[slot.bucket] - slot.score_penalty).bucket
        self._outlook.placed(url, self._names[best], self.values[best])

    def _guessed(self, url: str) -> list[QueueSlot] | None:
        """Return where URLs of this shape were found last, for one that linkscore was not asked about."""
        name, _ = self._outlook.guess(url) or ("", 0.0)
        bucket = self._buckets.get(name)
        return None if bucket is None else [QueueSlot(NEW, 0.0), QueueSlot(bucket, _GUESSED)]

    def _wait(self, number: int, queue: Queue, since: int, places: list[QueueSlot] | None) -> None:
        for bucket, score_penalty, _ in _where(places):
            row = (bucket, queue.id, score_penalty, since, number)
            self._db.execute("INSERT INTO wait VALUES (?, ?, ?, ?, ?)", row)
            queue.waiting[bucket] += 1
            self.new += bucket == NEW

    def _wait_also(self, known: _Kept, queue: Queue, new: list[QueueSlot]) -> None:
        """Let a URL that waits wait in further buckets, or elsewhere if by now more is known of it."""
        old = read_slots(known.places)
        if not old or _is_new(old):
            self._stop_waiting(known.number, queue, known.due, old)
            old = []
        there = {slot.bucket for slot in old}
        more = [slot for slot in new if slot.bucket not in there][: MAX_PLACES - len(there)]
        if more:
            self._wait(known.number, queue, known.due, more)
            self._keep_places(known.number, [*old, *more])

    def _keep_places(self, number: int, places: list[QueueSlot]) -> None:
        self._db.execute("UPDATE url SET places = ? WHERE id = ?", (_written(places), number))

    def _leave(self, url: _Kept) -> None:
        """Take a URL out of the state it is in."""
        queue = self._by_id[url.queue]
        queue.states[State(url.state)] -= 1
        if url.state == State.WAITING:
            self._stop_waiting(url.number, queue, url.due, read_slots(url.places))
        elif url.state == State.LEASED:
            self._is_news = True
            self._landed(url.taken)

    def _landed(self, bucket: int, n: int = 1) -> None:
        """Count fetches of a bucket as under way no longer."""
        self._under_way[bucket] -= n
        if self._under_way[bucket] <= 0:
            del self._under_way[bucket]

    def _stop_waiting(self, number: int, queue: Queue, since: int, places: list[QueueSlot] | None) -> None:
        for bucket, score_penalty, _ in _where(places):
            self._db.execute(
                "DELETE FROM wait WHERE bucket = ? AND queue = ? AND worse = ? AND since = ? AND url = ?",
                (bucket, queue.id, score_penalty, since, number),
            )
            queue.waiting[bucket] -= 1
            self.new -= bucket == NEW
            if not queue.waiting[bucket]:
                del queue.waiting[bucket]

    # URLs that go

    def take(
        self,
        *,
        queues: int,
        each: int,
        lease_s: int,
        now: float,
        delay: int,
        key: str = "",
    ) -> list[Given]:
        """Lease the best URLs of the best queues."""
        self.sweep(now)
        best = heapq.nlargest(
            queues or len(self.queues),
            self._offers(now, each, delay, key),
            key=lambda offer: (offer[0], -offer[1].given),
        )
        given: list[Given] = []
        with self._transaction():
            for _, queue in best:
                taken = self._take(queue, queue.room(each, MAX_GIVEN - len(given)), int(now) + lease_s)
                if taken:  # not what an earlier queue left nothing for
                    given += taken
                    queue.given = now
                    self._db.execute("UPDATE queue SET given = ? WHERE id = ?", (now, queue.id))
                if len(given) == MAX_GIVEN:
                    break
        return given

    def _able(self, now: float, each: int, delay: int, key: str = "") -> Iterator[Queue]:
        """Give the queues that may give URLs now."""
        wanted = [self.queues[key]] if key in self.queues else [] if key else self.queues.values()
        return (queue for queue in wanted if queue.gives(now, each, delay))

    def _offers(self, now: float, each: int, delay: int, key: str) -> Iterator[tuple[float, Queue]]:
        """Give the queues that have a URL to give, and what the best of their buckets is worth."""
        for queue in self._able(now, each, delay, key):
            bucket = self._next_bucket(queue)
            if bucket is not None:
                yield self._worth(bucket), queue

    def _next_bucket(self, queue: Queue) -> int | None:
        """Return the bucket to take from, of equal ones the older; None: nothing before the next answer."""
        if self._has_stopped:
            return None
        for may_go in self._allotment.rounds(idle=not self._under_way):
            able = [number for number in queue.waiting if may_go(self._names.get(number, ""))]
            if able:
                return max(able, key=lambda number: (self._worth(number), -number))
        return None

    def _worth(self, bucket: int) -> float:
        value = self.values[bucket]
        return value if bucket in _VALUES else self._outlook.worth(self._names[bucket], value)

    def _take(self, queue: Queue, most: int, until: int) -> list[Given]:
        given: list[Given] = []
        while len(given) < most and (bucket := self._next_bucket(queue)) is not None:
            name = self._names.get(bucket, "")
            is_one = self._allotment.short or self._outlook.away
            limit = self._allotment.left(name) or (1 if is_one else most)
            rows = self._db.execute(
                f"SELECT url.url, info, {_KEPT} FROM wait JOIN url ON url.id = wait.url "
                "WHERE wait.bucket = ? AND wait.queue = ? ORDER BY worse, since, wait.url LIMIT ?",
                (bucket, queue.id, min(limit, most - len(given), _TAKEN)),
            ).fetchall()
            for url, info, *kept in rows:
                leased = _Kept(*kept)
                self._lease(leased, queue, until, bucket)
                tickets = {slot.bucket: slot.ticket for slot in read_slots(leased.places) or ()}
                given.append(Given(url, queue.key, info, tickets.get(bucket, "")))
                self._outlook.taken(name)
                self._allotment.take(name)
        return given

    def _lease(self, url: _Kept, queue: Queue, until: int, bucket: int) -> None:
        self._leave(url)
        queue.states[State.LEASED] += 1
        self._under_way[bucket] += 1
        update = (State.LEASED, until, bucket, url.number)
        self._db.execute("UPDATE url SET state = ?, due = ?, taken = ? WHERE id = ?", update)

    def sweep(self, now: float) -> None:
        """Let URLs wait again whose lease or date ran out."""
        rows = self._db.execute(
            f"SELECT {_KEPT} FROM url WHERE state IN (1, 2) AND due <= ? ORDER BY due LIMIT ?",
            (int(now), _SWEPT),
        ).fetchall()
        if not rows:
            return
        with self._transaction():
            for url in map(_Kept._make, rows):
                queue = self._by_id[url.queue]
                # What was given once and not fetched goes first among its equals.
                since = url.due if url.state == State.LATER else 0
                self._leave(url)
                queue.states[State.WAITING] += 1
                update = (State.WAITING, since, url.number)
                self._db.execute("UPDATE url SET state = ?, due = ? WHERE id = ?", update)
                self._wait(url.number, queue, since, read_slots(url.places))

    # What linkscore says

    def question(self, *, queues: int, each: int, now: float, delay: int, key: str = "") -> Question | None:
        """Return what to ask RankBuckets before `take` is called with the same; None if there is no reason.

        Links of queues that may give nothing now do not count as waiting.
        """
        self.sweep(now)
        if self._allotment.short and not self._is_news and self._under_way:
            return None  # places are empty until a fetch is done
        able = list(self._able(now, each, delay, key))
        waiting: Counter[int] = Counter()
        for queue in able:
            waiting.update(queue.waiting)
        numbers = sorted(number for number in waiting if number > UNKNOWN)  # the older first
        if not numbers:  # what linkscore knows nothing of goes as it came
            self._allotment.lift()
            return None
        self._is_news = False
        self._allotment.asked()
        under_way = {self._names[n]: count for n, count in self._under_way.items() if n > UNKNOWN}
        rooms = heapq.nlargest(queues or len(able), (queue.room(each, MAX_GIVEN) for queue in able))
        return Question(
            waiting={self._names[number]: waiting[number] for number in numbers[:_MAX_RANKED]},
            under_way=dict(islice(under_way.items(), _MAX_IN_FLIGHT)),
            places=min(MAX_GIVEN, sum(rooms)),
            fill=not self._is_scored,
        )

    def answered(self, question: Question, answer: scoring_pb2.RankBucketsResponse | None) -> None:
        """Take in what buckets are worth now and how many links of each may go; None: linkscore is away."""
        self._outlook.away = answer is None
        if answer is None:
            self._allotment.lift()
            return
        values = self._allotment.read(answer, waiting=question.waiting, n=question.places)
        self._has_stopped = answer.decision == common_pb2.DECISION_STOP_BUDGET  # until there is more budget
        with self._transaction():
            for name, value in values.items():
                if name not in self._buckets:  # the crawl was deleted and begun again meanwhile
                    continue
                self.values[self._buckets[name]] = value
                self._db.execute("UPDATE bucket SET value = ? WHERE name = ?", (value, name))

    def unscored(self, most: int) -> list[tuple[int, str, bytes]]:
        """Return number, URL and information of URLs that linkscore was not asked about, oldest first."""
        return self._db.execute(
            "SELECT url.id, url.url, info FROM wait JOIN url ON url.id = wait.url WHERE bucket = ? LIMIT ?",
            (NEW, most),
        ).fetchall()

    def place(self, found: Iterable[tuple[int, Sequence[Place]]], dropped: Iterable[int] = ()) -> None:
        """Let URLs wait where linkscore says; those it knows nothing of by the guess, or last.

        URLs that a setting of the crawl forbids for good are done with.
        """
        with self._transaction():
            for number in dropped:
                if (url := self._waiting(number)) is not None:
                    self._leave(url)
                    self._by_id[url.queue].states[State.DONE] += 1
                    self._db.execute("UPDATE url SET state = ? WHERE id = ?", (State.DONE, number))
            for number, places in found:
                url = self._waiting(number)
                if url is None or not _is_new(old := read_slots(url.places)):  # given or found meanwhile
                    continue
                if written := self._numbered(places):
                    (address,) = self._db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()
                    self._placed(address, written)
                else:
                    written = [slot for slot in old or () if slot.bucket != NEW]
                self._stop_waiting(number, self._by_id[url.queue], url.due, old)
                self._wait(number, self._by_id[url.queue], url.due, written)
                self._keep_places(number, written)

    def _waiting(self, number: int) -> _Kept | None:
        row = self._db.execute(f"SELECT {_KEPT} FROM url WHERE id = ? AND state = 0", (number,)).fetchone()
        return None if row is None else _Kept(*row)

    # Control and lists

    def set_queue(self, key: str, column: str, value: int) -> bool:
        """Set `delay`, `blocked` or `most` of a queue; false if there is none of this key."""
        queue = self.queues.get(key)
        if queue is None:
            return False
        with self._transaction():
            self._db.execute(f"UPDATE queue SET {column} = ? WHERE id = ?", (value, queue.id))
            setattr(queue, column, value)
        return True

    def delete_queue(self, key: str) -> int:
        """Delete a queue with its URLs; return how many of them were not done."""
        queue = self.queues.get(key)
        if queue is None:
            return 0
        leased = "SELECT taken, COUNT(*) FROM url WHERE queue = ? AND state = 2 GROUP BY taken"
        with self._transaction():
            for bucket, n in self._db.execute(leased, (queue.id,)).fetchall():
                self._landed(bucket, n)
            self._db.execute("DELETE FROM url WHERE queue = ?", (queue.id,))
            for bucket in queue.waiting:
                self._db.execute("DELETE FROM wait WHERE bucket = ? AND queue = ?", (bucket, queue.id))
            self._db.execute("DELETE FROM queue WHERE id = ?", (queue.id,))
            del self.queues[key], self._by_id[queue.id]
            self.new -= queue.waiting[NEW]
        return queue.active

    def find(self, key: str, url: str) -> Listed | None:
        """Return a URL of a queue."""
        rows = self._listed("mark = ?", [_mark(key, url)], limit=1)
        return rows[0] if rows else None

    def urls(
        self, *, after: int, most: int, key: str = "", text: str = "", fold: bool = False, skip: int = 0
    ) -> list[Listed]:
        """Return URLs by the order they came, those with a number above `after`, without the first `skip`."""
        where, values = _condition(key, text, fold=fold)
        return self._listed(f"url.id > ? AND {where}", [after, *values], limit=most, skip=skip)

    def count_urls(self, *, key: str = "", text: str = "", fold: bool = False) -> int:
        """Count URLs, done ones too."""
        where, values = _condition(key, text, fold=fold)
        found: int = self._db.execute(f"SELECT COUNT(*) FROM url WHERE {where}", values).fetchone()[0]
        return found

    def _listed(self, where: str, values: Sequence[object], *, limit: int, skip: int = 0) -> list[Listed]:
        rows = self._db.execute(
            "SELECT url.id, url, key, info, state, due, created FROM url JOIN queue ON queue.id = url.queue "
            f"WHERE {where} ORDER BY url.id LIMIT ? OFFSET ?",
            (*values, limit, skip),
        )
        return [Listed._make(row)._replace(state=State(row[4])) for row in rows]


def _mark(key: str, url: str) -> bytes:
    """Return what identifies a URL of a queue: 128 bits, so that no two of any crawl are taken for one."""
    return blake2b(f"{key}\0{url}".encode(), digest_size=16).digest()


def _condition(key: str, text: str, *, fold: bool) -> tuple[str, list[str]]:
    """Return the SQL condition, with its values, of URLs of a queue that hold a text; empty: of any."""
    parts, values = ["1"], list[str]()
    if key:
        parts.append("queue = (SELECT id FROM queue WHERE key = ?)")
        values.append(key)
    if text:
        parts.append("instr(lower(url), lower(?))" if fold else "instr(url, ?)")
        values.append(text)
    return " AND ".join(parts), values


def _written(places: list[QueueSlot] | None) -> str | None:
    return None if places is None else json.dumps(places)


def _is_new(places: list[QueueSlot] | None) -> bool:
    """Say whether linkscore was not asked about a URL yet, though its bucket may be guessed."""
    return places is None or any(slot.bucket == NEW for slot in places)


def _is_unscored(url: _Kept) -> bool:
    """Say whether a URL waits, and in no bucket that linkscore named for it."""
    places = read_slots(url.places)
    return url.state == State.WAITING and (not places or _is_new(places))


def _where(places: list[QueueSlot] | None) -> Sequence[QueueSlot]:
    """Return the places a URL really waits in: a bucket of our own if linkscore named none."""
    if places is None:
        return (QueueSlot(NEW, 0.0),)
    return places or (QueueSlot(UNKNOWN, 0.0),)
