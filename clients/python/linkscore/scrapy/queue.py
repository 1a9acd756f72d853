"""The scheduler priority queue: one queue per bucket, in the order of the buckets' values; and its file."""

from __future__ import annotations

import pickle
import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.settings.default_settings import SCHEDULER_PRIORITY_QUEUE
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from linkscore.frontier import Place
from linkscore.messages import Row
from linkscore.scrapy.session import META, Session, mark, note_of, places_of

# A bound, chosen: requests that wait without a score whose place is looked for when the server is back.
_MAX_UNSCORED = 100_000


class BucketQueue:
    """Pops from the bucket that is worth most now, first in, first out.

    Requests without a bucket wait in the priority queue that is Scrapy's default. It goes first while it
    holds a start request, a redirect or one the spider gave a positive priority, and last otherwise. With no
    scored request waiting - the server was never there, or only watches - the order is thus Scrapy's own.

    While the server is away, a new request waits behind the scored ones of the bucket where links like it
    were last found. Values fade with what is taken from their buckets (`linkscore.frontier.Outlook`). When
    the server is back `place` lets requests wait where they belong.

    A URL found again while it waits also waits in the buckets it was found through then, at most four in all.
    With `JOBDIR` the buckets are kept in one file that also survives a kill.
    """

    @classmethod
    def from_crawler(cls, crawler: Any, *given: Any, **more: Any) -> Self:
        """Make the queue, as Scrapy's scheduler does: once in memory, and once on disk with `JOBDIR`."""
        return cls(crawler, *given, **more)

    def __init__(
        self, crawler: Any, downstream_queue_cls: Any, key: str, startprios: Any = (), **more: Any
    ) -> None:
        if startprios and not {"plain", "urgent"} <= set(startprios):
            raise ValueError(
                f"BucketQueue cannot resume the state of another SCHEDULER_PRIORITY_QUEUE: {startprios!r}"
            )
        state: dict[str, Any] = startprios or {}
        self._crawler = crawler
        self._session = session = Session.of(crawler)
        plain_key, begun = f"{key}/plain" if key else "", state.get("plain") or ()
        plain = load_object(SCHEDULER_PRIORITY_QUEUE)
        self._plain = plain.from_crawler(crawler, downstream_queue_cls, plain_key, begun, **more)
        self._urgent: int = state.get("urgent", 0)
        #: Requests of the plain queue that came while the server was away, by fingerprint.
        self._unscored: dict[bytes, Any] = {}
        #: Those of the plain queue that wait in buckets by now, or did: they are passed over there.
        self._moved: set[bytes] = {bytes.fromhex(mark) for mark in state.get("moved", ())}
        self._frontier = session.frontier
        self._disk = self._open(Path(key, "buckets.sqlite")) if key else None
        session.queues.add(self)
        crawler.signals.connect(self._seen_again, signals.request_dropped)

    def _open(self, path: Path) -> DiskRequestStore:
        """Open the file of the job directory, and take what waits in it into the frontier."""
        places = self._crawler.settings.getint("CONCURRENT_REQUESTS")
        disk = self._session.disk = DiskRequestStore(path, spider=self._crawler.spider, in_flight=2 * places)
        self._frontier.values.update(disk.values())
        for number, fingerprint, waits_in in disk.entries():
            again = fingerprint in self._frontier
            self._frontier.add(number if again else fingerprint, waits_in, number=number)
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
        fingerprint, number = self._fingerprint(request), self._frontier.last_number + 1
        if self._disk is not None:
            self._disk.put(number, request, fingerprint, places)
            self._flush_seen()
        # One that the duplicate filter had to let pass waits beside the other.
        key = number if fingerprint in self._frontier else fingerprint
        self._frontier.add(key, places, request if self._disk is None else None)
        if not note_of(request).get("guessed"):  # links that were fetched do not come here, and teach nothing
            self._session.outlook.placed(request.url, places[0].bucket, places[0].value)

    def _places(self, request: Any) -> list[Place]:
        places = places_of(request)
        slot = self._session.slot_of(request) if places else ""
        return [place._replace(slot=slot) for place in places]

    def _fingerprint(self, request: Any) -> Any:
        return self._crawler.request_fingerprinter.fingerprint(request)

    def _flush_seen(self) -> None:
        """Write what the duplicate filter knows to its file: a kill must not part it from the queue."""
        scheduler = getattr(getattr(self._crawler.engine, "_slot", None), "scheduler", None)
        if file := getattr(getattr(scheduler, "df", None), "file", None):
            file.flush()

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
        is_guess = item is not None and item.guessed
        request = self._request(item) if is_guess else self._unscored.pop(fingerprint, None)
        if request is None:
            return False
        mark(request, found)
        if is_guess:
            self._move(item, request)
        else:
            self._moved.add(fingerprint)
            self.push(request)
        return True

    def _request(self, item: Any) -> Any:
        return self._session.disk.get(item.number) if item.value is None else item.value

    def _move(self, item: Any, request: Any) -> None:
        """Let a request that waits by a guess wait where its marks say."""
        if places := self._places(request):
            self._frontier.add(item.url, places)
            if item.value is None:
                self._session.disk.put(item.number, request, self._fingerprint(request), places)

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
            if item.value is None:
                self._session.disk.also(item.number, new)
            self._session.count("also_waits", len(new))

    def pop(self) -> Any:
        """Give the request to fetch next; None if there is none, or none may go now."""
        session = self._session
        if session.releasing or session.stops(has_others=bool(self._plain)):
            return None
        if not (self._has_scored and len(self._frontier)) or (self._urgent and self._plain):
            return self._pop_plain()
        if session.must_wait():
            queue = None
        else:  # the best that may go now and whose host has room
            queue = self._frontier.best(idle=session.idle, has_room=session.rooms())
        if queue is None:
            return self._pop_plain() if self._frontier.all_held else None
        item = self._frontier.take_from(queue)
        request = self._request(item)
        if item.value is None:
            session.disk.take(item.number)
        item.value = None  # it lives as long as its request
        session.under_way[request] = item
        return request

    def _pop_plain(self) -> Any:
        while (request := self._plain.pop()) is not None:
            self._urgent -= bool(self._urgent) and _is_urgent(request)
            fingerprint = self._fingerprint(request) if self._moved or self._unscored else b""
            self._unscored.pop(fingerprint, None)
            if fingerprint not in self._moved:
                return request
            self._moved.discard(fingerprint)  # it waits in buckets by now, or did
        return None

    def close(self) -> dict[str, Any]:
        """Close what is open; give the state that Scrapy keeps for the next run."""
        self._session.queues.discard(self)  # pages that are sent in the end find no place here any more
        if self._disk is not None:
            self._disk.close()
        if self._has_scored:
            self._frontier.clear()
        moved = {"moved": sorted(mark.hex() for mark in self._moved)} if self._moved else {}
        return {"plain": self._plain.close(), "urgent": self._urgent, **moved}


def _is_urgent(request: Any) -> bool:
    return request.priority > 0 or any(map(request.meta.get, ("is_start_request", "redirect_times")))


_SCHEMA = """
CREATE TABLE IF NOT EXISTS request (number INTEGER PRIMARY KEY, fingerprint BLOB, places BLOB, body BLOB);
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
        self._spider, self._in_flight = spider, in_flight
        self._taken: deque[int] = deque()
        self._db = sqlite3.connect(path, isolation_level=None)
        # As safe as Scrapy's own queues if the machine goes down.
        self._db.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; {_SCHEMA}")

    def entries(self) -> Iterator[tuple[int, bytes, list[Place]]]:
        """Give what waits since the last run, oldest first."""
        found = self._db.execute("SELECT number, fingerprint, places FROM request ORDER BY number")
        for number, fingerprint, places in found:
            yield number, fingerprint, _loaded(places)

    def values(self) -> dict[str, float]:
        """Give the buckets' values as last saved."""
        return dict(self._db.execute("SELECT name, value FROM bucket"))

    def put(self, number: int, request: Any, fingerprint: bytes, places: Sequence[Place]) -> None:
        """Keep a request and where it waits, in place of what is kept under its number."""
        try:
            body = pickle.dumps(request.to_dict(spider=self._spider), protocol=4)
        except (pickle.PicklingError, AttributeError, TypeError) as e:
            raise ValueError(str(e)) from e
        row = (number, fingerprint, pickle.dumps(places), body)
        self._db.execute("INSERT OR REPLACE INTO request VALUES (?, ?, ?, ?)", row)

    def also(self, number: int, places: Sequence[Place]) -> None:
        """Let a request wait in further places."""
        (before,) = self._db.execute("SELECT places FROM request WHERE number = ?", (number,)).fetchone()
        written = pickle.dumps([*_loaded(before), *places])
        self._db.execute("UPDATE request SET places = ? WHERE number = ?", (written, number))

    def get(self, number: int) -> Any:
        """Give a request."""
        (body,) = self._db.execute("SELECT body FROM request WHERE number = ?", (number,)).fetchone()
        return request_from_dict(_loaded(body), spider=self._spider)

    def take(self, number: int) -> None:
        """Forget a request when so many more are taken as may be under way."""
        self._taken.append(number)
        if len(self._taken) > self._in_flight:
            self._forget(1)

    def _forget(self, n: int) -> None:
        keys = [(self._taken.popleft(),) for _ in range(n)]
        self._db.executemany("DELETE FROM request WHERE number = ?", keys)

    def save(self, values: Mapping[str, float]) -> None:
        """Keep what buckets are worth."""
        with self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO bucket VALUES (?, ?)", values.items())

    def close(self) -> None:
        """Forget what was taken: it was answered; close the file."""
        self._forget(len(self._taken))
        self._db.close()


def _loaded(body: bytes) -> Any:
    return pickle.loads(body)  # noqa: S301 - a job directory is trusted, as by Scrapy's own disk queues
