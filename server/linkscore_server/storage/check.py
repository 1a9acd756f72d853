"""What is wrong with a data folder: everything is read, nothing is changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, decode
from linkscore_scoring.engine.groups import MAX_GROUPS, Shard, shards_of
from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_server.plugins import external_services
from linkscore_server.residency import MemoryBudget, ResidentCrawl
from linkscore_server.storage.cutting import cut_seq, kept_segments
from linkscore_server.storage.files import (
    SITES_FILE,
    TICKET_KEY_LOST,
    FileStore,
    read_segments,
    read_snapshot,
    shards_in,
    snapshots_of,
)
from linkscore_server.storage.formats import SNAPSHOT, TICKET_KEY, unreadable
from linkscore_server.storage.frames import frames
from linkscore_server.storage.secret_files import read_secret
from linkscore_server.storage.sites import reading_copy

_ONE_SITE = MemoryBudget(0)
"""No site stays in memory: a crawl may have more than find room."""


def problems_of_store(store: FileStore) -> Iterator[str]:
    """Yield what is wrong with a data folder, one line a place: secret, logs, snapshots, visits."""
    try:
        if (key := store.folder / TICKET_KEY.path).exists():
            read_secret(key, TICKET_KEY_LOST)
    except CorruptState as exc:
        yield str(exc)
    for crawl in store.crawls():
        yield from problems_of_crawl(store.crawl_folder(crawl), crawl)


def cut_of_crawl(folder: Path) -> str:
    """Say what was cut from the logs of a crawl, empty if nothing was."""
    lasts = [last for _, path in shards_in(folder, folder.name) if (last := cut_seq(path))]
    cuts = " and ".join(f"events 1 to {last:,}" for last in lasts)
    return f"{cuts} were cut from its log; it cannot be rebuilt without a snapshot" if cuts else ""


def problems_of_crawl(folder: Path, crawl: str) -> Iterator[str]:
    """Yield what is wrong with the folder of one crawl, all groups of its sites."""
    try:
        with naming(folder):
            found = list(shards_in(folder, crawl))
            missing = _missing(key for key, _ in found)
    except CorruptState as exc:
        yield str(exc)
        return
    if missing:
        yield f"{folder}: group {missing} is missing"
    for _, path in found or [("", folder)]:
        yield from _problems_of_shard(path, crawl)


def events_of_crawl(folder: Path, crawl: str) -> int:
    """Return how many events the logs of a sound crawl hold, those that were cut from them counted."""
    return sum(_last_seq(path) for _, path in shards_in(folder, crawl))


def _last_seq(folder: Path) -> int:
    """Return the number of the last event of a log; reads its last segment."""
    for path in kept_segments(folder)[-1:]:
        found = deque(frames(memoryview(path.read_bytes()), str(path), is_last=True), maxlen=1)
        return found[0].last_seq if found else int(path.stem) - 1
    return cut_seq(folder)


def _missing(keys: Iterable[str]) -> str:
    """Return a group that should be there beside the others, empty if none is missing."""
    shards = [Shard.of(key) for key in keys]
    if most := max((shard.groups for shard in shards if shard.groups > MAX_GROUPS), default=0):
        raise CorruptState(f"has a folder of {most:,} groups, at most {MAX_GROUPS} can be")
    wanted = {shard.part for one in shards for shard in shards_of(one.crawl, one.groups)}
    return min(wanted - {one.part for one in shards}, default="")


def _problems_of_shard(folder: Path, crawl: str) -> Iterator[str]:
    try:
        with naming(folder):
            last_seq = _read_log(folder, crawl)
            _check_cut(folder)
            for path in snapshots_of(folder):
                with naming(path):
                    _read_snapshot(path, last_seq)
            _read_sites(folder / SITES_FILE, last_seq)
    except CorruptState as exc:
        yield str(exc)
    for services in external_services():
        yield from services.problems(folder)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name what cannot be read: a file that fits its checksum may still hold anything, as of an archive."""
    try:
        yield
    except (CorruptState, OSError):
        raise
    except Exception as exc:  # of every library and every state that is read here
        raise CorruptState(f"{path}: cannot be read: {type(exc).__name__}: {exc}") from exc


def _read_log(folder: Path, crawl: str) -> int:
    """Read every event and return the number of the last one."""
    last = cut_seq(folder)
    for path, offset, seq, raw in read_segments(folder):
        try:
            event = decode(raw)
        except CorruptState as exc:
            raise unreadable(f"{path} at offset {offset}", seq, exc) from exc
        if isinstance(event, ConfigChanged) and event.config.get("name") != crawl:
            own = event.config.get("name")
            raise CorruptState(
                f"{path} at offset {offset}: the log of crawl {own!r} in the folder of {crawl!r}"
            )
        last = seq
    return last


def _check_cut(folder: Path) -> None:
    """Raise CorruptState if what was cut from the log is in no snapshot."""
    last = cut_seq(folder)
    sound = [found for path in snapshots_of(folder) if (found := read_snapshot(path))]
    if last and all(snapshot.seq < last for snapshot in sound):
        raise CorruptState(
            f"{folder}: events 1 to {last} were cut from the log, and no sound snapshot has them"
        )


def _read_snapshot(path: Path, last_seq: int) -> None:
    snapshot = read_snapshot(path)
    if snapshot is None:
        raise CorruptState(f"{path}: damaged, or not of format {SNAPSHOT.number}{_else_in_log(path)}")
    if snapshot.seq > last_seq:
        raise CorruptState(f"{path}: knows event {snapshot.seq}, the log ends with {last_seq}")
    try:
        state = msgpack.unpackb(snapshot.state, strict_map_key=False)
        CrawlModel(CrawlConfig.from_state(state["config"]), ticket_key=b"").load_state(state)
    except (LinkscoreError, ValueError, LookupError, TypeError) as exc:
        raise CorruptState(f"{path}: cannot be read: {exc}{_else_in_log(path)}") from exc


def _read_sites(path: Path, last_seq: int) -> None:
    if not path.exists():
        return
    try:
        with reading_copy(path) as states:
            if states.seq > last_seq:
                raise CorruptState(f"knows event {states.seq}, the log ends with {last_seq}")
            if states.seq:
                core = msgpack.unpackb(states.core(), strict_map_key=False)
                config = CrawlConfig.from_state(core["config"])
                model = ResidentCrawl(config, ticket_key=b"", store=states, budget=_ONE_SITE)
                model.load_core(core, states.sites())
                for name in model.sites:
                    model.shard(name)
    except (LinkscoreError, ValueError, LookupError, TypeError) as exc:
        raise CorruptState(f"{path}: cannot be read: {exc}{_else_in_log(path)}") from exc


def _else_in_log(snapshot: Path) -> str:
    return "" if cut_seq(snapshot.parent) else "; the log has all it holds"
