"""The topics of a server: named, made with the settings that nothing is lost under, checked, deleted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.brokers import DELIVERY_S, RECORD_BYTES
from linkscore_server.storage.kafka.checkpoints import PIECE_BYTES

STATES_RECORD_BYTES = 2 * PIECE_BYTES
"""Largest record of a topic of states: a piece, with room for its key."""

_log = logging.getLogger(__name__)
_LOOK_S = 0.1  # between two looks whether brokers know of a topic; chosen, not measured
_LOG, _STATES, _DRAFT, _VISITS, _SECRET, _OWNERS = "log", "states", "draft", "visits", "ticket-key", "owners"
_VISITS_TUNED = {"segment.ms": "86400000", "message.timestamp.type": "LogAppendTime"}
"""How topics of visits are made: brokers delete whole segments by their newest record, so one is closed every
day; and they go by their own clock. Chosen."""
_STATES_TUNED = {"segment.bytes": str(64 << 20), "segment.ms": "3600000", "delete.retention.ms": "60000"}
"""How topics of states are made, and may be set otherwise: only closed segments are compacted, so these are
closed sooner than the brokers' 1 GiB or 7 days; what is deleted is forgotten after a minute instead of a day,
for no key comes again. Chosen, not measured."""


def settings_of(replicas: int, *, compacted: bool = False) -> dict[str, str]:
    """Return what a topic must be set to: an acknowledged record outlives the loss of a broker.

    Parameters
    ----------
    replicas
        Brokers that have a copy.
    compacted
        Whether of records with one key the newest counts: of states, and not of logs.
    """
    common = {
        "min.insync.replicas": str(max(1, replicas - 1)),
        "unclean.leader.election.enable": "false",
    }
    if compacted:
        return {"cleanup.policy": "compact", "max.message.bytes": str(STATES_RECORD_BYTES), **common}
    return {
        "cleanup.policy": "delete",
        "max.message.bytes": str(RECORD_BYTES),
        "retention.bytes": "-1",
        "retention.ms": "-1",
        **common,
    }


class Topics:
    """The topics of one server. Calls block.

    ::

        PREFIX.log.CRAWL        a partition a group of the crawl
        PREFIX.states.CRAWL     a partition a group, compacted: snapshots of the states of its sites
        PREFIX.draft.CRAWL      a partition a group: logs to take the place of the crawl's, see `rewriting`
        PREFIX.visits.CRAWL     a partition a group: visits of browse logs, which brokers delete after a time
        PREFIX.ticket-key       the secret of tickets: the first record counts
        PREFIX.owners           a partition a slot of a cluster, compacted: who has it

    Parameters
    ----------
    admin
        A client of the cluster.
    prefix
        What their names begin with.
    replicas
        Brokers that have a copy of each.
    groups_in
        Reads how many groups the crawl of a topic has, 0 if that is not there.
    """

    def __init__(
        self,
        admin: AdminClient,
        prefix: str,
        replicas: int,
        groups_in: Callable[[str], int] = lambda topic: 0,
    ) -> None:
        self._admin = admin
        self._groups_in = groups_in
        self._prefix = prefix
        self._replicas = replicas

    def log_of(self, crawl: str) -> str:
        """Return the name of the topic of a crawl."""
        return f"{self._prefix}.{_LOG}.{crawl}"

    def states_of(self, crawl: str) -> str:
        """Return the name of the topic of a crawl's snapshots."""
        return f"{self._prefix}.{_STATES}.{crawl}"

    def draft_of(self, crawl: str) -> str:
        """Return the name of the topic of logs that are to take the place of a crawl's."""
        return f"{self._prefix}.{_DRAFT}.{crawl}"

    def visits_of(self, crawl: str) -> str:
        """Return the name of the topic of a crawl's visits."""
        return f"{self._prefix}.{_VISITS}.{crawl}"

    @property
    def secret(self) -> str:
        """Name of the topic of the ticket key."""
        return f"{self._prefix}.{_SECRET}"

    def shards(self) -> list[Shard]:
        """Return the shards of all crawls that have a topic."""
        start, listed = self.log_of(""), self._listed()
        crawls = [name.removeprefix(start) for name in listed if name.startswith(start)]
        return [shard for crawl in crawls for shard in shards_of(crawl, self._groups(crawl, listed))]

    def groups(self, crawl: str) -> int:
        """Return how many groups a crawl has, 0 if there is none of this name."""
        topics = self.log_of(crawl), self.states_of(crawl)
        return self._groups(crawl, {topic: self.partitions(topic) for topic in topics})

    def _groups(self, crawl: str, listed: Mapping[str, int]) -> int:
        """Return how many groups a crawl has; its log is only read if somebody added partitions to it.

        Both topics of a crawl are made with a partition a group, so where they are alike nobody did.
        """
        log = self.log_of(crawl)
        partitions = listed[log]
        if partitions == listed.get(self.states_of(crawl), 0):
            return partitions
        groups = self._groups_in(log) or partitions
        if groups < partitions:
            _log.warning("topic %s: has %d partitions, of which %d are used", log, partitions, groups)
        return min(groups, partitions)

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has, 0 if there is none of this name."""
        return self._listed(topic).get(topic, 0)

    @property
    def owners(self) -> str:
        """Name of the topic with a partition a slot of a cluster: who has it."""
        return f"{self._prefix}.{_OWNERS}"

    def members_of_cluster(self) -> int:
        """Return how many servers share the slots of a cluster now, 0 where nobody may ask."""
        try:
            described = self._admin.describe_consumer_groups([self.owners], request_timeout=DELIVERY_S)
            return len(described[self.owners].result(DELIVERY_S).members)
        except (KafkaException, TimeoutError) as exc:
            _log.info("whether a cluster has these topics is not known: %s", exc)
            return 0

    def make(self, topic: str, partitions: int, **settings: str) -> None:
        """Make a topic, with settings beside those of logs; one of this name is fine."""
        new = NewTopic(
            topic,
            num_partitions=partitions,
            replication_factor=self._replicas,
            config=(
                {**settings_of(self._replicas, compacted=True), **_STATES_TUNED}
                if self._is_of_states(topic)
                else {**settings_of(self._replicas), **settings}
            ),
        )
        deadline = time.monotonic() + DELIVERY_S
        while True:
            try:
                _answer(self._admin.create_topics([new])[topic])
            except KafkaException as exc:
                if exc.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise LogAway(f"topic {topic} cannot be made: {exc.args[0].str()}") from exc
            if self._is_seen(lambda: self.partitions(topic) == partitions, 10 * _LOOK_S):
                return
            if time.monotonic() > deadline:  # one that is being deleted is in the way for a moment
                raise LogAway(f"topic {topic} was not made within {DELIVERY_S:g} s")

    def make_kept(self, topic: str, partitions: int, keep_s: float) -> None:
        """Make a topic whose records brokers delete some seconds after they came; one there is set to that.

        Raises
        ------
        CorruptState
            If it has too few partitions.
        LogAway
            If the brokers do not answer, or refuse the setting.
        """
        keep = {"retention.ms": str(int(keep_s * 1e3))}
        if not (there := self.partitions(topic)):
            self.make(topic, partitions, **keep, **_VISITS_TUNED)
        elif there < partitions:
            raise CorruptState(f"topic {topic}: has {there} partitions, its crawl {partitions} groups")
        elif self._settings(topic)[0].get("retention.ms") != keep["retention.ms"]:
            self._set(topic, keep)

    def _set(self, topic: str, settings: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        try:
            _answer(self._admin.incremental_alter_configs([resource])[resource])
        except KafkaException as exc:
            raise LogAway(f"topic {topic} cannot be set to {settings}: {exc.args[0].str()}") from exc

    def check(self, topic: str) -> None:
        """Refuse a topic whose settings could lose what was acknowledged.

        Raises
        ------
        CorruptState
            Naming each wrong setting.
        LogAway
            If the brokers do not answer.
        """
        wrong = problems(*self._settings(topic), self._replicas, compacted=self._is_of_states(topic))
        if wrong:
            raise CorruptState(f"topic {topic}: {'; '.join(wrong)}")

    def delete(self, topic: str) -> None:
        """Delete a topic; returns when no broker lists it. None of this name is fine."""
        try:
            _answer(self._admin.delete_topics([topic])[topic])
        except KafkaException as exc:
            if exc.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise LogAway(f"topic {topic} cannot be deleted: {exc.args[0].str()}") from exc
        if not self._is_seen(lambda: not self.partitions(topic), DELIVERY_S):
            raise LogAway(f"topic {topic} is not deleted within {DELIVERY_S:g} s")

    def _is_of_states(self, topic: str) -> bool:
        return topic.startswith(self.states_of(""))

    def _listed(self, *topic: str) -> dict[str, int]:
        try:
            listed = self._admin.list_topics(*topic, timeout=DELIVERY_S)
        except KafkaException as exc:
            raise LogAway(f"topics cannot be listed: {exc.args[0].str()}") from exc
        return {name: len(topic.partitions) for name, topic in listed.topics.items() if topic.error is None}

    def _settings(self, topic: str) -> tuple[dict[str, str], int]:
        """Return the settings of a topic, and how many copies there are of its partitions, the fewest."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        deadline = time.monotonic() + DELIVERY_S
        while True:
            try:
                entries = _answer(self._admin.describe_configs([resource])[resource])
                listed = self._admin.list_topics(topic, timeout=DELIVERY_S).topics[topic].partitions.values()
                if listed:
                    settings = {name: str(entry.value) for name, entry in entries.items()}
                    return settings, min(len(partition.replicas) for partition in listed)
                problem = "no broker knows its partitions"
            except KafkaException as exc:
                problem = exc.args[0].str()
                if exc.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise LogAway(f"topic {topic}: {problem}") from exc
            # The broker that is asked may not have heard yet of a topic that was just made.
            if time.monotonic() > deadline:
                raise LogAway(f"topic {topic}: {problem}")
            time.sleep(_LOOK_S)

    @staticmethod
    def _is_seen(look: Callable[[], bool], within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while not look():
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)
        return True


def problems(found: Mapping[str, str], replicas: int, wanted: int, *, compacted: bool = False) -> list[str]:
    """Return what is wrong with the settings of a topic, in words.

    Parameters
    ----------
    found
        Its settings by name.
    replicas
        Copies of its partitions, the fewest of any.
    wanted
        Copies there should be.
    compacted
        As of `settings_of`.

    Examples
    --------
    >>> problems({**settings_of(3), "retention.ms": "604800000"}, 3, 3)
    ['retention.ms is 604800000, must be -1']
    """
    wrong = [f"has {replicas} replicas, must have {wanted} or more"] if replicas < wanted else []
    for name, must in settings_of(wanted, compacted=compacted).items():
        is_number = name in ("min.insync.replicas", "max.message.bytes")
        has = found.get(name, "unknown")
        if has != must and not (is_number and has.isdecimal() and int(has) >= int(must)):
            wrong.append(f"{name} is {has}, must be {must}{' or more' if is_number else ''}")
    if min_insync(found) > replicas - 1 and replicas > 1:
        wrong.append(
            f"min.insync.replicas must be less than its {replicas} replicas: else no broker may fail"
        )
    return wrong


def min_insync(found: Mapping[str, str]) -> int:
    """Return how many replicas must have a record before it is acknowledged, 0 if that is not said."""
    has = found.get("min.insync.replicas", "")
    return int(has) if has.isdecimal() else 0


def _answer(future: Future[Any]) -> Any:
    try:
        return future.result(DELIVERY_S)
    except TimeoutError as exc:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from exc
