"""What a crawl asks of the store: append events, keep states, read both back. Blocks, from any thread.

One thread of a process writes: events of all its shards in one commit, and what is owed with it. While a
commit is made the next events gather, so its cost is shared under load and nobody waits when there is none.
States and cores ride along; those of a commit that failed are owed again.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_server import tasks
from linkscore_server.settings import is_database
from linkscore_server.store import schema
from linkscore_server.store.base import (
    Codec,
    Core,
    Engine,
    Fenced,
    NewEvent,
    Session,
    SiteFacts,
    SiteRow,
    Statements,
    StoreAway,
    StoredEvent,
    pack,
    unpack,
)
from linkscore_server.store.sqlite import SqliteEngine

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
        self._lock = threading.Lock()  # nothing is submitted after what ends the thread
        self._session: Session | None = None
        self._owing: set[StoredShard] = set()
        self._is_closed = self._has_failed = False
        self._since_s = 0.0  # when the connection was last given something to do; 0: it has nothing
        self.on_session: Callable[[Session], None] = lambda session: None
        self._thread = threading.Thread(target=self._run, name="linkscore-store", daemon=True)
        self._thread.start()

    def submit(self, item: _Append | _Call) -> Future[Any]:
        """Have events made durable together, whose result is the number of the first, or something done."""
        with self._lock:
            if self._is_closed:
                raise StoreAway("the store is closed")
            self._queue.put(item)
        return item.done

    def call(self, call: Callable[[Session], _T]) -> Future[_T]:
        """Have something done by the connection that writes, between commits."""
        return self.submit(_Call(call, Future()))

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
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
        self._thread.join()

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
            self._owing.discard(batch.shard)  # before: what is put from here on is owed again
            if not batch.shard.written(batch):
                self._owing.add(batch.shard)
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


FILE = "linkscore.db"
SECRET_BYTES = 32
"""Bytes of a secret: a key of HMAC-SHA256."""
_PAGE = 500
"""Rows of one query: what a reader holds at a time. Chosen, not measured."""
_END, _NUMBER_BITS = 1 << 62, 62
_DELETED_AT_ONCE = 2_000
"""Events of a deleted crawl erased in one commit, between those of others. Chosen, not measured."""


class OtherFormat(LinkscoreError):
    """The store was written by another version of linkscore."""


class Batch(NamedTuple):
    """What one commit writes of a shard: rows by statement, and what is so once they are written."""

    shard: StoredShard
    rows: dict[str, list[tuple[Any, ...]]]
    numbers: dict[str, int]
    last_seq: int
    owed: dict[str, tuple[Any, ...]]


def open_store(where: str) -> Store:
    """Return the store of a folder, ``memory`` or ``postgresql://...`` (needs the extra `postgres`).

    Raises CorruptState, OtherFormat by another version; OSError, StoreAway if it cannot be opened now.
    """
    if is_database(where):
        from linkscore_server.store.postgres import PostgresEngine

        return Store(PostgresEngine(where))
    return Store(SqliteEngine(None if where == "memory" else Path(where) / FILE))


class Store:
    """All shards of an engine, with the secrets of the server. `writer`: its one thread that writes."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.writer = Writer(engine)
        try:
            self._make_tables()
            self._erase_rests()
        except BaseException:
            self.close()
            raise

    def shards(self) -> list[str]:
        """Return the keys of all shards, sorted."""
        return sorted(key for (key,) in self.engine.rows(schema.SHARDS))

    def number_of(self, key: str) -> int | None:
        """Return the number of a shard, None if there is none."""
        return next((number for (number,) in self.engine.rows(schema.SHARD_OF, (key,))), None)

    def create(self, key: str) -> StoredShard:
        """Return a new shard without events; Fenced if there is one of that name."""
        self.create_all({key: ()})
        return self.open(key)

    def create_all(
        self, firsts: Mapping[str, Sequence[NewEvent]], owner_of: Callable[[str], int] = lambda key: 0
    ) -> None:
        """Make shards with their first events, all or none; Fenced if there is one of such a name.

        `owner_of` gives the number of the server that has it from then on; 0: who takes it.
        """
        numbers = {key: secrets.randbits(_NUMBER_BITS) for key in firsts}
        made = [(number, key, owner_of(key)) for key, number in numbers.items()]
        events = [
            (numbers[key], seq, 0, event.id, Codec(()).pack(_key(seq, "", event.id), event.body))
            for key, given in firsts.items()
            for seq, event in enumerate(given, 1)
        ]
        self.write([(schema.PUT_SHARD, made), (schema.PUT_EVENT, events)])

    def open(self, key: str) -> StoredShard:
        """Return a shard as of its last event.

        Raises KeyError if there is none; CorruptState if its events do not count 1, 2, ...
        """
        if (number := self.number_of(key)) is None:
            raise KeyError(key)
        return StoredShard(self, number, key)

    def delete(self, *keys: str) -> None:
        """Erase shards, all or none: nobody can write to them. Their events are erased beside commits."""
        numbers = [row for key in keys for row in self.engine.rows(schema.SHARD_OF, (key,))]
        self.write([(sql, numbers) for sql in schema.DELETE_SHARD])
        for (number,) in numbers:
            self._erase_events(number)

    def rename(self, names: Mapping[str, str]) -> None:
        """Give shards that nobody has open other names, all or none; Fenced if there is such a one."""
        self.write([(schema.RENAME_SHARD, [(new, old) for old, new in names.items()])])

    def secret(self, name: str = "tickets") -> bytes:
        """Return 32 bytes that are the same at every call and for all processes."""
        found = self.engine.rows(schema.KEY_OF, (name,))
        if not found:
            made = (name, pack(name.encode(), secrets.token_bytes(SECRET_BYTES)))
            self.write([(schema.PUT_KEY, [made])])
            found = self.engine.rows(schema.KEY_OF, (name,))
        try:
            return unpack(name.encode(), found[0][0])
        except CorruptState as exc:
            raise CorruptState(f"{self.engine.place}: the secret {name!r} is damaged") from exc

    def disk_bytes(self, key: str) -> int:
        """Return about what a shard takes: its events and states, without indexes; reads all of them."""
        number = self.number_of(key)
        return sum(int(size) for (size,) in self.engine.rows(schema.SHARD_BYTES, (number, number)))

    def close(self) -> None:
        """Write what is owed, and let go of the database."""
        self.writer.close()
        self.engine.close()

    def write(self, statements: Statements) -> None:
        """Execute statements in one transaction, between commits of events; errors as of `Session.commit`."""
        self.writer.call(lambda session: session.commit(statements)).result()

    def _make_tables(self) -> None:
        try:
            found = self.engine.rows(schema.FORMAT_OF)
        except OSError:  # there is none
            tables = [sql.format(blob=self.engine.blob) for sql in schema.TABLES]
            made = [(sql, [()]) for sql in (*tables, *self.engine.setup)]
            with closing(self.engine.session()) as session, suppress(Fenced):  # another process makes them
                session.commit([*made, (schema.PUT_FORMAT, [(schema.FORMAT,)])])
            found = self.engine.rows(schema.FORMAT_OF)
        if found != [(schema.FORMAT,)]:
            raise OtherFormat(
                f"{self.engine.place}: of format {found[0][0] if found else 'unknown'}, this version of "
                f"linkscore reads {schema.FORMAT}: use the version that wrote it, or name another place"
            )

    def _erase_rests(self) -> None:
        """Erase events of crawls whose deletion a crash cut short."""
        known = self.engine.rows(schema.SHARD_IDS)
        for (number,) in set(self.engine.rows(schema.SHARDS_WITH_EVENTS)).difference(known):
            self._erase_events(number)

    def _erase_events(self, number: int) -> None:
        """Erase some events of a shard and come again, so that commits of others go between."""

        def erase(session: Session) -> None:
            first = self.engine.rows(schema.FIRST_SEQ, (number,))[0][0]
            if first is not None:
                upto = first + _DELETED_AT_ONCE - 1
                session.commit([(schema.DELETE_EVENTS, [(number, upto)])])
                self._erase_events(number)

        with suppress(StoreAway):  # it is closed; the next one goes on
            self.writer.call(erase)


class StoredShard:
    """The events of one shard, and the newest states of its sites.

    `number`: what no other one has, also of its name. `is_away`: it is not known what is in the store, or
    another process has the shard: it is to be opened again.
    """

    def __init__(self, store: Store, number: int, key: str) -> None:
        self.store, self._engine, self.number, self.key = store, store.engine, number, key
        self.is_away = False
        rows = self._engine.rows
        self.last_seq: int = rows(schema.LAST_SEQ, (number,))[0][0] or 0
        self._numbers: dict[str, int] = {name: site for site, name in rows(schema.SITE_NAMES, (number,))}
        self._names = {site: name for name, site in self._numbers.items()} | {0: ""}
        self._codec = Codec((n, bytes(body)) for n, body in rows(schema.DICTIONARIES, (number,)))
        self._owed: dict[str, tuple[Any, ...]] = {}  # by site; that of no site is the core
        self._lock = threading.Lock()

    @property
    def is_erased(self) -> bool:
        """Whether the store has it no more; asks the database."""
        return self.store.number_of(self.key) != self.number

    # -- writing -----------------------------------------------------------------------------------------

    def commit(self, events: Sequence[NewEvent]) -> Future[int]:
        """Append events, all or none; the result, once they survive a crash, is the number of the first.

        It raises OSError if none is in and more may be tried, StoreAway if that is not known, Fenced.
        """
        if self.is_away:
            raise StoreAway(f"crawl {self.key!r}: the store was away, the crawl is opened again")
        return self.store.writer.submit(_Append(self, events, Future()))

    def put(self, rows: Iterable[SiteRow] = (), core: Core | None = None) -> None:
        """Keep states of sites, and what the shard knows beside them, with the next commit and in one of it.

        What was put and is not written yet is given up when the shard is away: its events say the same.
        """
        packed = {row.site: _packed(row) for row in rows}
        if core is not None:
            packed[""] = (core.seq, pack(_key("core", core.seq), core.state))
        with self._lock:
            if self.is_away:
                return
            self._owed |= packed
        self.store.writer.owes(self)

    def flush(self) -> Future[None]:
        """Write what was put; the result says that it survives a crash."""
        return self.store.writer.flush(self)

    def batch(self, events: Sequence[NewEvent]) -> Batch:
        """Return what a commit writes: events and what is owed. For the writer's thread."""
        rows: dict[str, list[tuple[Any, ...]]] = {sql: [] for sql in schema.ORDER}
        numbers: dict[str, int] = {"": 0}
        for seq, event in enumerate(events, self.last_seq + 1):
            site, id = self._number_of(event.site, numbers), event.id.replace("\0", "\ufffd")
            body = self._codec.pack(_key(seq, event.site, id), event.body)
            rows[schema.PUT_EVENT].append((self.number, seq, site, id, body))
        rows[schema.NEW_SITE] += [
            (self.number, site, name, b"", b"") for name, site in numbers.items() if site
        ]
        with self._lock:
            owed = dict(self._owed)
        for name, row in owed.items():
            if name:
                rows[schema.PUT_SITE].append((self.number, self._number_of(name, numbers), name, *row))
            else:
                rows[schema.PUT_CORE].append((self.number, *row))
        if trained := self._codec.take_trained():
            rows[schema.PUT_DICTIONARY].append((self.number, *trained))
        return Batch(self, rows, numbers, self.last_seq + len(events), owed)

    def written(self, batch: Batch) -> bool:
        """Take note of a commit; says whether nothing is owed any more. For the writer's thread."""
        self.last_seq = batch.last_seq
        self._numbers |= {name: number for name, number in batch.numbers.items() if number}
        self._names |= {number: name for name, number in batch.numbers.items()}
        if batch.rows[schema.PUT_DICTIONARY]:
            self._codec.use_trained()
        with self._lock:
            for name, row in batch.owed.items():
                if self._owed.get(name) is row:
                    del self._owed[name]
            return not self._owed

    def _number_of(self, name: str, new: dict[str, int]) -> int:
        number = self._numbers.get(name) or new.get(name)
        if number is None:
            number = new[name] = len(self._numbers) + len(new)
        return number

    # -- reading -----------------------------------------------------------------------------------------

    def core(self) -> Core | None:
        """Return what the shard knows beside its sites, None if it was never kept; errors as of `site`."""
        for seq, packed in self._engine.rows(schema.CORE, (self.number,)):
            with self._naming("core"):
                return Core(seq, unpack(_key("core", seq), packed))
        return None

    def sites(self) -> Iterator[SiteFacts]:
        """Yield the rows of all sites without their states, in the order in which sites came."""
        last = 0
        while page := self._engine.rows(schema.SITES, (self.number, last, _PAGE)):
            for site, name, seq, facts, size in page:
                with self._naming(f"facts of site {name!r}"):
                    known = unpack(_key("facts of", name, seq), facts) if seq else b""
                yield SiteFacts(name, seq, known, size)
                last = site

    def site(self, name: str) -> SiteRow | None:
        """Return a site's row, None if there is none; CorruptState names it if it is damaged."""
        number = self._numbers.get(name)
        for kept, seq, facts, state in self._engine.rows(schema.SITE, (self.number, number or -1)):
            if not seq:
                return SiteRow(kept, 0, b"", b"")
            with self._naming(f"state of site {name!r}"):
                facts = unpack(_key("facts of", kept, seq), facts)
                return SiteRow(kept, seq, facts, unpack(_key(kept, seq), state))
        return None

    def behind(self) -> dict[str, int]:
        """Return the sites with events of their own after their row, and how many."""
        return dict(self._engine.rows(schema.BEHIND, (self.number,)))

    def events(
        self, after: int = 0, site: str | None = None, until: int | None = None
    ) -> Iterator[StoredEvent]:
        """Yield events after `after`, up to and with `until`, in order; CorruptState names a damaged one."""
        last, end = after, _END if until is None else until
        number = None if site is None else self._numbers.get(site, -1)
        while page := self._engine.rows(*self._page(number, last, end)):
            for seq, about, id, packed in page:
                if number is None and seq != last + 1:
                    raise CorruptState(f"{self._place}: event {last + 1} is missing")
                with self._naming(f"event {seq}"):
                    name = self._name_of(about)
                    body = self._codec.unpack(_key(seq, name, id), packed)
                yield StoredEvent(seq, name, id, body)
                last = seq

    def ids(self, limit: int = 100_000) -> list[str]:
        """Return the last ids of events that have one, the oldest first."""
        found = self._engine.rows(schema.IDS, (self.number, limit))
        return [id for (id,) in reversed(found)]

    def _page(self, site: int | None, last: int, end: int) -> tuple[str, tuple[int, ...]]:
        if site is None:
            return schema.EVENTS, (self.number, last, end, _PAGE)
        return schema.EVENTS_OF_SITE, (self.number, site, last, end, self.number, last, end, _PAGE)

    def _name_of(self, number: int) -> str:
        if number not in self._names:  # another process has appended since
            self._names |= dict(self._engine.rows(schema.SITE_NAMES, (self.number,)))
        if number not in self._names:
            raise CorruptState("damaged: there is no such site")
        return self._names[number]

    @property
    def _place(self) -> str:
        return f"{self._engine.place}: crawl {self.key!r}"

    @contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        try:
            yield
        except CorruptState as exc:
            raise CorruptState(f"{self._place}: {what}: {exc}") from exc


def _packed(row: SiteRow) -> tuple[Any, ...]:
    facts = pack(_key("facts of", row.site, row.seq), row.facts)
    state = pack(_key(row.site, row.seq), row.state)
    return row.seq, facts, len(state), state


def _key(*parts: object) -> bytes:
    return " ".join(map(str, parts)).encode()
