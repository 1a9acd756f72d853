"""The URLs of one crawl in one SQLite file: what waits, what is leased, what is done; one writer.

A URL waits in up to four buckets of its queue. Buckets are ordered by their values, the URLs of a bucket by
the part of the score that is their own, then first in, first out. While linkscore is away the value of a
bucket fades with each URL that is taken from it, and a new URL waits behind the others of the bucket where
the last new URL of its shape was, until linkscore says where it belongs (`linkscore.frontier.Outlook`).

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
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from linkscore.frontier import MAX_PLACES, Allotment, Outlook, Place
from linkscore.messages import ticket_text
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier.urlfrontier_pb2 import AckMessage


class State(IntEnum):
    """Where a URL stands: `due` is when it came, when it may be fetched again, or when its lease ends."""

    WAITING = 0
    LATER = 1
    LEASED = 2
    DONE = 3


class QueueSlot(NamedTuple):
    """A place as the file has it: number of the bucket, how much worse than it the link is, and ticket."""

    bucket: int
    score_penalty: float = 0.0
    ticket: str = ""


@dataclass(slots=True)
class Arrival:
    """A URL that is put into a queue, with what the crawler keeps with it.

    `places` is None if linkscore was not asked about it, empty if it knows nothing. A known URL was fetched;
    it may be again from the second `due`, never if that is 0. `failed_status` is that of a fetch that failed.
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
    """A URL that is given to a crawler, with the ticket of the bucket it was taken from."""

    url: str
    key: str
    info: bytes
    ticket: str = ""


class Listed(NamedTuple):
    """A URL as a list shows it."""

    id: int
    url: str
    key: str
    info: bytes
    state: State
    due: int
    created: int


class Wish(NamedTuple):
    """What a crawler asks for: URLs of so many queues and of each (0: any number), or of one queue by key.

    `lease_s`: for how long they are its own. `delay`: seconds that a queue rests without one of its own.
    """

    queues: int = 0
    each: int = 0
    key: str = ""
    lease_s: int = 60
    delay: int = 1


class Question(NamedTuple):
    """What RankBuckets is asked: links that wait and fetches under way, by bucket, and places to fill.

    `fill`: fill them all. That is so while no page was sent to linkscore, whose answers would say more.
    """

    waiting: dict[str, int]
    under_way: dict[str, int]
    places: int
    fill: bool


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

    def gives(self, wish: Wish, now: float) -> bool:
        """Say whether it may give URLs now: not blocked, paced, within its limit, not too many under way."""
        return (
            bool(self.waiting)
            and self.blocked < now
            and self.given + (wish.delay if self.delay is None else self.delay) <= now
            and not 0 < self.most <= self.states[State.DONE]
            and self.room(wish.each, 1) > 0
        )

    def room(self, each: int, most: int) -> int:
        """Return how many it may give: until `each` are under way (0: any number), and `most` at once."""
        return min(most, each - self.states[State.LEASED]) if each else most


MAX_GIVEN = 1_000
"""URLs of one answer at most, a bound, chosen: a call leases no whole crawl, and no more than 32 MB."""

# How far behind the best URL of a bucket one waits that is only guessed to belong there: behind all others.
_GUESSED = 1.0
_MAX_RANKED = 100_000  # what one RankBuckets call may carry
_MAX_IN_FLIGHT = 10_000  # buckets under way that it may name
_TAKEN = 100  # URLs of a bucket that are read at a time: what comes with them may be large
# Leases and dates that run out are looked at in portions: a bound of the time one call takes.
_SWEPT = 10_000
NEW, UNKNOWN = 0, 1
"""Buckets of URLs that linkscore was not asked about yet, and that it says nothing about."""

# Both come after all buckets of linkscore, whose values are in [0, 1]; what is new may turn out to be good.
_VALUES = {NEW: -1.0, UNKNOWN: -2.0}

_FORMAT = 3  # of the file (`user_version`); another one is refused
_SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;"
"""What was acknowledged is on the disk; 64 MiB have the inner pages of some ten million URLs."""
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


class _Url(NamedTuple):
    """Where a URL stands, as the file has it: `taken` is the bucket a leased one was taken from."""

    number: int
    queue: int
    state: int
    due: int
    places: str
    taken: int

    @property
    def slots(self) -> list[QueueSlot]:
        """Its places, one at least; that in `NEW` comes first, with one that is guessed."""
        return [QueueSlot(*place) for place in json.loads(self.places)]


_INSERT = (
    "INSERT INTO url (mark, url, queue, created, state, due, places, info) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_ENTER = "INSERT INTO wait VALUES (?, ?, ?, ?, ?)"
_LEAVE = "DELETE FROM wait WHERE bucket = ? AND queue = ? AND worse = ? AND since = ? AND url = ?"
_URL = "url.id, url.queue, state, due, places, taken"


class CrawlStore:
    """The URLs of one crawl; sqlite3.Error if the file cannot be opened, or is of another format.

    `queues` has them by key, `values` what buckets are worth by number, `new` how many URLs linkscore was not
    asked about yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._check_format()
        self._db.executescript(_SETTINGS + _SCHEMA)
        self._allotment, self._outlook = Allotment(), Outlook()
        self._has_stopped = False
        self._is_scored = False
        self._load()

    def close(self) -> None:
        self._db.close()

    def erase(self) -> None:
        """Close the file and delete it."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def count(self, *states: State) -> int:
        """Count the URLs in some states, from any thread."""
        return sum(queue.states[state] for queue in list(self.queues.values()) for state in states)

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

    def put(self, arrivals: Iterable[Arrival], now: float) -> list[AckMessage.Status]:
        """Take in URLs; a discovered one that is known is skipped, but may wait in further buckets."""
        with self._transaction():
            return [self._put(arrival, int(now)) for arrival in arrivals]

    def _put(self, new: Arrival, now: int) -> AckMessage.Status:
        queue, mark = self._queue(new.key), _mark(new.key, new.url)
        known = self._find("mark = ?", mark)
        places = self._places(new, known)
        if known is not None and not new.is_known:
            if known.state == State.WAITING and _are_named(places):
                self._wait_also(known, places)
            return AckMessage.SKIPPED
        state, due = State.WAITING, now
        if new.is_known:
            self._outlook.fetched(new.url, is_page=not new.failed_status)
            state, due = State.LATER if new.due > now else State.WAITING, new.due
            state = state if new.due else State.DONE
        if known is None:
            written = json.dumps(places)
            row = (mark, new.url, queue.id, now, state, due, written, new.info)
            number = self._db.execute(_INSERT, row).lastrowid or 0
            self._count(_Url(number, queue.id, state, due, written, 0), 1)
        else:
            self._db.execute("UPDATE url SET info = ? WHERE id = ?", (new.info, known.number))
            written = json.dumps(places) if _are_named(places) else known.places
            self._move(known, state=state, due=due, places=written)
        return AckMessage.OK

    def _move(self, url: _Url, **changes: Any) -> None:
        """Let a URL be in another state or wait elsewhere; the counts follow."""
        moved = url._replace(**changes)
        self._count(url, -1)
        update = "UPDATE url SET state = ?, due = ?, places = ?, taken = ? WHERE id = ?"
        self._db.execute(update, (moved.state, moved.due, moved.places, moved.taken, moved.number))
        self._count(moved, 1)

    def _count(self, url: _Url, n: int) -> None:
        """Count a URL where it stands, one more (1) or one less (-1), and let it wait there or no more."""
        queue = self._by_id[url.queue]
        queue.states[State(url.state)] += n
        if url.state == State.LEASED:
            self._is_news |= n < 0
            _add(self._under_way, url.taken, n)
        if url.state != State.WAITING:
            return
        for bucket, score_penalty, _ in url.slots:
            row = (bucket, queue.id, score_penalty, url.due, url.number)
            self._db.execute(_ENTER if n > 0 else _LEAVE, row)
            _add(queue.waiting, bucket, n)
            self.new += n * (bucket == NEW)

    def _places(self, new: Arrival, known: _Url | None) -> list[QueueSlot]:
        """Return where a URL that comes may wait: as it says, or while linkscore is away by the guess."""
        if new.places is None:
            guess = known is None and self._outlook.away and self._outlook.guess(new.url)
            bucket = self._buckets.get(guess[0]) if guess else None
            return [QueueSlot(NEW)] if bucket is None else [QueueSlot(NEW), QueueSlot(bucket, _GUESSED)]
        places = self._numbered(new.places)
        if _are_named(places):
            self._is_scored = True
            is_unscored = known is None or (known.state == State.WAITING and not _are_named(known.slots))
            if is_unscored and not new.is_known:
                self._placed(new.url, places)
        return places

    def _find(self, where: str, *values: object) -> _Url | None:
        row = self._db.execute(f"SELECT {_URL} FROM url WHERE {where}", values).fetchone()
        return None if row is None else _Url(*row)

    def _queue(self, key: str) -> Queue:
        queue = self.queues.get(key)
        if queue is None:
            cursor = self._db.execute("INSERT INTO queue (key) VALUES (?)", (key,))
            queue = self.queues[key] = Queue(cursor.lastrowid or 0, key)
            self._by_id[queue.id] = queue
        return queue

    def _numbered(self, places: Sequence[Place]) -> list[QueueSlot]:
        """Return places with the numbers of their buckets, a bucket once; of none the one of our own."""
        found: dict[int, QueueSlot] = {}
        for place in places[:MAX_PLACES]:
            number = self._buckets.get(place.bucket)
            if number is None:
                number = 2 + len(self._buckets)
                row = (number, place.bucket, place.value)
                self._db.execute("INSERT INTO bucket (id, name, value) VALUES (?, ?, ?)", row)
                self._buckets[place.bucket], self._names[number] = number, place.bucket
                self.values[number] = place.value
            found.setdefault(number, QueueSlot(number, place.penalty, ticket_text(place.ticket)))
        return list(found.values()) or [QueueSlot(UNKNOWN)]

    def _placed(self, url: str, places: Sequence[QueueSlot]) -> None:
        """Note where a URL that is new was found best."""
        best = max(places, key=lambda slot: self.values[slot.bucket] - slot.score_penalty).bucket
        self._outlook.placed(url, self._names[best], self.values[best])

    def _wait_also(self, known: _Url, new: list[QueueSlot]) -> None:
        """Let a URL that waits wait in further buckets, or elsewhere if by now more is known of it."""
        old = known.slots if _are_named(known.slots) else []
        there = {slot.bucket for slot in old}
        more = [slot for slot in new if slot.bucket not in there][: MAX_PLACES - len(there)]
        if more:
            self._move(known, places=json.dumps([*old, *more]))

    # URLs that go

    def take(self, wish: Wish, now: float) -> list[Given]:
        """Lease the best URLs of the best queues."""
        self.sweep(now)
        offers = [
            (self._worth(bucket), queue)
            for queue in self._able(wish, now)
            if (bucket := self._next_bucket(queue)) is not None
        ]
        best = heapq.nlargest(
            wish.queues or len(offers), offers, key=lambda offer: (offer[0], -offer[1].given)
        )
        given: list[Given] = []
        with self._transaction():
            for _, queue in best:
                room = queue.room(wish.each, MAX_GIVEN - len(given))
                taken = self._take(queue, room, int(now) + wish.lease_s)
                if taken:  # not what an earlier queue left nothing for
                    given += taken
                    queue.given = now
                    self._db.execute("UPDATE queue SET given = ? WHERE id = ?", (now, queue.id))
                if len(given) == MAX_GIVEN:
                    break
        return given

    def chosen(self, key: str) -> list[Queue]:
        """Return the queue of a key, if there is one; all of them if the key is empty."""
        if key:
            return [self.queues[key]] if key in self.queues else []
        return [*self.queues.values()]

    def _able(self, wish: Wish, now: float) -> list[Queue]:
        """Return the queues that may give URLs now."""
        return [queue for queue in self.chosen(wish.key) if queue.gives(wish, now)]

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
                f"SELECT url.url, info, {_URL} FROM wait JOIN url ON url.id = wait.url "
                "WHERE wait.bucket = ? AND wait.queue = ? ORDER BY worse, since, wait.url LIMIT ?",
                (bucket, queue.id, min(limit, most - len(given), _TAKEN)),
            ).fetchall()
            for url, info, *kept in rows:
                leased = _Url(*kept)
                self._move(leased, state=State.LEASED, due=until, taken=bucket)
                tickets = {slot.bucket: slot.ticket for slot in leased.slots}
                given.append(Given(url, queue.key, info, tickets.get(bucket, "")))
                self._outlook.taken(name)
                self._allotment.take(name)
        return given

    def sweep(self, now: float) -> None:
        """Let URLs wait again whose lease or date ran out."""
        rows = self._db.execute(
            f"SELECT {_URL} FROM url WHERE state IN (1, 2) AND due <= ? ORDER BY due LIMIT ?",
            (int(now), _SWEPT),
        ).fetchall()
        if not rows:
            return
        with self._transaction():
            for url in map(_Url._make, rows):
                # What was given once and not fetched goes first among its equals.
                self._move(url, state=State.WAITING, due=url.due if url.state == State.LATER else 0)

    # What linkscore says

    def question(self, wish: Wish, now: float) -> Question | None:
        """Return what to ask RankBuckets before `take` is called with the same; None if there is no reason.

        Links of queues that may give nothing now do not count as waiting.
        """
        self.sweep(now)
        if self._allotment.short and not self._is_news and self._under_way:
            return None  # places are empty until a fetch is done
        able = self._able(wish, now)
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
        rooms = heapq.nlargest(wish.queues or len(able), (queue.room(wish.each, MAX_GIVEN) for queue in able))
        return Question(
            waiting={self._names[number]: waiting[number] for number in numbers[:_MAX_RANKED]},
            under_way=dict(islice(under_way.items(), _MAX_IN_FLIGHT)),
            places=min(MAX_GIVEN, sum(rooms)),
            fill=not self._is_scored,
        )

    def answered(self, question: Question, answer: scoring_pb2.RankBucketsResponse | None) -> None:
        """Take in what buckets are worth now and how many links of each may go; None: linkscore is away."""
        self._outlook.turn(away=answer is None)
        if answer is None:
            self._allotment.lift()
            return
        values = self._allotment.read(answer, waiting=question.waiting, n=question.places)
        self._has_stopped = answer.decision == common_pb2.DECISION_STOP_BUDGET  # until there is more budget
        with self._transaction():
            for name, value in values.items():
                number = self._buckets.get(name)  # None: the crawl was deleted and begun again meanwhile
                if number is not None and self.values[number] != value:
                    self.values[number] = value
                    self._db.execute("UPDATE bucket SET value = ? WHERE id = ?", (value, number))

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
                    self._move(url, state=State.DONE)
            for number, places in found:
                url = self._waiting(number)
                if url is None or url.slots[0].bucket != NEW:  # given or found meanwhile
                    continue
                slots = self._numbered(places)
                if _are_named(slots):
                    (address,) = self._db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()
                    self._placed(address, slots)
                else:
                    slots = url.slots[1:] or slots
                self._move(url, places=json.dumps(slots))

    def _waiting(self, number: int) -> _Url | None:
        return self._find("id = ? AND state = 0", number)

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
        with self._transaction():
            for table in ("url", "wait"):
                self._db.execute(f"DELETE FROM {table} WHERE queue = ?", (queue.id,))
            self._db.execute("DELETE FROM queue WHERE id = ?", (queue.id,))
            self._load()
        return queue.active

    def find(self, key: str, url: str) -> Listed | None:
        return next(iter(self._listed("mark = ?", [_mark(key, url)], limit=1)), None)

    def urls(
        self, *, after: int, most: int, key: str = "", text: str = "", fold: bool = False, skip: int = 0
    ) -> list[Listed]:
        """Return URLs by the order they came, those with a number above `after`, without the first `skip`."""
        where, values = _condition(key, text, fold=fold)
        return self._listed(f"url.id > ? AND {where}", [after, *values], limit=most, skip=skip)

    def count_urls(self, *, key: str = "", text: str = "", fold: bool = False) -> int:
        """Count URLs, done ones too."""
        where, values = _condition(key, text, fold=fold)
        return int(self._db.execute(f"SELECT COUNT(*) FROM url WHERE {where}", values).fetchone()[0])

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


def _are_named(places: list[QueueSlot]) -> bool:
    """Say whether places are those that linkscore named, not of our own or guessed."""
    return places[0].bucket > UNKNOWN


def _add(counts: Counter[int], key: int, n: int) -> None:
    counts[key] += n
    if counts[key] <= 0:
        del counts[key]
