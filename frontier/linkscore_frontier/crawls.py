"""All crawls of a frontier: a folder of stores, what holds for the node as a whole, and the one writer.

A store takes three descriptors and the memory of its queues, so only those used of late are open; of the
others what they hold is remembered as counts.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import quote, unquote

from linkscore_frontier.records import Given, Summary
from linkscore_frontier.store import MAX_GIVEN, MAX_GIVEN_BYTES, CrawlStore

T = TypeVar("T")

DEFAULT_CRAWL = "DEFAULT"
"""The crawl of calls that name none, as in URLFrontier."""

MAX_CRAWL_CHARS = 200
"""Characters of a crawl id, percent-encoded: what a file name takes."""

# Seconds between two gifts of a queue, unless SetDelay says another number: that of URLFrontier.
_DELAY_S = 1


MAX_OPEN = 64
"""Crawls whose files are open at a time: 192 descriptors of the usual 1,024. A bound."""


class TooManyCrawlsError(Exception):
    """There are as many crawls as there may be."""


class Crawls:
    """The crawls below a folder.

    Parameters
    ----------
    folder
        Made if it is not there; one process at a time may have it open.
    max_crawls
        Crawls there may be; those that are there already are kept.
    max_open
        Crawls whose files are open at a time.

    Raises
    ------
    OSError
        Another process has the folder open, or it cannot be written.
    """

    def __init__(self, folder: Path, *, max_crawls: int = 1_000, max_open: int = MAX_OPEN) -> None:
        self._max_crawls, self._max_open = max_crawls, max_open
        self._folder = folder / "crawls"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self._node = folder / "node.json"
        node = json.loads(self._node.read_text()) if self._node.exists() else {}
        self.is_active: bool = node.get("active", True)
        self.delay_s: int = node.get("delay_s", _DELAY_S)
        self._summaries: dict[str, Summary] = {}  # of each crawl, in the order in which they take turns
        self._open: dict[str, CrawlStore] = {}  # the one used last at the end
        for path in sorted(self._folder.glob("*.sqlite")):
            name = unquote(path.name.removesuffix(".sqlite"))
            self._summaries[name] = Summary()
            self._summaries[name] = self._opened(name).summary()
        # SQLite is used by one thread: writes of all calls come one after the other anyway.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="frontier-writer")

    async def run(self, work: Callable[[], T]) -> T:
        """Do something with the stores, in their thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    async def ask(self, crawl: str, work: Callable[[CrawlStore], T]) -> T | None:
        """Do something with one store, in the thread of the stores; None if there is no such crawl."""

        def ask() -> T | None:
            store = self.find(crawl)
            return None if store is None else work(store)

        return await self.run(ask)

    def all(self) -> dict[str, Summary]:
        """Return what each crawl holds, in the order in which they take turns."""
        return {
            name: store.summary() if (store := self._open.get(name)) else summary
            for name, summary in list(self._summaries.items())
        }

    def __contains__(self, crawl: str) -> bool:
        """Say whether there is such a crawl."""
        return crawl in self._summaries

    def busy(self) -> list[str]:
        """Return the crawls with URLs linkscore was not asked about, or failures it was not told of."""
        known = ((name, self._open.get(name) or summary) for name, summary in list(self._summaries.items()))
        return [name for name, what in known if what.new or what.failures]

    def close(self) -> None:
        """Wait for what is being written, and close all files."""
        self._writer.shutdown()
        for store in self._open.values():
            store.close()
        self._lock.close()

    # In the thread of the stores

    def names(self) -> list[str]:
        """Return the ids of crawls that have queues."""
        return sorted(name for name, summary in self.all().items() if summary.queues)

    def find(self, crawl: str) -> CrawlStore | None:
        """Return the store of a crawl, if there is one; good until the next is asked for."""
        return self._opened(crawl) if crawl in self._summaries else None

    def open(self, crawl: str) -> CrawlStore:
        """Return the store of a crawl, made if there is none; good until the next is asked for.

        Raises
        ------
        TooManyCrawlsError
            There is none, and there may be no more.
        """
        if crawl not in self._summaries and len(self._summaries) >= self._max_crawls:
            raise TooManyCrawlsError(f"max_crawls: there are {len(self._summaries)} crawls, no more are made")
        store = self._opened(crawl)
        self._summaries.setdefault(crawl, Summary())
        return store

    def _opened(self, crawl: str) -> CrawlStore:
        store = self._open.pop(crawl, None)
        if store is None:
            while len(self._open) >= self._max_open:
                self._close(next(iter(self._open)))
            store = CrawlStore(self._folder / f"{file_name(crawl)}.sqlite")
        self._open[crawl] = store
        return store

    def _close(self, crawl: str) -> None:
        store = self._open.pop(crawl)
        self._summaries[crawl] = store.summary()
        store.close()

    def delete(self, crawl: str) -> int:
        """Delete a crawl; return how many of its URLs were not done."""
        store = self.find(crawl)
        if store is None:
            return 0
        active = store.summary().active
        del self._summaries[crawl], self._open[crawl]
        store.erase()
        return active

    def turns(self, may_take: Callable[[str], bool]) -> list[str]:
        """Return the crawls with URLs that a call for any takes from: as many as can be open."""
        able = (name for name, summary in self.all().items() if summary.active and may_take(name))
        return list(islice(able, self._max_open))

    def take(
        self, crawls: list[str], *, queues: int, each: int, lease_s: int, now: float, key: str = ""
    ) -> list[tuple[str, Given]]:
        """Lease the best URLs of some crawls, which take turns in going first; see `CrawlStore.take`."""
        given: list[tuple[str, Given]] = []
        keys, room = 0, MAX_GIVEN_BYTES
        for crawl in crawls:
            if (queues and keys >= queues) or len(given) >= MAX_GIVEN or room <= 0:
                break
            store = self.find(crawl)
            if store is None:
                continue
            left = queues - keys if queues else 0
            taken = store.take(
                queues=left, each=each, lease_s=lease_s, now=now, delay=self.delay_s, key=key, room=room
            )
            keys += len({one.key for one in taken})
            room -= sum(one.size for one in taken)
            given += [(crawl, one) for one in taken]
            if len(crawls) > 1 and (taken or len(crawls) == self._max_open):
                self._summaries[crawl] = self._summaries.pop(crawl)  # last next time
        return given

    def set_node(self, *, is_active: bool | None = None, delay_s: int | None = None) -> None:
        """Set what holds for all crawls; on the disk when it returns."""
        self.is_active = self.is_active if is_active is None else is_active
        self.delay_s = self.delay_s if delay_s is None else delay_s
        fresh = self._node.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump({"active": self.is_active, "delay_s": self.delay_s}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._node)


def file_name(crawl: str) -> str:
    """Return the name of the file of a crawl, without its suffix; one of over `MAX_CRAWL_CHARS` is none."""
    return quote(crawl, safe="")


def _locked(path: Path) -> IO[str]:
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        file.close()
        raise OSError(f"{path.parent}: another frontier has it open") from exc
    return file
