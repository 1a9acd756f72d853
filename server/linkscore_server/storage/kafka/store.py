"""All crawls of a cluster of brokers; a data folder has copies of visits, and what is derived from logs."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient
from prometheus_client.registry import Collector

from linkscore_scoring.engine.events import ConfigChanged, decode
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.base import CrawlLog, LogAway, Store, T
from linkscore_server.storage.disk import ensure_folder
from linkscore_server.storage.files import SITES_FILE, FileStore, open_states
from linkscore_server.storage.frames import unpack
from linkscore_server.storage.kafka.brokers import Brokers
from linkscore_server.storage.kafka.checkpoints import OnBrokers
from linkscore_server.storage.kafka.counts import Counts
from linkscore_server.storage.kafka.files import FilesOnBrokers
from linkscore_server.storage.kafka.log import EVENTS_A_PLACE, KafkaLog
from linkscore_server.storage.kafka.records import LogState, Marker
from linkscore_server.storage.kafka.sharing import SharedStates
from linkscore_server.storage.kafka.snapshots import Checkpoints, SnapshotPlace
from linkscore_server.storage.kafka.topics import Topics
from linkscore_server.storage.secret_files import new_secret, secret_in
from linkscore_server.storage.sites import SiteStates

_CHECKED_FOR_S = 60.0
"""How long settings of a topic are taken for what they were: a takeover opens many groups of it. Chosen."""

_log = logging.getLogger(__name__)


class KafkaStore(Store):
    """Logs on brokers. Opening one takes it over from any other server that has it open.

    Parameters
    ----------
    brokers
        The cluster; closed with the store.
    topics
        Those of this server.
    files
        The data folder: states of sites, which are derived, and copies of visits of browse logs.
    owner
        What others call this process, for people.
    snapshots
        Keeps snapshots of the states of sites, for whoever takes a log over.

    Raises
    ------
    CorruptState
        If the data folder has logs of its own: which of the two is true nobody could say.
    """

    appends_at_once = 32
    """Each append waits for replicas, some milliseconds, and takes no processor meanwhile. Chosen."""
    opens_at_once = 6
    """Opening a log waits for brokers most of the time, unless events are replayed. Chosen."""
    places_apart = EVENTS_A_PLACE
    """See `KafkaLog`."""

    def __init__(
        self,
        brokers: Brokers,
        topics: Topics,
        files: FileStore,
        owner: str,
        snapshots: SnapshotPlace | None = None,
    ) -> None:
        refuse_logs(files)
        self.brokers = brokers
        self.topics = topics
        self._files = files
        self._owner = owner
        self._snapshots = snapshots or OnBrokers()
        self._secret = b""
        self._checked_s: dict[str, float] = {}
        self._identities: dict[str, str] = {}
        self._kept: set[str] = set()
        self.counts = Counts()

    @classmethod
    def at(
        cls,
        hosts: str,
        folder: Path,
        *,
        properties: dict[str, str],
        prefix: str,
        replicas: int,
        owner: str,
        snapshots: SnapshotPlace | None = None,
    ) -> KafkaStore:
        """Return the store on brokers at ``host:port,host:port`` with a data folder."""
        brokers = Brokers(hosts, properties)
        admin = AdminClient(brokers.properties, logger=_log)
        topics = Topics(admin, prefix, replicas, partial(groups_in, brokers))
        return cls(brokers, topics, FileStore(folder), owner, snapshots)

    def checkpoints(self, shard: Shard, log: LogState) -> Checkpoints:
        """Return the checkpoints of a log."""
        return self._snapshots.of(self.brokers, self.topics.states_of(shard.crawl), shard.group, log)

    def shards(self) -> list[str]:
        """See `Store.shards`."""
        return sorted(shard.key for shard in self.topics.shards())

    def open(self, shard: str) -> CrawlLog:
        """See `Store.open`; the topic of its crawl is made if there is none.

        Raises
        ------
        LogAway
            If the brokers do not answer, or the crawl is being written anew.
        CorruptState
            If a record is damaged, or the settings of the topic of a new crawl may lose events. A crawl that
            has events is served on, and the log and a gauge say what is wrong: to refuse it would save none.
        """
        found = Shard.of(shard)
        self.check_in_place(found.crawl)
        topic = self.topics.log_of(found.crawl)
        self._ensure(topic, found.groups)
        states = self.topics.states_of(found.crawl)
        if 0 < self.topics.partitions(states) < found.groups:
            self.topics.delete(states)  # of a crawl of this name before, and derived
        self._ensure(states, found.groups)

        def states_of(log: LogState) -> SiteStates:
            return self._states(found, log)

        wrong = [problem for name in (topic, states) if (problem := self._problem(name))]
        log = KafkaLog(
            self.brokers,
            topic,
            found.group,
            owner=self._owner,
            states_of=states_of,
            counts=self.counts,
            places_apart=self.places_apart,
        )
        try:
            self.check_in_place(found.crawl)  # by whoever took the log just before
            if wrong and not log.last_seq:
                raise CorruptState(wrong[0])
        except BaseException:
            log.close()
            raise
        return log

    def check_in_place(self, crawl: str) -> None:
        """Raise `LogAway` if a crawl is being written anew, see `rewriting`: it may be half there."""
        if self.topics.partitions(self.topics.draft_of(crawl)):
            raise LogAway(
                f"crawl {crawl!r}: is being regrouped; if `linkscore data regroup` was ended, run it again"
            )

    def delete(self, crawl: str) -> None:
        """See `Store.delete`; the key of a shard among several makes its log begin anew.

        Raises
        ------
        LogAway
            As of `open`.
        """
        shard = Shard.of(crawl)
        self.check_in_place(shard.crawl)
        if shard.groups == 1:  # first: nobody would look for them without the log
            self.topics.delete(self.topics.visits_of(shard.crawl))
        self.erase(crawl)

    def erase(self, crawl: str) -> None:
        """Do what `delete` does, also to a crawl that is being written anew; its draft and visits stay."""
        shard = Shard.of(crawl)
        topic, states = self.topics.log_of(shard.crawl), self.topics.states_of(shard.crawl)
        if shard.groups == 1:
            self.topics.delete(topic)
            self.topics.delete(states)
            self._snapshots.delete(states)
        elif self.topics.partitions(topic) >= shard.groups:
            self.brokers.append(topic, shard.group, None, Marker.of(self._owner, voids=True).pack())
            self._snapshots.delete(states, shard.group)
        self._files.delete(crawl)

    def forget(self, shard: str) -> None:
        """See `Store.forget`: leave it; another process may have written to it since it was read."""

    def disk_bytes(self, shard: str) -> int:
        """See `Store.disk_bytes`: of this process's disk, what the brokers keep apart."""
        return self._files.disk_bytes(shard)

    def beside(self, shard: str, name: str, kept: Callable[[Path | None], T]) -> T:
        """See `Store.beside`: in the data folder of this process alone."""
        return self._files.beside(shard, name, kept)

    def shared_files(self, shard: str, keep_s: float) -> FilesOnBrokers:
        """See `Store.shared_files`: whoever takes the log over has another data folder."""
        found = Shard.of(shard)
        topic = self.topics.visits_of(found.crawl)
        return FilesOnBrokers(
            self.brokers,
            topic,
            found.group,
            self._identities.get(shard, ""),
            key=self.ticket_key,
            make=partial(self._make_kept, topic, found.groups, keep_s),
            is_there=lambda: self.topics.partitions(topic) > 0,
        )

    def left_beside(self, name: str, here: Collection[str]) -> list[Path]:
        """See `Store.left_beside`."""
        mine = {self._files.crawl_folder(key) / name for key in here}
        return [folder for folder in self._files.folders_beside(name) if folder not in mine]

    def ticket_key(self) -> bytes:
        """See `Store.ticket_key`; made by the first server of the cluster that asks."""
        if not self._secret:
            topic = self.topics.secret
            self._ensure(topic, 1)
            if problem := self._problem(topic):
                raise CorruptState(problem)
            if not self.brokers.end(topic, 0):
                self.brokers.append(topic, 0, None, new_secret())
            first = next(self.brokers.read(topic, 0, 0, 1))  # of two that made one at once, the same for both
            self._secret = secret_in(first.value, topic)
        return self._secret

    def collectors(self) -> list[Collector]:
        """See `Store.collectors`."""
        return [self.counts, *self._snapshots.collectors()]

    def close(self) -> None:
        """Let go of the brokers, of what keeps snapshots, and of the data folder."""
        self.brokers.close()
        self._snapshots.close()
        self._files.close()

    def _ensure(self, topic: str, partitions: int) -> None:
        there = self.topics.partitions(topic)
        if there not in (0, partitions) and not self._has_more(topic, there, partitions):
            self._delete_unfinished(topic, there, partitions)
            there = 0
        if not there:
            self.topics.make(topic, partitions)
            self._checked_s.pop(topic, None)

    def _make_kept(self, topic: str, partitions: int, keep_s: float) -> None:
        """Make a topic of files that are kept for a time; that time is seen to once by each process."""
        if topic not in self._kept or not self.topics.partitions(topic):
            self.topics.make_kept(topic, partitions, keep_s)
            self._kept.add(topic)

    def _problem(self, topic: str) -> str:
        """Return what is wrong with the settings of a topic, empty if nothing is; looked at now and then."""
        if time.monotonic() < self._checked_s.get(topic, -_CHECKED_FOR_S) + _CHECKED_FOR_S:
            return ""
        self.counts.unsafe_topics.discard(topic)
        try:
            self.topics.check(topic)
        except CorruptState as exc:
            self.counts.unsafe_topics.add(topic)
            _log.error("%s; events may be lost, set it right", exc)
            return str(exc)
        self._checked_s[topic] = time.monotonic()
        return ""

    def _has_more(self, topic: str, there: int, wanted: int) -> bool:
        """Say whether a topic has what it must, and partitions that somebody added and nobody uses."""
        is_log = topic.startswith(self.topics.log_of(""))
        return there > wanted and (not is_log or groups_in(self.brokers, topic) == wanted)

    def _delete_unfinished(self, topic: str, there: int, wanted: int) -> None:
        """Delete what an unfinished creation of a crawl left: its first group is made last, and is empty."""
        state = LogState(f"{topic} [0]")
        for record in self.brokers.read(topic, 0, 0, self.brokers.end(topic, 0)):
            state.see(record)
        if state.seq:
            raise CorruptState(f"topic {topic}: has {there} partitions, its crawl {wanted} groups")
        self.topics.delete(topic)
        self.topics.delete(self.topics.states_of(topic.removeprefix(self.topics.log_of(""))))

    def _states(self, shard: Shard, log: LogState) -> SiteStates:
        """Open the states of sites of one log; those of a log before it under this name go."""
        self._identities[shard.key] = log.identity
        folder = self._files.crawl_folder(shard.key)
        for path in folder.glob(f"*/{SITES_FILE}"):
            if path.parent.name != log.identity:
                shutil.rmtree(path.parent)
        for path in (folder.parent, folder, folder / log.identity):
            ensure_folder(path)
        checkpoints = self.checkpoints(shard, log)
        return open_states(
            folder / log.identity / SITES_FILE, lambda path: SharedStates(path, checkpoints, self.counts)
        )


def refuse_logs(files: FileStore) -> None:
    """See that a data folder has no logs of its own: which are true nobody could say.

    Raises
    ------
    CorruptState
        If it has.
    """
    if left := files.shards():
        raise CorruptState(
            f"{files.folder}: holds crawls with logs of their own ({', '.join(left[:3])}), but log is "
            "kafka://: take another data_dir, or log = file"
        )


def groups_in(brokers: Brokers, topic: str) -> int:
    """Return how many groups a crawl has by the first event of its log, 0 if that is not there."""
    state = LogState(f"{topic} [0]")
    try:
        for record in brokers.read(topic, 0, 0, brokers.end(topic, 0)):
            if (frame := state.see(record)) is not None:
                event = decode(bytes(next(iter(unpack(memoryview(record.value), frame)))))
                return int(event.config.get("groups", 1)) if isinstance(event, ConfigChanged) else 0
    except CorruptState as exc:
        _log.warning("%s: how many groups its crawl has is taken from its partitions", exc)
    return 0
