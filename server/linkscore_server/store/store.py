"""What a crawl asks of the store: append events, keep states, read both back. Blocks, from any thread."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from linkscore_scoring.errors import CorruptState, LinkscoreError
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
from linkscore_server.store.writer import Writer

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
            (numbers[key], seq, 0, event.id, Codec(()).pack(_event_key(seq, "", event.id), event.body))
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

    def space(self) -> tuple[int, int] | None:
        """Return free and all bytes of the disk; None: events go to none here."""
        return self.engine.space()

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
        known = {number for (number,) in self.engine.rows(schema.SHARD_IDS)}
        for (number,) in self.engine.rows(schema.SHARDS_WITH_EVENTS):
            if number not in known:
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

    # -- writing -----------------------------------------------------------------------------------------

    def commit(self, events: Sequence[NewEvent]) -> Future[int]:
        """Append events, all or none; the result, once they survive a crash, is the number of the first.

        It raises OSError if none is in and more may be tried, StoreAway if that is not known, Fenced.
        """
        if self.is_away:
            raise StoreAway(f"crawl {self.key!r}: the store was away, the crawl is opened again")
        return self.store.writer.append(self, events)

    def put(self, rows: Iterable[SiteRow] = (), core: Core | None = None) -> None:
        """Keep states of sites, and what the shard knows beside them, with the next commit and in one of it.

        What was put and is not written yet is given up when the shard is away: its events say the same.
        """
        packed = {row.site: _packed(row) for row in rows}
        if core is not None:
            packed[""] = (core.seq, pack(_core_key(core.seq), core.state))
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
            body = self._codec.pack(_event_key(seq, event.site, id), event.body)
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
                return Core(seq, unpack(_core_key(seq), packed))
        return None

    def sites(self) -> Iterator[SiteFacts]:
        """Yield the rows of all sites without their states, in the order in which sites came."""
        last = 0
        while page := self._engine.rows(schema.SITES, (self.number, last, _PAGE)):
            for site, name, seq, facts, size in page:
                with self._naming(f"facts of site {name!r}"):
                    known = unpack(_facts_key(name, seq), facts) if seq else b""
                yield SiteFacts(name, seq, known, size)
                last = site

    def site(self, name: str) -> SiteRow | None:
        """Return a site's row, None if there is none; CorruptState names it if it is damaged."""
        number = self._numbers.get(name)
        for kept, seq, facts, state in self._engine.rows(schema.SITE, (self.number, number or -1)):
            if not seq:
                return SiteRow(kept, 0, b"", b"")
            with self._naming(f"state of site {name!r}"):
                facts, state = unpack(_facts_key(kept, seq), facts), unpack(_row_key(kept, seq), state)
                return SiteRow(kept, seq, facts, state)
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
                    body = self._codec.unpack(_event_key(seq, name, id), packed)
                yield StoredEvent(seq, name, id, body)
                last = seq

    def ids(self, limit: int = 100_000) -> list[str]:
        """Return the last ids of events that have one, the oldest first."""
        found = self._engine.rows(schema.IDS, (self.number, limit))
        return [id for (id,) in reversed(found)]

    def _page(self, site: int | None, last: int, end: int) -> tuple[str, tuple[int, ...]]:
        if site is None:
            return schema.EVENTS, (self.number, last, end, _PAGE)
        return schema.EVENTS_OF_SITE, (self.number, site, last, end, _PAGE)

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
    facts = pack(_facts_key(row.site, row.seq), row.facts)
    state = pack(_row_key(row.site, row.seq), row.state)
    return row.seq, facts, len(state), state


def _core_key(seq: int) -> bytes:
    return b"core %d" % seq


def _event_key(seq: int, site: str, id: str) -> bytes:
    return f"{seq} {site} {id}".encode()


def _facts_key(site: str, seq: int) -> bytes:
    return b"facts of " + _row_key(site, seq)


def _row_key(site: str, seq: int) -> bytes:
    return f"{site} {seq}".encode()
