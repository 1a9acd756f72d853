"""The scheduler priority queue: one queue per bucket, in the order of the buckets' values; and its files."""

from __future__ import annotations

import pickle
import sqlite3
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.settings.default_settings import SCHEDULER_PRIORITY_QUEUE
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from linkscore.frontier import Item, Place, QueueKey
from linkscore.messages import Row
from linkscore.scrapy.pages import META, mark, note_of, places_of
from linkscore.scrapy.session import Session, Throttle, flush_seen

State = dict[str, Any]

# A bound, chosen: requests that wait without a score whose place is looked for when the server is back.
_MAX_UNSCORED = 100_000


class BucketQueue:
    """Pops from the bucket that is worth most now, first in, first out.

    Requests without a bucket wait in the priority queue that is Scrapy's default. It goes first while it
    holds a start request, a redirect or one the spider gave a positive priority, and last otherwise. With no
    scored request waiting - the server was never there, or only watches - the order is thus Scrapy's own.

    While the server is away, a new request waits behind the scored ones of the bucket where links like it
    were last found. Values fade with what is taken from their buckets (`linkscore.outages.Outlook`). When the
    server is back `place` lets requests wait where they belong.

    A URL found again while it waits also waits in the buckets it was found through then, at most four in all.
    With `JOBDIR` the buckets are kept in one file that also survives a kill.
    """

    @classmethod
    def from_crawler(
        cls,
        crawler: Any,
        downstream_queue_cls: Any,
        key: str,
        startprios: State | Sequence[int] = (),
        *,
        start_queue_cls: Any = None,
    ) -> Self:
        """Make the queue, as Scrapy's scheduler does: once in memory, and once on disk with `JOBDIR`."""
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def __init__(
        self,
        crawler: Any,
        downstream_queue_cls: Any,
        key: str,
        startprios: State | Sequence[int] = (),
        *,
        start_queue_cls: Any = None,
    ) -> None:
        state = _checked(startprios)
        self._crawler = crawler
        self._key = key
        self._session = session = Session.of(crawler)
        self._throttle = Throttle(crawler, session)
        self._plain = load_object(SCHEDULER_PRIORITY_QUEUE).from_crawler(
            crawler,
            downstream_queue_cls,
            f"{key}/plain" if key else "",
            state.get("plain") or (),
            start_queue_cls=start_queue_cls,
        )
        self._urgent: int = state.get("urgent", 0)
        #: Requests of the plain queue that came while the server was away, by fingerprint.
        self._unscored: dict[bytes, Any] = {}
        #: Those of the plain queue that wait in buckets by now, or did: they are passed over there.
        self._moved: set[bytes] = {bytes.fromhex(mark) for mark in state.get("moved", ())}
        self._frontier = session.frontier
        self._disk = self._open(key) if key else None
        session.queues.add(self)
        crawler.signals.connect(self._seen_again, signals.request_dropped)

    def _open(self, key: str) -> DiskRequestStore:
        """Open the file of the job directory, and take what waits in it into the frontier."""
        places = self._crawler.settings.getint("CONCURRENT_REQUESTS")
        disk = DiskRequestStore(
            Path(key, "buckets.sqlite"), spider=self._crawler.spider, in_flight=2 * places
        )
        self._frontier.revalue(disk.values())
        for number, fingerprint, waits_in in disk.entries():
            again = fingerprint in self._frontier
            self._frontier.add(number if again else fingerprint, waits_in, number=number)
        self._session.disk = disk
        return disk

    def __len__(self) -> int:
        scored = len(self._frontier) if self._has_scored else 0
        return scored + len(self._plain) - len(self._moved)

    @property
    def _has_scored(self) -> bool:
        """Whether this is the queue that gives scored requests: the one on disk if there is one."""
        return self._session.disk is self._disk

    def push(self, request: Any) -> None:
        """Let a request wait; ValueError if it cannot be stored on disk."""
        places = [] if self._session.config.observe_only else self._places(request)
        if not places:
            self._push_plain(request)
            return
        fingerprint = self._fingerprint(request)
        if self._disk is not None:
            self._disk.put(self._frontier.last_number + 1, request, fingerprint, places)
            flush_seen(self._crawler)
        # One that the duplicate filter had to let pass waits beside the other.
        key = self._frontier.last_number + 1 if fingerprint in self._frontier else fingerprint
        self._frontier.add(key, places, request if self._disk is None else None)
        if not note_of(request).get("guessed"):  # links that were fetched do not come here, and teach nothing
            self._session.outlook.placed(request.url, places[0].bucket, places[0].value)

    def _places(self, request: Any) -> list[Place]:
        places = places_of(request)
        slot = self._throttle.slot_of(request) if places else ""
        return [place._replace(slot=slot) for place in places]

    def _fingerprint(self, request: Any) -> bytes:
        fingerprint: bytes = self._crawler.request_fingerprinter.fingerprint(request)
        return fingerprint

    def _push_plain(self, request: Any) -> None:
        self._plain.push(request)
        urgent = _is_urgent(request)
        self._urgent += urgent
        if self._session.away and not (urgent or self._session.config.observe_only):
            self._unscored[self._fingerprint(request)] = request
            if len(self._unscored) > _MAX_UNSCORED:
                del self._unscored[next(iter(self._unscored))]

    def place(self, fingerprint: bytes, found: list[Row]) -> bool:
        """Let a request that waits without a score, or by a guess, wait where it belongs; say if it did."""
        item = self._frontier.get(fingerprint)
        if item is not None and item.guessed:
            request = self._request(item)
            mark(request, found)
            self._move(item, request)
            return True
        request = self._unscored.pop(fingerprint, None)
        if request is None:
            return False
        mark(request, found)
        self._moved.add(fingerprint)
        self.push(request)
        return True

    def _disk_of(self, item: Item) -> DiskRequestStore | None:
        """Return where the request of an item is; None if it is with the item."""
        return self._session.disk if item.value is None else None

    def _request(self, item: Item) -> Any:
        disk = self._disk_of(item)
        return item.value if disk is None else disk.get(item.number)

    def _move(self, item: Item, request: Any) -> None:
        """Let a request that waits by a guess wait where its marks say."""
        if places := self._places(request):
            self._frontier.add(item.url, places)
            if disk := self._disk_of(item):
                disk.move(item.number, request, places)

    def _seen_again(self, request: Any) -> None:
        """Let a URL that was found again, and dropped as a duplicate, wait where it was found too."""
        item = self._frontier.get(self._fingerprint(request)) if self._has_scored else None
        places = self._places(request)
        if item is None or not places or note_of(request).get("guessed"):
            return
        if item.guessed:
            waiting = self._request(item)
            waiting.meta[META], waiting.priority = request.meta[META], request.priority
            self._move(item, waiting)
        elif new := self._frontier.add(item.url, places):
            if disk := self._disk_of(item):
                disk.also(item.number, new)
            self._session.count("also_waits", len(new))

    def pop(self) -> Any:
        """Give the request to fetch next; None if there is none, or none may go now."""
        if self._session.releasing or self._stops():
            return None
        if self._plain_first():
            return self._pop_plain()
        queue = self._next()
        if queue is None:
            return self._pop_plain() if self._frontier.all_held else None
        item = self._frontier.take_from(queue)
        disk = self._disk_of(item)
        request = item.value if disk is None else disk.take(item.number)
        item.value = None  # it lives as long as its request
        self._session.under_way[request] = item
        return request

    def _stops(self) -> bool:
        """Say whether no fetch may begin; close the spider when none ever will."""
        allowance = self._session.allowance
        if not (allowance.holds_any or allowance.left is not None):
            return False
        allowance.without_answer(self._session.connection.uncounted)
        if allowance.spent or (self._frontier.all_held and not self._plain and self._throttle.is_last()):
            self._session.stop()
            return True
        return allowance.is_full(self._throttle.pending())

    def _plain_first(self) -> bool:
        return not (self._has_scored and len(self._frontier)) or bool(self._urgent and self._plain)

    def _pop_plain(self) -> Any:
        while (request := self._plain.pop()) is not None:
            if self._urgent:
                self._urgent -= _is_urgent(request)
            if not self._left_plain(request):
                return request
        return None

    def _left_plain(self, request: Any) -> bool:
        """Say whether a request of the plain queue waits in buckets by now, or did."""
        if not (self._moved or self._unscored):
            return False
        fingerprint = self._fingerprint(request)
        self._unscored.pop(fingerprint, None)
        moved = fingerprint in self._moved
        self._moved.discard(fingerprint)
        return moved

    def _next(self) -> QueueKey | None:
        """Give the best queue that may go now and whose host has room."""
        if self._throttle.must_wait():
            return None
        busy: Counter[str] = self._throttle.busy()
        return self._frontier.best(
            idle=self._session.idle, has_room=lambda slot: self._throttle.has_room(slot, busy)
        )

    def close(self) -> State:
        """Close what is open; give the state that Scrapy keeps for the next run."""
        self._session.queues.discard(self)  # pages that are sent in the end find no place here any more
        if self._disk is not None:
            self._disk.close()
        if self._has_scored:
            self._frontier.clear()
        moved = {"moved": sorted(mark.hex() for mark in self._moved)} if self._moved else {}
        return {"plain": self._plain.close(), "urgent": self._urgent, **moved}


def _is_urgent(request: Any) -> bool:
    marks = ("is_start_request", "redirect_times")
    return request.priority > 0 or any(request.meta.get(mark) for mark in marks)


def _checked(state: Any) -> State:
    if isinstance(state, dict) and set(state) - {"moved"} == {"plain", "urgent"}:
        return state
    if state:
        raise ValueError(
            f"BucketQueue cannot resume the state of another SCHEDULER_PRIORITY_QUEUE: {state!r}"
        )
    return {}


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
        # As safe as Scrapy's own queues if the machine goes down.
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(_SCHEMA)

    def entries(self) -> Iterator[tuple[int, bytes, list[Place]]]:
        """Give what waits since the last run, oldest first."""
        places: dict[int, list[Place]] = {}
        for number, bucket, slot, penalty in self._db.execute(
            "SELECT number, bucket, slot, penalty FROM wait"
        ):
            places.setdefault(number, []).append(Place(bucket, -penalty, 0.0, slot=slot))
        rows = self._db.execute("SELECT number, fingerprint FROM request ORDER BY number")
        for number, fingerprint in rows:
            yield number, fingerprint, places.get(number, [])

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
        fresh = [(place.bucket, place.value) for place in places]
        self._db.executemany("INSERT OR IGNORE INTO bucket VALUES (?, ?)", fresh)

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
