"""All crawls of a frontier: a folder of stores, what holds for the node as a whole, and the one writer."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import quote, unquote

from linkscore_frontier.store import MAX_GIVEN, CrawlStore, Given, State

T = TypeVar("T")

DEFAULT_CRAWL = "DEFAULT"
"""The crawl of calls that name none, as in URLFrontier."""

MAX_CRAWL_CHARS = 200
"""Characters of a crawl id, percent-encoded: what a file name takes."""

_MAX_CRAWLS = 100  # each has open files; the server's default
_DELAY_S = 1  # between two gifts of a queue, unless SetDelay says another number: that of URLFrontier


class TooManyCrawlsError(Exception):
    """There are as many crawls as there may be."""


class Crawls:
    """The crawls below a folder, `stores` in the order in which they take turns; all files are open.

    OSError if another process has the folder open, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "crawls"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self._node = folder / "node.json"
        node = json.loads(self._node.read_text()) if self._node.exists() else {}
        self.is_active: bool = node.get("active", True)
        self.delay_s: int = node.get("delay_s", _DELAY_S)
        files = sorted(self._folder.glob("*.sqlite"))
        self.stores = {unquote(file.name.removesuffix(".sqlite")): CrawlStore(file) for file in files}
        # SQLite is used by one thread: writes of all calls come one after the other anyway.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="frontier-writer")

    async def run(self, work: Callable[[], T]) -> T:
        """Do something with the stores, in their thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    async def ask(self, crawl: str, work: Callable[[CrawlStore], T]) -> T | None:
        """Do something with one store, in the thread of the stores; None if there is no such crawl."""
        return await self.run(lambda: work(self.stores[crawl]) if crawl in self.stores else None)

    def close(self) -> None:
        """Wait for what is being written, and close all files."""
        self._writer.shutdown()
        for store in self.stores.values():
            store.close()
        self._lock.close()

    # In the thread of the stores

    def open(self, crawl: str) -> CrawlStore:
        """Return the store of a crawl, made if there is none; TooManyCrawlsError if there may be no more."""
        store = self.stores.get(crawl)
        if store is None:
            if len(self.stores) >= _MAX_CRAWLS:
                raise TooManyCrawlsError(f"there are {_MAX_CRAWLS} crawls: delete one (DeleteCrawl)")
            store = self.stores[crawl] = CrawlStore(self._folder / f"{file_name(crawl)}.sqlite")
        return store

    def delete(self, crawl: str) -> int:
        """Delete a crawl; return how many of its URLs were not done."""
        store = self.stores.pop(crawl, None)
        if store is None:
            return 0
        active = store.count(State.WAITING, State.LATER, State.LEASED)
        store.erase()
        return active

    def take(
        self, crawls: list[str], *, queues: int, each: int, lease_s: int, now: float, key: str = ""
    ) -> list[tuple[str, Given]]:
        """Lease the best URLs of some crawls, which take turns in going first; see `CrawlStore.take`."""
        given: list[tuple[str, Given]] = []
        keys = 0
        for crawl in crawls:
            if (queues and keys >= queues) or len(given) >= MAX_GIVEN:
                break
            if (store := self.stores.get(crawl)) is None:
                continue
            left = queues - keys if queues else 0
            taken = store.take(queues=left, each=each, lease_s=lease_s, now=now, delay=self.delay_s, key=key)
            keys += len({one.key for one in taken})
            given += [(crawl, one) for one in taken]
            if len(crawls) > 1 and taken:
                self.stores[crawl] = self.stores.pop(crawl)  # last next time
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
