"""The URLs of one crawl in one SQLite file: what waits, what is leased, what is done; one writer.

A URL waits in up to four buckets of its queue. Buckets are ordered by their values, the URLs of a bucket by
the part of the score that is their own, then first in, first out. While linkscore is away, or learns nothing,
the value of a bucket fades with each URL that is taken from it, and a new URL waits behind the others of the
bucket where the last new URL of its shape was, until linkscore says where it belongs (`linkscore.outages`).

Counts of what waits and of what is under way are kept in memory and read anew when the file is opened;
everything else is in the file before a call returns.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from linkscore.order import Allotment
from linkscore.outages import Outlook
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier.listing import Listing, condition, mark
from linkscore_frontier.records import (
    Arrival,
    Failure,
    Given,
    Place,
    Question,
    Queue,
    QueueSlot,
    State,
    Status,
    Summary,
    read_slots,
)

MAX_PLACES = 4
"""Buckets a URL waits in at most: as for Scrapy."""

MAX_GIVEN = 10_000
"""URLs of one answer at most: a bound, so that one call does not lease a whole crawl."""

MAX_GIVEN_BYTES = 8 << 20
"""Bytes of one answer at which no further URL is leased for it; a crawler asks again. A bound, chosen."""

# Pages fetched without one event of linkscore, after which it is taken to learn nothing: its disk is full,
# say. A crawler may have so many on their way. Chosen.
_UNHEARD = 32
# How far behind the best URL of a bucket one waits that is only guessed to belong there: behind all others.
_GUESSED = 1.0
# What one RankBuckets call may carry (the server's default of `max_buckets_per_call`).
_MAX_RANKED = 100_000
# URLs of a bucket that are read at a time: what comes with them may be large.
_TAKEN = 100
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

_FORMAT = 1  # of the file (`user_version`); another one is refused
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
CREATE TABLE IF NOT EXISTS failure (id INTEGER PRIMARY KEY, event TEXT, url TEXT, status INTEGER,
    ticket BLOB);
"""


class _Kept(NamedTuple):
    """Where a URL stands, as the file has it: `taken` is the bucket a leased one was taken from."""

    number: int
    queue: int
    state: int
    due: int
    places: str | None
    taken: int


_KEPT = "id, queue, state, due, places, taken"


class CrawlStore:
    """The URLs of one crawl.

    Parameters
    ----------
    path
        The file; made if it is not there.

    Raises
    ------
    sqlite3.Error
        If it cannot be opened, or is of another format.

    Attributes
    ----------
    listing
        Answers questions about single URLs, lists and counts.
    queues
        By key.
    values
        What buckets are worth, by number.
    new
        How many URLs linkscore was not asked about yet.
    failures
        How many failed fetches linkscore was not told of yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # what was acknowledged is on the disk
        self._db.execute("PRAGMA cache_size = -65536")  # 64 MiB: the inner pages of some ten million URLs
        self._check_format()
        self._db.executescript(_SCHEMA)
        self.listing = Listing(self._db)
        self._allotment = Allotment()
        self._has_stopped = False
        self._is_scored = False
        self._outlook = Outlook()
        self._event_seq, self._unheard = 0, 0
        self._load()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def erase(self) -> None:
        """Close the file and delete it."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def summary(self) -> Summary:
        """Return what it holds."""
        queues = list(self.queues.values())
        return Summary(
            len(queues),
            tuple(sum(queue.states[state] for queue in queues) for state in State),
            self.new,
            self.failures,
        )

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
        self.queues: dict[str, Queue] = {}
        by_id: dict[int, Queue] = {}
        for row in db.execute("SELECT id, key, delay, blocked, most, given FROM queue"):
            self.queues[row[1]] = by_id[row[0]] = Queue(*row)
        for queue, state, n in db.execute("SELECT queue, state, COUNT(*) FROM url GROUP BY queue, state"):
            by_id[queue].states[State(state)] = n
        for queue, bucket, n in db.execute("SELECT queue, bucket, COUNT(*) FROM wait GROUP BY bucket, queue"):
            by_id[queue].waiting[bucket] = n
        self.new = sum(queue.waiting[NEW] for queue in by_id.values())
        leased = "SELECT taken, COUNT(*) FROM url WHERE state = 2 GROUP BY taken"
        self._under_way = Counter(dict(db.execute(leased)))
        self._is_news = True
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
        known = self._kept(mark(new.key, new.url))
        places = self._places(new, known)
        if known is not None and not new.is_known:
            if known.state == State.WAITING and places:
                self._wait_also(known.number, queue, known.due, read_slots(known.places), places)
            return Status.SKIPPED
        if known is not None:
            self._leave(known)
            places = places or read_slots(known.places)
        state = State.WAITING
        if new.is_known and new.due == 0:
            state = State.DONE
        elif new.is_known and new.due > now:
            state = State.LATER
        due = new.due if new.is_known else now
        written = None if places is None else json.dumps(places)
        number = self._write(new, known, queue, (state, due, written), now)
        queue.states[state] += 1
        if new.is_known:
            self._unheard += 1
            self._outlook.fetched(new.url, is_page=not new.failed_status)
        if state is State.WAITING:
            self._wait(number, queue, due, places)
        if new.failed_status:
            failure = (uuid.uuid4().hex, new.url, new.failed_status, new.ticket)
            self._db.execute("INSERT INTO failure (event, url, status, ticket) VALUES (?, ?, ?, ?)", failure)
            self.failures += 1
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
        self, new: Arrival, known: _Kept | None, queue: Queue, fields: tuple[State, int, str | None], now: int
    ) -> int:
        """Write state, due time and places of a URL; return its number."""
        if known is not None:
            update = "UPDATE url SET state = ?, due = ?, places = ?, info = ? WHERE id = ?"
            self._db.execute(update, (*fields, new.info, known.number))
            return known.number
        state, due, written = fields
        cursor = self._db.execute(
            "INSERT INTO url (mark, url, queue, state, due, created, places, info) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (mark(new.key, new.url), new.url, queue.id, state, due, now, written, new.info),
        )
        return cursor.lastrowid or 0

    def _kept(self, marked: bytes) -> _Kept | None:
        row = self._db.execute(f"SELECT {_KEPT} FROM url WHERE mark = ?", (marked,)).fetchone()
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
            self._db.execute(
                "INSERT INTO wait (bucket, queue, worse, since, url) VALUES (?, ?, ?, ?, ?)", row
            )
            queue.waiting[bucket] += 1
            self.new += bucket == NEW

    def _wait_also(
        self, number: int, queue: Queue, since: int, old: list[QueueSlot] | None, new: list[QueueSlot]
    ) -> None:
        if not old or _is_new(old) or _is_of_no_page(old, new):  # by now more is known of it
            self._stop_waiting(number, queue, since, old)
            old = []
        known = {slot.bucket for slot in old or ()}
        more = [slot for slot in new if slot.bucket not in known][: MAX_PLACES - len(known)]
        if not more:
            return
        self._wait(number, queue, since, more)
        places = json.dumps([*(old or ()), *more])
        self._db.execute("UPDATE url SET places = ? WHERE id = ?", (places, number))

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
        room: int = MAX_GIVEN_BYTES,
    ) -> list[Given]:
        """Lease the best URLs of the best queues.

        Parameters
        ----------
        queues
            Queues of the answer at most; 0: any number.
        each
            URLs of a queue that are under way when it is given: those leased before count. 0: any number.
        lease_s
            Seconds for which nobody else is given them.
        now
            Seconds since 1970.
        delay
            Seconds between two gifts of a queue that has no delay of its own.
        key
            The only queue to take from, empty for all.
        room
            Bytes of the answer, over which the last URL may go.
        """
        self.sweep(now)
        best = heapq.nlargest(
            queues or len(self.queues),
            self._offers(now, each, delay, key),
            key=lambda offer: (offer[0], -offer[1].given),
        )
        given: list[Given] = []
        with self._transaction():
            for _, queue in best:
                most = queue.room(each, MAX_GIVEN - len(given))
                taken = self._take(queue, most, int(now) + lease_s, room)
                room -= sum(one.size for one in taken)
                if taken:  # not what an earlier queue left nothing for
                    given += taken
                    queue.given = now
                    self._db.execute("UPDATE queue SET given = ? WHERE id = ?", (now, queue.id))
                if len(given) == MAX_GIVEN or room <= 0:
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
        """Return the bucket of a queue to take from; None if nothing of it should go before the next answer.

        Of buckets of equal value it is the older one.
        """
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

    def _take(self, queue: Queue, most: int, until: int, room: int) -> list[Given]:
        given: list[Given] = []
        while len(given) < most and room > 0 and (bucket := self._next_bucket(queue)) is not None:
            name = self._names.get(bucket, "")
            is_one = self._allotment.short or self._outlook.away
            limit = self._allotment.left(name) or (1 if is_one else most)
            rows = self._db.execute(
                "SELECT url.url, info, url.id, url.queue, state, due, places, taken "
                "FROM wait JOIN url ON url.id = wait.url "
                "WHERE wait.bucket = ? AND wait.queue = ? ORDER BY worse, since, wait.url LIMIT ?",
                (bucket, queue.id, min(limit, most - len(given), _TAKEN)),
            ).fetchall()
            taken = 0
            for url, info, *kept in rows:
                if room <= 0:
                    break
                leased = _Kept(*kept)
                self._lease(leased, queue, until, bucket)
                tickets = {slot.bucket: slot.ticket for slot in read_slots(leased.places) or ()}
                given.append(Given(url, queue.key, info, tickets.get(bucket, "")))
                self._outlook.taken(name)
                room -= given[-1].size
                taken += 1
            self._allotment.take(name, taken)
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
            under_way=dict(islice(under_way.items(), MAX_GIVEN)),
            places=min(MAX_GIVEN, sum(rooms)),
            fill=not self._is_scored,
        )

    def answered(self, question: Question, answer: scoring_pb2.RankBucketsResponse | None) -> None:
        """Take in what buckets are worth now and how many links of each may go; None: linkscore is away."""
        if answer is not None and answer.event_seq != self._event_seq:
            self._event_seq, self._unheard = answer.event_seq, 0
        learns_nothing = self._is_scored and self._unheard > _UNHEARD
        self._outlook.away = answer is None or learns_nothing
        if answer is None or learns_nothing:
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
                self._drop(number)
            for number, places in found:
                row = self._db.execute(
                    "SELECT queue, due, places, url FROM url WHERE id = ? AND state = 0", (number,)
                ).fetchone()
                if row is None or not _is_new(old := read_slots(row[2])):  # given, deleted or found meanwhile
                    continue
                queue, written = self._by_id[row[0]], self._numbered(places)
                if written:
                    self._placed(row[3], written)
                else:
                    written = [slot for slot in old or () if slot.bucket != NEW]
                self._stop_waiting(number, queue, row[1], old)
                self._wait(number, queue, row[1], written)
                update = (json.dumps(written), number)
                self._db.execute("UPDATE url SET places = ? WHERE id = ?", update)

    def _drop(self, number: int) -> None:
        row = self._db.execute(f"SELECT {_KEPT} FROM url WHERE id = ? AND state = 0", (number,)).fetchone()
        if row is not None:
            kept = _Kept(*row)
            self._leave(kept)
            self._by_id[kept.queue].states[State.DONE] += 1
            self._db.execute("UPDATE url SET state = ? WHERE id = ?", (State.DONE, number))

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

    def purge(self, before: int, key: str = "") -> int:
        """Delete URLs that came before a second, of a queue or of all; return how many."""
        where, values = condition(key)
        rows = self._db.execute(
            f"SELECT {_KEPT} FROM url WHERE created < ? AND {where}", (before, *values)
        ).fetchall()
        with self._transaction():
            for url in map(_Kept._make, rows):
                self._leave(url)
                self._db.execute("DELETE FROM url WHERE id = ?", (url.number,))
        return len(rows)


def _is_new(places: list[QueueSlot] | None) -> bool:
    """Say whether linkscore was not asked about a URL yet, though its bucket may be guessed."""
    return places is None or any(slot.bucket == NEW for slot in places)


def _is_unscored(url: _Kept) -> bool:
    """Say whether a URL waits, and in no bucket that linkscore named for it."""
    places = read_slots(url.places)
    return url.state == State.WAITING and (not places or _is_new(places))


def _is_of_no_page(old: list[QueueSlot], new: list[QueueSlot]) -> bool:
    """Say whether linkscore scored a URL without a page that links to it, and by such a page now.

    Only pages give tickets. After an outage a URL may be scored before the page it is on was sent.
    """
    return not any(slot.ticket for slot in old) and any(slot.ticket for slot in new)


def _where(places: list[QueueSlot] | None) -> Sequence[QueueSlot]:
    """Return the places a URL really waits in: a bucket of our own if linkscore named none."""
    if places is None:
        return (QueueSlot(NEW, 0.0),)
    return places or (QueueSlot(UNKNOWN, 0.0),)
