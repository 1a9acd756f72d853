"""A process in the group of slots, with a consumer that is played."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from confluent_kafka import TopicPartition

from linkscore_server.cluster import group as room
from linkscore_server.cluster.group import SlotGroup, Slots
from linkscore_server.storage.base import LogAway


class FakeConsumer:
    """Assigns slots 0 and 1 when it is first polled, and takes them back when it is closed."""

    def __init__(self) -> None:
        self.is_closing = False
        self._partitions = [TopicPartition("owners", slot) for slot in (0, 1)]
        self._is_assigned = False

    def subscribe(self, _: Any, **callbacks: Callable[..., None]) -> None:
        self._callbacks = callbacks

    def poll(self, _: float) -> None:
        if not self._is_assigned:
            self._is_assigned = True
            self._callbacks["on_assign"](self, self._partitions)

    def memberid(self) -> str:
        return "linkscore-1"

    def incremental_assign(self, _: Any) -> None: ...

    pause = incremental_assign

    def close(self) -> None:
        self.is_closing = True
        self._callbacks["on_revoke"](self, self._partitions)


def test_slots_are_let_go_of_while_the_process_is_a_member(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer, let_go, is_in = FakeConsumer(), [], threading.Event()
    monkeypatch.setattr(room, "Consumer", lambda properties, logger: consumer)

    def given_up(slots: Slots) -> None:
        let_go.append((slots, consumer.is_closing))

    group = SlotGroup({}, "owners", "owners", 8.0, taken=lambda _: is_in.set(), given_up=given_up)
    group.join()
    assert is_in.wait(10)
    assert group.member == "linkscore-1"
    group.leave()
    assert let_go[0] == (frozenset({0, 1}), False)
    assert (group.mine, consumer.is_closing) == (frozenset(), True)


@pytest.mark.parametrize("is_away", [False, True])
def test_who_leaves_has_the_group_give_it_up_once_its_consumer_is_closed(
    is_away: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    consumer, given_up, is_in = FakeConsumer(), [], threading.Event()
    monkeypatch.setattr(room, "Consumer", lambda properties, logger: consumer)

    def evict(member: str) -> None:
        given_up.append((member, consumer.is_closing))
        if is_away:
            raise LogAway("no coordinator")

    group = SlotGroup({}, "o", "o", 8.0, taken=lambda _: is_in.set(), given_up=lambda _: None, evict=evict)
    group.join()
    assert is_in.wait(10)
    group.leave()
    assert given_up == [("linkscore-1", True)]
    assert ("no coordinator" in caplog.text) is is_away
