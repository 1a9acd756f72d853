"""What goes into the store and comes out of it, and what an engine has to do."""

from __future__ import annotations

import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import zstandard

from linkscore_scoring.errors import CorruptState, LinkscoreError

_LEVEL = 3  # of zstd, its default: of the prototype's events 6 gained 3% and cost twice the time
_DICTIONARY_BYTES, _TRAINED_ON = 48 << 10, 100
"""Of a dictionary, and events that it is trained on: of the first 640 pages of four sites an event takes
.9 to 1.7 KB. By one of 112 KB of 300 events 1.4 to 2.4, whose later ones are up to 18 % smaller. Measured."""
_LEAST_TRAINING_BYTES = 100_000
"""zstd refuses to train on less than some times the dictionary; then it is tried again with more. Chosen."""
_CRC_BYTES = 4  # of a CRC-32, by definition
_CONTEXTS = 16  # of zstd that are kept, each of some 1 MB, however many shards are open; chosen


class Codec:
    """Compresses the bodies of one shard. `pack` is for the one thread that writes, `unpack` for any.

    zstd's checksum tells damage of a body, the four bytes before it that the row is another one's.
    """

    def __init__(self, dictionaries: Iterable[tuple[int, bytes]] = ()) -> None:
        self._known = {number: zstandard.ZstdCompressionDict(body) for number, body in dictionaries}
        self._dictionary = next(iter(self._known.values()), None)
        self._is_trained = bool(self._known)
        self._samples: list[bytes] = []
        self._trained: zstandard.ZstdCompressionDict | None = None

    def pack(self, key: bytes, body: bytes) -> bytes:
        """Return an event as it is kept; `key` says whose it is."""
        if not self._is_trained:
            self._sample(body)
        return pack(key, body, self._dictionary)

    def unpack(self, key: bytes, packed: bytes) -> bytes:
        """Return an event that was kept; errors as of `unpack`."""
        try:
            number = zstandard.get_frame_parameters(packed).dict_id
            dictionary = self._known[number] if number else None
        except (zstandard.ZstdError, KeyError) as exc:
            raise CorruptState(f"damaged: {exc}") from exc
        return unpack(key, packed, dictionary)

    def take_trained(self) -> tuple[int, bytes] | None:
        """Return number and body of a dictionary that is to be kept before it is used, once it is trained."""
        trained = self._trained
        return (trained.dict_id(), trained.as_bytes()) if trained is not None else None

    def use_trained(self) -> None:
        """Compress with what `take_trained` gave: it is kept."""
        trained, self._trained = self._trained, None
        assert trained is not None
        self._known[trained.dict_id()] = trained
        self._dictionary = trained

    def _sample(self, body: bytes) -> None:
        self._samples.append(body)
        if len(self._samples) >= _TRAINED_ON and sum(map(len, self._samples)) >= _LEAST_TRAINING_BYTES:
            samples, self._samples, self._is_trained = self._samples, [], True
            threading.Thread(
                target=self._train, args=(samples,), name="linkscore-dictionary", daemon=True
            ).start()

    def _train(self, samples: list[bytes]) -> None:
        try:
            self._trained = zstandard.train_dictionary(_DICTIONARY_BYTES, [*samples], level=_LEVEL)
        except zstandard.ZstdError:  # they have nothing in common: without one, events only take more room
            return


def pack(key: bytes, body: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """Return bytes as they are kept; `key` says whose, and as of when they are."""
    return _compressor(threading.get_ident(), dictionary).compress(_crc(key) + body)


def unpack(key: bytes, packed: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """Return bytes that were kept; CorruptState if they are damaged or those of another key."""
    try:
        whole = _decompressor(threading.get_ident(), dictionary).decompress(packed)
    except zstandard.ZstdError as exc:
        raise CorruptState(f"damaged: {exc}") from exc
    if whole[:_CRC_BYTES] != _crc(key):
        raise CorruptState("damaged: the row does not fit what it says")
    return whole[_CRC_BYTES:]


@lru_cache(maxsize=_CONTEXTS)
def _compressor(thread: int, dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdCompressor:
    """Return one for a thread: two that share one end the process."""
    return zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary, write_checksum=True)


@lru_cache(maxsize=_CONTEXTS)
def _decompressor(
    thread: int, dictionary: zstandard.ZstdCompressionDict | None
) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=dictionary)


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CRC_BYTES)


_READERS = 4  # connections that are kept for reading; more are made while more read; chosen


class StoreAway(LinkscoreError):
    """The store cannot be reached, or did not say whether it took what it was given: open the shard again."""


class Fenced(StoreAway):
    """Another process has appended to the shard, and has these sites now, or has erased it."""


class NewEvent(NamedTuple):
    """An event to be appended."""

    site: str  # the site that it is about; empty: all of them
    id: str  # what tells a repeat of it from a new one; empty: nothing does
    body: bytes  # what it says


class StoredEvent(NamedTuple):
    """An event of a shard: as it was appended, with its number; events of a shard count 1, 2, ..."""

    seq: int
    site: str
    id: str
    body: bytes


class SiteRow(NamedTuple):
    """A site as of event `seq`: the events after it with its name, or none, are what changed it since."""

    site: str  # its name
    seq: int  # number of the last event that its state knows; 0: no state was written yet
    facts: bytes  # what is asked of a site that is not in memory
    state: bytes  # all that is known of it


class SiteFacts(NamedTuple):
    """A site's row without its state, whose bytes as written are `size` many."""

    site: str
    seq: int
    facts: bytes
    size: int


class Core(NamedTuple):
    """What a shard knows beside its sites, as of event `seq`."""

    seq: int
    state: bytes


Rows = Sequence[tuple[Any, ...]]
Statements = Sequence[tuple[str, Rows]]
"""SQL with `?` for values, and the rows of values that it is executed with."""


class Session(ABC):
    """A connection that writes. Its calls block; one thread uses it."""

    def __init__(self, engine: Engine, con: Any) -> None:
        self._engine, self._con = engine, con

    @abstractmethod
    def commit(self, statements: Statements) -> None:
        """Execute statements in one transaction; on return it survives a crash.

        Raises Fenced if a key is there already: nothing is written; OSError if there is no room, or the disk
        failed: nothing is written; StoreAway if it is not known whether it is written.
        """

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._engine.asked(self._con, sql, values)

    def interrupt(self) -> None:
        """End what the thread waits for, from another one."""
        self._con.interrupt()

    def close(self) -> None:
        """Let go of the connection, and of the locks that it holds."""
        self._con.close()


class Engine(ABC):
    """A database, read by connections that are kept. Its calls block, from any thread.

    `blob`: its type of bytes. `setup`: statements that follow those of the tables. `is_shared`: whether other
    servers have shards in it.
    """

    blob = "BLOB"
    setup: tuple[str, ...] = ()
    is_shared = False

    def __init__(self, place: str) -> None:
        self.place = place
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    @abstractmethod
    def session(self) -> Session:
        """Return a connection that writes; OSError, StoreAway if there is none now."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; CorruptState if damaged, OSError, StoreAway if it cannot be read."""
        with self._lock:
            con = self._idle.pop() if self._idle else None
        if con is not None:
            with suppress(StoreAway):  # it was ended while it lay idle
                return self._found(con, sql, values)
        return self._found(self._connected(), sql, values)

    def _found(self, con: Any, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            found = self.asked(con, sql, values)
        except BaseException:
            con.close()
            raise
        with self._lock:
            if len(self._idle) < _READERS:
                self._idle.append(con)
                return found
        con.close()
        return found

    @abstractmethod
    def asked(self, con: Any, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query by a connection."""

    @abstractmethod
    def _connected(self) -> Any:
        """Return a connection that reads."""

    def space(self) -> tuple[int, int] | None:
        """Return free and all bytes of its disk; None if that is not here."""
        return None

    def problems(self) -> list[str]:
        """Return what the engine itself finds damaged."""
        return []

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            closing, self._idle = self._idle, []
        for con in closing:
            con.close()
