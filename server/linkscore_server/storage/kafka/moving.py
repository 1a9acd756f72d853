"""Crawls move between files and brokers: the same events under the same numbers, and the newest snapshot.

Visits of browse logs do not: they are kept for a time, and in neither log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import AlreadyExists, NotFound
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.files import SITES_FILE, FileStore
from linkscore_server.storage.frames import unpack
from linkscore_server.storage.kafka.counts import Counts
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.sharing import SharedStates
from linkscore_server.storage.kafka.store import KafkaStore
from linkscore_server.storage.sites import SiteStates

_EVENTS_AT_ONCE = 256  # of one group, as the server bounds those it writes


def to_files(store: KafkaStore, crawl: str, files: FileStore) -> None:
    """Copy a crawl from brokers into a data folder; servers may go on with it meanwhile.

    Raises
    ------
    NotFound
        If the brokers have no such crawl.
    CorruptState
        If a record is damaged, naming topic and offset.
    LogAway
        If the brokers do not answer, or the crawl is being written anew.
    """
    store.check_in_place(crawl)
    topic = store.topics.log_of(crawl)
    if not (groups := store.topics.groups(crawl)):
        raise NotFound(f"crawl {crawl!r}: there is no topic {topic}")
    for shard in shards_of(crawl, groups):
        begin, end = _span(store, topic, shard.group)
        if not end.seq:
            raise NotFound(f"crawl {crawl!r}: {end.name} has no events, its creation was never acknowledged")
        log = files.open(shard.key)
        try:
            _append_all(log, frames_of(store, topic, shard.group, begin, end.offset))
        finally:
            log.close()
        SharedStates(
            files.crawl_folder(shard.key) / SITES_FILE, store.checkpoints(shard, end), Counts()
        ).close()


def to_brokers(files: FileStore, crawl: str, store: KafkaStore) -> None:
    """Copy a crawl from a data folder to brokers; one that fails is deleted there.

    The first group is copied last. If this process is killed meanwhile, what there is has to be deleted by
    hand: a server would take it for the crawl. The next try names it.

    Raises
    ------
    AlreadyExists
        If the brokers have a crawl of this name, saying how much of this one and in which topics.
    CorruptState
        If an event is damaged, or was cut from the log.
    LogAway
        If the brokers do not answer.
    """
    shards = sorted(shard for key in files.shards() if (shard := Shard.of(key)).crawl == crawl)
    if groups := store.topics.partitions(topic := store.topics.log_of(crawl)):
        there = sum(_span(store, topic, group)[1].seq for group in range(groups))
        raise AlreadyExists(
            f"crawl {crawl!r}: the brokers have one of this name, of {there} events; the one to be moved has "
            f"{sum(_events_of(files, shard) for shard in shards)}. If an import that was killed left it, "
            f"delete topics {topic} and {store.topics.states_of(crawl)}; else delete the crawl first"
        )
    try:
        for shard in reversed(shards):
            _to_brokers(files.open(shard.key), store.open(shard.key))
    except BaseException:
        store.delete(crawl)
        raise


def _to_brokers(source: CrawlLog, target: CrawlLog) -> None:
    try:
        _append_all(target, ([event] for _, event in source.read()))
        if source.states.seq:
            _copy_states(source.states, target.states)
            while not target.share():
                pass
    finally:
        source.close()
        target.close()


def _events_of(files: FileStore, shard: Shard) -> int:
    with closing(files.open(shard.key)) as log:
        return log.last_seq


def _copy_states(source: SiteStates, target: SiteStates) -> None:
    for place, (name, facts) in enumerate(source.sites()):
        target.put(place, name, facts, source.get(place))
        target.add(place, name, facts, source.changes(place))
    target.commit(source.seq, source.core())


def _span(store: KafkaStore, topic: str, partition: int) -> tuple[LogState, LogState]:
    """Return where the events that count begin, and where the log ends by now."""
    end = LogState(f"{topic} [{partition}]")
    begin = end.copy()
    for record in store.brokers.read(topic, partition, 0, store.brokers.end(topic, partition)):
        end.see(record)
        if not end.seq:  # also after a marker that voids all before
            begin = end.copy()
    return begin, end


def frames_of(
    store: KafkaStore, topic: str, partition: int, state: LogState, end: int
) -> Iterator[Sequence[bytes]]:
    """Yield the events that count, as they were appended together, from a state on up to an offset."""
    for record in store.brokers.read(topic, partition, state.offset, end):
        if (frame := state.see(record)) is not None:
            yield unpack(memoryview(record.value), frame)


def _append_all(log: CrawlLog, groups: Iterable[Sequence[bytes]]) -> None:
    """Append events in groups of some size, for each group is synced."""
    waiting: list[bytes] = []
    for events in groups:
        waiting += events
        if len(waiting) >= _EVENTS_AT_ONCE:
            log.append(waiting)
            waiting = []
    if waiting:
        log.append(waiting)
