"""Stores of annexes, by the scheme that `log` names: entry points of the group ``linkscore.stores``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from linkscore_server.settings import STORES, Settings
from linkscore_server.storage.base import CrawlLog, Store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.memory import MemoryStore

Write = Callable[[Sequence[CrawlLog], Sequence[CrawlLog]], None]
"""Writes the events of a crawl to logs without events, one for each group it is to have."""


class RemoteLogs(ABC):
    """Opens the store of a scheme, and moves crawls between it and a data folder.

    An entry point that bears the name of the scheme names a subclass, which is made without arguments. Its
    settings, under the same name in ``linkscore.settings``, are options of `linkscore data` too.
    """

    @abstractmethod
    def open(self, settings: Settings, owner: str) -> Store:
        """Open the store of checked settings; `owner` is what others call this process, for people.

        The metrics of the store are its `Store.collectors`.
        """

    @abstractmethod
    def to_files(self, store: Store, crawl: str, files: FileStore) -> None:
        """Copy a crawl from a store that `open` gave into a data folder."""

    @abstractmethod
    def from_files(self, files: FileStore, crawl: str, store: Store) -> None:
        """Copy a crawl from a data folder into a store that `open` gave."""

    @abstractmethod
    def rewrite(self, store: Store, crawl: str, groups: int, write: Write) -> list[int]:
        """Put logs of other groups in the place of those of a crawl; returns the events of each.

        Wherever it is killed, the crawl is as it was, or no server opens it until the next call ends.

        Raises
        ------
        NotFound
            If the store has no such crawl, or not one event of it.
        InvalidInput
            If it has these groups, or if this was begun with others and has to end with those.
        LimitExceeded
            If servers have the store open.
        """


def remote_logs(settings: Settings) -> RemoteLogs | None:
    """Return what opens the store that `log` names, None if events go into files; settings are checked."""
    scheme, colon, _ = settings.log.partition("://")
    if not colon:
        return None
    [entry] = entry_points(group=STORES, name=scheme)
    found: RemoteLogs = entry.load()()
    return found


def open_store(settings: Settings, owner: str) -> Store:
    """Open the store that settings describe."""
    if settings.data_dir == "memory":
        return MemoryStore()
    if (remote := remote_logs(settings)) is not None:
        return remote.open(settings, owner)
    return FileStore(Path(settings.data_dir), cuts=settings.keep_log == "snapshots")
