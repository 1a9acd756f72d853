"""A crawl of a data folder regrouped: written beside it, group by group, and then put in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import CorruptState, InvalidInput, NotFound
from linkscore_server.regroup.events import Regrouping
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.cutting import cut_seq
from linkscore_server.storage.disk import ensure_folder, sync
from linkscore_server.storage.files import FileLog, FileStore, read_segments

_EVENTS_AT_ONCE = 256
"""A bound: events that share a sync, as the server bounds those it writes."""


def regroup(store: FileStore, crawl: str, groups: int) -> list[int]:
    """Divide a crawl of one group into several; returns how many events each group has.

    Killed half-way, the crawl is as it was, and the next call goes on where this one ended. Costs the disk
    the log once more while both are there. The snapshot goes: the next start replays the logs.

    Raises
    ------
    NotFound
        If the folder has no such crawl.
    InvalidInput
        If the crawl cannot have so many groups, see `Regrouping.divide`, or if its log was cut.
    CorruptState
        If an event is damaged, naming file and place.
    OSError
        If the disk is full; the next call goes on.
    """
    shards = [key for key in store.shards() if Shard.of(key).crawl == crawl]
    if not shards:
        raise NotFound(f"crawl {crawl!r}: not among the {len(store.crawls())} crawls of {store.folder}")
    if shards != [crawl]:
        raise InvalidInput(f"is {len(shards)} already, which is fixed", field="groups")
    if last := cut_seq(store.crawl_folder(crawl)):
        raise InvalidInput(
            f"must be 1: events 1 to {last} were cut from the log (keep_log = snapshots)", field="groups"
        )
    draft = store.folder / f"deleted-regroup-{crawl}"  # what is left goes with the next crawl that is deleted
    try:
        ends = _written(store.crawl_folder(crawl), draft, shards_of(crawl, groups))
    except (InvalidInput, CorruptState):
        shutil.rmtree(draft, ignore_errors=True)
        raise
    store.replace(crawl, draft)
    return ends


def _written(source: Path, draft: Path, shards: list[Shard]) -> list[int]:
    """Write what a draft lacks of all groups; returns the number of the last event of each."""
    if not _is_of(draft, source, len(shards)):
        shutil.rmtree(draft, ignore_errors=True)
    with ExitStack() as opened:
        logs = []
        for shard in shards:
            ensure_folder(folder := draft / shard.part)
            logs.append(opened.enter_context(closing(FileLog(folder))))
        _append(logs, Regrouping(len(shards)).divide((seq, raw) for _, _, seq, raw in read_segments(source)))
    for folder in (*(draft / shard.part for shard in shards), draft):
        sync(folder)
    return [log.last_seq for log in logs]


def _is_of(draft: Path, source: Path, groups: int) -> bool:
    """Say whether a draft that was left is of this crawl and of so many groups: by its first event."""
    first = next(Regrouping(groups).divide((seq, raw) for _, _, seq, raw in read_segments(source)), None)
    found = [next(read_segments(path), None) for path in draft.glob("*-of-*")]
    return first is not None and all(event is None or event[3] == first[2] for event in found)


def _append(logs: Sequence[CrawlLog], events: Iterator[tuple[int, int, bytes]]) -> None:
    """Append to each log the events that it lacks."""
    waiting: list[list[bytes]] = [[] for _ in logs]
    for group, seq, raw in events:
        if seq > logs[group].last_seq:
            waiting[group].append(raw)
            if len(waiting[group]) >= _EVENTS_AT_ONCE:
                _flush(logs[group], waiting[group])
    for log, left in zip(logs, waiting, strict=True):
        _flush(log, left)


def _flush(log: CrawlLog, waiting: list[bytes]) -> None:
    if waiting:
        log.append(waiting)
        waiting.clear()
