"""A store in memory: for tests, and for crawls that need not survive."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from linkscore_scoring.engine.groups import Shard
from linkscore_server.storage.base import CrawlLog, Snapshot, Store, T
from linkscore_server.storage.sites import SiteStates


class MemoryLog(CrawlLog):
    """Keeps the number of the last event and no events: nothing in this process can read them again."""

    def __init__(self, *, keep: bool = False) -> None:
        self._events: list[bytes] | None = [] if keep else None
        self._snapshot: Snapshot | None = None
        self.states = SiteStates()

    def append(self, events: Sequence[bytes]) -> None:
        """See `CrawlLog.append`."""
        self.last_seq += len(events)
        if self._events is not None:
            self._events += events

    def read(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """See `CrawlLog.read`."""
        yield from enumerate((self._events or [])[after:], start=after + 1)

    def save(self, snapshot: Snapshot) -> int:
        """See `CrawlLog.save`."""
        self._snapshot = snapshot
        return 0

    def snapshot(self) -> Snapshot | None:
        """See `CrawlLog.snapshot`."""
        return self._snapshot

    def close(self) -> None:
        """See `CrawlLog.close`; what was evicted since the last cut is forgotten, as a file would."""
        self.states.roll_back()


class MemoryStore(Store):
    """Logs by shard; with `keep` the events can be read again by whoever holds the store."""

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = self.is_durable = keep
        self._logs: dict[str, MemoryLog] = {}
        self._beside: dict[str, dict[str, Any]] = {}
        self._key = secrets.token_bytes(32)

    def shards(self) -> list[str]:
        """See `Store.shards`."""
        return sorted(self._logs)

    def open(self, shard: str) -> CrawlLog:
        """See `Store.open`."""
        return self._logs.setdefault(shard, MemoryLog(keep=self._keep))

    def delete(self, crawl: str) -> None:
        """See `Store.delete`."""
        for key in [key for key in self._logs if crawl in (key, Shard.of(key).crawl)]:
            self._logs.pop(key, None)
            self._beside.pop(key, None)

    def beside(self, shard: str, name: str, kept: Callable[[Path | None], T]) -> T:
        """See `Store.beside`."""
        there = self._beside.setdefault(shard, {})
        if name not in there:
            there[name] = kept(None)
        found: T = there[name]
        return found

    def ticket_key(self) -> bytes:
        """See `Store.ticket_key`."""
        return self._key
