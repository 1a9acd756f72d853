"""The one thread of a process that writes: events of all its shards in one commit, and what is owed with it.

While a commit is made the next events gather, so its cost is shared under load and nobody waits when there is
none. States and cores ride along; those of a commit that failed are owed again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from linkscore_server import tasks
from linkscore_server.store import schema
from linkscore_server.store.base import Engine, Fenced, NewEvent, Session, StoreAway

if TYPE_CHECKING:
    from linkscore_server.store.store import StoredShard

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

MAX_GROUP = 256
"""Events of one commit: a bound on what callers wait for. Chosen, not measured."""
MAX_GROUP_BYTES = 64 << 20
"""Likewise, in bytes: what the largest call of the defaults brings."""
_LOOKS = 10  # at a call until it has taken too long; chosen
_AGAIN_S = 1.0
"""After how long states that could not be written are tried again, if no event comes. Chosen."""


class _Append(NamedTuple):
    shard: StoredShard
    events: Sequence[NewEvent]
    done: Future[int]


class _Call(NamedTuple):
    call: Callable[[Session], Any]
    done: Future[Any]


_WAKE = _Call(lambda session: None, Future())
"""Says that there is something to write beside events."""


class Writer:
    """Makes events durable. `on_session`: called with each new connection: takes the locks of the process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[_Append | _Call | None] = queue.SimpleQueue()
        self._session: Session | None = None
        self._owing: set[StoredShard] = set()
        self._is_closed = self._has_failed = False
        self._since_s = 0.0  # when the connection was last given something to do; 0: it has nothing
        self.on_session: Callable[[Session], None] = lambda session: None
        self._thread = threading.Thread(target=self._run, name="linkscore-store", daemon=True)
        self._thread.start()

    def append(self, shard: StoredShard, events: Sequence[NewEvent]) -> Future[int]:
        """Have events made durable together; the result is the number of the first."""
        return self._submitted(_Append(shard, events, Future()))

    def call(self, call: Callable[[Session], _T]) -> Future[_T]:
        """Have something done by the connection that writes, between commits."""
        return self._submitted(_Call(call, Future()))

    def owes(self, shard: StoredShard) -> None:
        """Say that a shard has states to be written; from any thread."""
        self._owing.add(shard)
        self._queue.put(_WAKE)

    def flush(self, shard: StoredShard) -> Future[None]:
        """Have the states of a shard written now."""
        return self.call(lambda _: self._commit([], [shard]))

    def bound(self, most_s: float) -> None:
        """End each call of the connection that takes longer, whoever waits for it: it is away then.

        PostgreSQL bounds statements, and not the wait of a commit for a standby.
        """
        tasks.thread(partial(self._end_long_calls, most_s), "linkscore-store-watch").start()

    def _end_long_calls(self, most_s: float) -> None:
        while self._thread.is_alive():
            time.sleep(most_s / _LOOKS)
            if self._since_s and time.monotonic() - self._since_s > most_s:
                self.interrupt()

    def interrupt(self) -> None:
        """End a call of the connection that takes too long, from any thread; it is away then."""
        if (session := self._session) is not None:
            session.interrupt()

    def close(self) -> None:
        """Write what was submitted and is owed, and end."""
        if not self._is_closed:
            self._is_closed = True
            self._queue.put(None)
            self._thread.join()

    def _submitted(self, item: _Append | _Call) -> Future[Any]:
        if self._is_closed:
            raise StoreAway("the store is closed")
        self._queue.put(item)
        return item.done

    def _run(self) -> None:
        ending = False
        while not ending:
            appends, call, ending = self._next()
            if appends or self._owing:
                self._write(appends, list(self._owing))
            if call is not None and call is not _WAKE:
                self._do(call)
            self._since_s = 0.0
        if self._session is not None:
            self._session.close()

    def _next(self) -> tuple[list[_Append], _Call | None, bool]:
        """Return what one commit writes, what is to be done after it, and whether it is the last."""
        appends: list[_Append] = []
        events = size = 0
        try:
            item = self._queue.get(timeout=_AGAIN_S if self._owing else None)
            while True:
                if item is None:
                    return appends, None, True
                if isinstance(item, _Call):
                    return appends, item, False
                if item.done.set_running_or_notify_cancel():
                    appends.append(item)
                    events += len(item.events)
                    size += sum(len(event.body) for event in item.events)
                if events >= MAX_GROUP or size >= MAX_GROUP_BYTES:
                    return appends, None, False
                item = self._queue.get_nowait()
        except queue.Empty:
            return appends, None, False

    def _write(self, appends: Sequence[_Append], owing: Sequence[StoredShard]) -> None:
        """Commit events and what is owed; each append hears what came of it."""
        try:
            self._commit(appends, owing)
        except Fenced as exc:
            shards = list(dict.fromkeys([*(item.shard for item in appends), *owing]))
            if len(shards) == 1:
                self._fail(appends, exc, shards)
                return
            for shard in shards:  # the others are not to blame
                self._write([item for item in appends if item.shard is shard], [shard])
        except StoreAway as exc:
            self._disconnect()
            self._fail(appends, exc, [item.shard for item in appends])
        except Exception as exc:  # nothing is written, and all of it may be again
            if not self._has_failed:
                _log.error("nothing can be written, states wait until it can: %s", exc)
            self._has_failed = True
            self._fail(appends, exc, [])

    def _fail(self, appends: Sequence[_Append], error: Exception, away: Sequence[StoredShard]) -> None:
        for shard in away:
            shard.is_away = True
            self._owing.discard(shard)  # what it was given is in its events too
        for item in appends:
            item.done.set_exception(error)

    def _do(self, item: _Call) -> None:
        if item.done.set_running_or_notify_cancel():
            try:
                item.done.set_result(item.call(self._connected()))
            except Exception as exc:
                if isinstance(exc, StoreAway) and not isinstance(exc, Fenced):
                    self._disconnect()
                item.done.set_exception(exc)

    def _commit(self, appends: Sequence[_Append], owing: Sequence[StoredShard]) -> None:
        by_shard: dict[StoredShard, list[NewEvent]] = {shard: [] for shard in owing}
        numbers = []
        for item in appends:
            events = by_shard.setdefault(item.shard, [])
            numbers.append(item.shard.last_seq + len(events) + 1)
            events += item.events
        batches = [shard.batch(events) for shard, events in by_shard.items()]
        statements = [
            (sql, rows) for sql in schema.ORDER if (rows := [row for one in batches for row in one.rows[sql]])
        ]
        if statements:
            self._connected().commit(statements)
            if self._has_failed and appends:  # a state may fit where a page does not
                self._has_failed = False
                _log.info("commits are made again")
        for batch in batches:
            if batch.shard.written(batch):
                self._owing.discard(batch.shard)
        for item, number in zip(appends, numbers, strict=True):
            item.done.set_result(number)

    def _connected(self) -> Session:
        if self._session is None:
            self._session = self._engine.session()  # which `interrupt` ends from here on
            self._since_s = time.monotonic()
            try:
                self.on_session(self._session)
            except BaseException:
                self._disconnect()
                raise
        self._since_s = time.monotonic()
        return self._session

    def _disconnect(self) -> None:
        self._since_s = 0.0
        session, self._session = self._session, None
        if session is not None:
            session.close()
