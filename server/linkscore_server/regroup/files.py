"""A crawl of a data folder regrouped: written beside it, group by group, and then put in its place."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import CorruptState, InvalidInput, NotFound
from linkscore_server.regroup.writing import write_divided
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.check import problems_of_crawl
from linkscore_server.storage.cutting import cut_seq
from linkscore_server.storage.disk import ensure_folder, sync
from linkscore_server.storage.files import FileLog, FileStore

_KNOWN = ("*.log", "sites.db*", "snapshot*", "cut*")
"""What the folder of a crawl holds that its log makes again."""


def regroup(store: FileStore, crawl: str, groups: int) -> list[int]:
    """Divide a crawl into so many groups, two or more; returns how many events each has.

    Killed half-way, the crawl is as it was, and the next call begins anew. Costs the disk the log once more
    while both are there. The snapshot goes: the next start replays the logs.

    Raises
    ------
    NotFound
        If the folder has no such crawl, or not one event of it.
    InvalidInput
        If the crawl cannot have so many groups, see `Regrouping.divide`, if its log was cut, or if its folder
        holds what no log makes again.
    CorruptState
        If an event is damaged or missing, naming file and place.
    OSError
        If the disk is full, or has not room for the log once more.
    """
    there = sorted(shard for shard in map(Shard.of, store.shards()) if shard.crawl == crawl)
    if not there:
        raise NotFound(f"crawl {crawl!r}: not among the {len(store.crawls())} crawls of {store.folder}")
    if lost := [shard.key for shard in shards_of(crawl, there[0].groups) if shard not in there]:
        raise CorruptState(f"crawl {crawl!r}: {store.folder} has no log of {', '.join(lost)}")
    if len(there) == groups:
        raise InvalidInput(f"is {groups} already", field="groups")
    shards = [shard.key for shard in there]
    _check_folders(store.crawl_folder(crawl), [store.crawl_folder(key) for key in shards], store.folder)
    draft = store.folder / f"deleted-regroup-{crawl}"  # killed, it goes with the next crawl that is deleted
    if draft.exists():
        shutil.rmtree(draft)
    try:
        with ExitStack() as opened:
            logs = [opened.enter_context(closing(store.open(key))) for key in shards]
            if not any(log.last_seq for log in logs):
                raise NotFound(f"crawl {crawl!r}: its log holds no event")
            ends = _written(logs, draft, shards_of(crawl, groups))
        if problem := next(problems_of_crawl(draft, crawl), ""):
            raise CorruptState(problem)
        store.replace(crawl, draft)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return ends


def _check_folders(crawl: Path, groups: Sequence[Path], data: Path) -> None:
    """Refuse a crawl that could not be made again from its logs, or for which the disk has no room."""
    for last in filter(None, map(cut_seq, groups)):
        rule = f"must stay: events 1 to {last} were cut from the log (keep_log = snapshots)"
        raise InvalidInput(rule, field="groups")
    for path in {path for folder in (crawl, *groups) for path in folder.iterdir()}.difference(groups):
        if not any(map(path.match, _KNOWN)):
            raise InvalidInput(f"must stay: {path} would be lost", field="groups")
    needed = sum(path.stat().st_size for folder in groups for path in folder.glob("*.log"))
    if needed > (free := shutil.disk_usage(data).free):
        raise OSError(errno.ENOSPC, f"the log takes {needed:,} bytes, {free:,} are free in {data}")


def _written(sources: Sequence[CrawlLog], draft: Path, shards: list[Shard]) -> list[int]:
    """Write the logs of all groups, durable; returns the number of the last event of each."""
    with ExitStack() as opened:
        logs = []
        for shard in shards:
            ensure_folder(folder := draft / shard.part)
            logs.append(opened.enter_context(closing(FileLog(folder))))
        write_divided(sources, logs)
    for folder in (*(draft / shard.part for shard in shards), draft):
        sync(folder)
    return [log.last_seq for log in logs]
