"""The consumer group that divides the slots among the processes of a cluster."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from linkscore_server import tasks
from linkscore_server.storage.base import LogAway

_POLL_S = 0.02  # between two looks whether somebody asks; what the group says is heard at once
_CONFIRM_S = 10.0  # longest wait for a coordinator, which answers within milliseconds; a bound
_HEARTBEAT_S = 0.1
"""Between two heartbeats, of a few bytes. They tell a member that slots are divided anew, for which the group
waits for the last of them, twice where slots go from one to another. Chosen, not measured."""
_HEARTBEATS = 5  # in a session, at least: some may be late
_LONGEST_CALLBACK_MS = 600_000
"""Longest time in which slots are saved: a snapshot of each shard. A bound; others wait for it."""

_NO_MEMBER = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.FENCED_INSTANCE_ID)
"""Answers of a coordinator to a process that it has given up. That its generation is not the newest says
nothing: the group may be dividing slots anew, and leave these where they are."""

_log = logging.getLogger(__name__)
Slots = frozenset[int]


class SlotGroup:
    """This process in the group. The consumer has a thread of its own, which calls back.

    Nothing is consumed: a partition stands for a slot, and the brokers' group protocol divides them.

    Parameters
    ----------
    properties
        Of a client of the brokers.
    group, topic
        Names of the group, and of the topic with a partition a slot.
    session_s
        Seconds without a sign of life after which the others get the slots of a process.
    taken
        Called with slots that are this process's from now on; must not block.
    given_up
        Called with slots that another process gets; the others wait until it returns. It must not wait for
        `confirm`, which has no answer meanwhile.
    evict
        Has the group give up a member; blocks. None: nobody can.
    instance
        Name that this process has in common with the one that takes its place (KIP-345): the group gives it
        the slots of the other at once, and moves none. Empty: it is given up, or its session ends, first.

    Attributes
    ----------
    mine
        Slots that the group has assigned and not taken back, as far as this process has heard.
    member
        What the coordinator calls this process.
    """

    def __init__(
        self,
        properties: Mapping[str, Any],
        group: str,
        topic: str,
        session_s: float,
        *,
        taken: Callable[[Slots], None],
        given_up: Callable[[Slots], None],
        evict: Callable[[str], None] | None = None,
        instance: str = "",
    ) -> None:
        self._topic = topic
        self._taken = taken
        self._given_up = given_up
        self._evict = evict
        self.mine: Slots = frozenset()
        self.member = ""
        self._asked: SimpleQueue[tuple[int, Future[bool]]] = SimpleQueue()
        self._leaving = threading.Event()
        self._consumer = Consumer(
            {
                **properties,
                **({"group.instance.id": instance} if instance else {}),
                "group.id": group,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": int(session_s * 1e3),
                "heartbeat.interval.ms": int(min(session_s / _HEARTBEATS, _HEARTBEAT_S) * 1e3),
                "max.poll.interval.ms": _LONGEST_CALLBACK_MS,
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
            },
            logger=_log,
        )
        self._thread = tasks.thread(self._run, "linkscore-slots")

    def join(self) -> None:
        """Ask for slots; they come by `taken`."""
        self._thread.start()

    def leave(self) -> None:
        """Give up all slots, then let the others have them; blocks."""
        self._leaving.set()
        if self._thread.is_alive():
            self._thread.join()

    def confirm(self, slot: int) -> bool:
        """Ask the coordinator whether a slot is still this process's; blocks.

        The group may have gone on without a process that was stopped for a while, before that hears of it.

        Raises
        ------
        LogAway
            If the coordinator does not say so now.
        """
        if slot not in self.mine:
            return False
        asked: Future[bool] = Future()
        self._asked.put((slot, asked))
        try:
            return asked.result(_CONFIRM_S)
        except TimeoutError as exc:
            raise LogAway(f"whether slot {slot} is still of this process: no answer") from exc

    def _run(self) -> None:
        try:
            self._consumer.subscribe(
                [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not self._leaving.is_set():
                self._answer()
                message = self._consumer.poll(_POLL_S)
                if message is not None and (error := message.error()) is not None:
                    _log.warning("group of slots: %s", error.str())
            self._give_up(self.mine)  # as long as it takes: `close` sends no signs of life
        except Exception:
            _log.exception("the group of slots is left")
        finally:
            member = self._consumer.memberid() or ""
            self._consumer.close()
            self._refuse()
            self._leave_for_sure(member)

    def _leave_for_sure(self, member: str) -> None:
        """Leave the group once more, over another connection.

        While slots are divided the coordinator reads nothing more on that of a member that waits for its
        share. What `close` sends is lost with it, and the others wait for the end of the session.
        """
        if not member or self._evict is None:
            return
        try:
            self._evict(member)
        except LogAway as exc:
            _log.warning("the group may wait for this process until its session ends: %s", exc)

    def _answer(self) -> None:
        """Answer what `confirm` was asked; from another thread the client would wait for this one."""
        while not self._asked.empty():
            slot, asked = self._asked.get()
            try:
                asked.set_result(self._is_mine(slot))
            except LogAway as exc:
                asked.set_exception(exc)

    def _is_mine(self, slot: int) -> bool:
        if slot not in self.mine:
            return False
        try:
            self._consumer.commit(offsets=[TopicPartition(self._topic, slot, 0)], asynchronous=False)
        except KafkaException as exc:
            error = exc.args[0]
            if error.code() in _NO_MEMBER:
                self.mine = frozenset()  # as `_on_lost` would hear in a moment
                return False
            raise LogAway(f"whether slot {slot} is still of this process: {error.str()}") from exc
        return slot in self.mine

    def _refuse(self) -> None:
        """Let nobody wait for an answer while slots are saved: that may wait for who asked."""
        while not self._asked.empty():
            slot, asked = self._asked.get()
            asked.set_exception(LogAway(f"slot {slot}: slots are on their way, try again"))

    def _on_assign(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        consumer.incremental_assign(list(partitions))
        consumer.pause(list(partitions))
        slots = _slots(partitions)
        self.mine |= slots
        self.member = consumer.memberid() or ""
        _log.info("slots %s are of this process", sorted(slots))
        self._taken(slots)

    def _on_revoke(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._give_up(_slots(partitions) & self.mine)

    def _give_up(self, slots: Slots) -> None:
        if not slots:
            return
        self.mine -= slots
        _log.info("slots %s go to another process", sorted(slots))
        saving = tasks.thread(partial(self._given_up, slots), "linkscore-saving-slots")
        saving.start()
        while saving.is_alive():
            self._refuse()
            saving.join(_POLL_S)

    def _on_lost(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Hear that the group went on without this process: whoever takes a slot over will say so."""
        slots = _slots(partitions)
        self.mine -= slots
        _log.warning("slots %s may be of another process by now", sorted(slots))


class NoShare:
    """Of a process that asks for no slots, and answers calls by asking the others: a front."""

    mine: Slots = frozenset()
    member = ""

    def join(self) -> None:
        """Do nothing."""

    def leave(self) -> None:
        """Do nothing."""

    def confirm(self, _: int) -> bool:
        """Say that a slot is not this process's."""
        return False


def _slots(partitions: Sequence[TopicPartition]) -> Slots:
    return frozenset(partition.partition for partition in partitions)
