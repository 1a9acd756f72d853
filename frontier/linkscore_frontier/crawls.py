"""All crawls of a frontier: a folder of stores, what holds for the node as a whole, and the one writer."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import quote, unquote

from linkscore_frontier.records import Given
from linkscore_frontier.store import MAX_GIVEN, CrawlStore

T = TypeVar("T")

DEFAULT_CRAWL = "DEFAULT"
"""The crawl of calls that name none, as in URLFrontier."""

MAX_CRAWL_CHARS = 200
"""Characters of a crawl id, percent-encoded: what a file name takes."""

# Seconds between two gifts of a queue, unless SetDelay says another number: that of URLFrontier.
_DELAY_S = 1


class Crawls:
    """The crawls below a folder.

    Parameters
    ----------
    folder
        Made if it is not there; one process at a time may have it open.

    Raises
    ------
    OSError
        Another process has the folder open, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "crawls"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self._node = folder / "node.json"
        node = json.loads(self._node.read_text()) if self._node.exists() else {}
        self.is_active: bool = node.get("active", True)
        self.delay_s: int = node.get("delay_s", _DELAY_S)
        self._stores = {
            unquote(path.name.removesuffix(".sqlite")): CrawlStore(path)
            for path in sorted(self._folder.glob("*.sqlite"))
        }
        # SQLite is used by one thread: writes of all calls come one after the other anyway.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="frontier-writer")

    async def run(self, work: Callable[[], T]) -> T:
        """Do something with the stores, in their thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    def close(self) -> None:
        """Wait for what is being written, and close all files."""
        self._writer.shutdown()
        for store in self._stores.values():
            store.close()
        self._lock.close()

    # In the thread of the stores

    def names(self) -> list[str]:
        """Return the ids of crawls that have queues."""
        return sorted(name for name, store in self._stores.items() if store.queues)

    def find(self, crawl: str) -> CrawlStore | None:
        """Return the store of a crawl, if there is one."""
        return self._stores.get(crawl)

    def stores(self) -> Iterator[tuple[str, CrawlStore]]:
        """Give id and store of each crawl."""
        yield from list(self._stores.items())

    def open(self, crawl: str) -> CrawlStore:
        """Return the store of a crawl, made if there is none.

        Raises
        ------
        ValueError
            The id is too long.
        """
        store = self._stores.get(crawl)
        if store is None:
            name = quote(crawl, safe="")
            if len(name) > MAX_CRAWL_CHARS:
                raise ValueError(f"crawlID must have at most {MAX_CRAWL_CHARS} characters, got {len(name)}")
            store = self._stores[crawl] = CrawlStore(self._folder / f"{name}.sqlite")
        return store

    def delete(self, crawl: str) -> int:
        """Delete a crawl; return how many of its URLs were not done."""
        store = self._stores.pop(crawl, None)
        if store is None:
            return 0
        active = sum(queue.active for queue in store.queues.values())
        store.erase()
        return active

    def take(
        self, crawls: list[str], *, queues: int, each: int, lease_s: int, now: float, key: str = ""
    ) -> list[tuple[str, Given]]:
        """Lease the best URLs of some crawls, which take turns in going first; see `CrawlStore.take`."""
        given: list[tuple[str, Given]] = []
        keys = 0
        for crawl in crawls:
            store = self._stores.get(crawl)
            if store is None or (queues and keys >= queues) or len(given) >= MAX_GIVEN:
                continue
            left = queues - keys if queues else 0
            taken = store.take(queues=left, each=each, lease_s=lease_s, now=now, delay=self.delay_s, key=key)
            keys += len({one.key for one in taken})
            given += [(crawl, one) for one in taken]
            if taken and len(crawls) > 1:
                self._stores[crawl] = self._stores.pop(crawl)  # last next time
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


def _locked(path: Path) -> IO[str]:
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        file.close()
        raise OSError(f"{path.parent}: another frontier has it open") from exc
    return file
