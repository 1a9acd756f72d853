"""Who leaves real brokers is out of the group at once; who takes the place of another has its slots."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path

import pytest

from linkscore_server.cluster.eviction import evict
from linkscore_server.cluster.group import SlotGroup, Slots
from linkscore_server.storage.kafka.store import KafkaStore
from support.cluster.brokers import PASSWORD, USER, Brokers

pytestmark = pytest.mark.slow

SLOTS = 16
SESSION_S, WAIT_S = 45.0, 20.0
"""Who waits for less than a session waits for nobody's end."""
TIMES = 6
"""How often one joins: the group is met in different steps."""


def joined(brokers: Brokers, heard: threading.Event, instance: str = "", mechanism: str = "") -> SlotGroup:
    properties = {"bootstrap.servers": brokers.hosts}
    if mechanism:
        properties = {
            "bootstrap.servers": brokers.sasl_hosts,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }

    def taken(_: Slots) -> None:
        heard.set()

    group = SlotGroup(
        properties,
        "leaving",
        "leaving",
        SESSION_S,
        taken=taken,
        given_up=lambda _: None,
        evict=partial(evict, properties, "leaving"),
        instance=instance,
    )
    group.join()
    return group


def has_all(group: SlotGroup) -> bool:
    end_s = time.monotonic() + WAIT_S
    while len(group.mine) < SLOTS and time.monotonic() < end_s:
        time.sleep(0.05)
    return len(group.mine) == SLOTS


@pytest.fixture
def topic(brokers: Brokers, tmp_path: Path) -> None:
    """Have slots to divide."""
    store = KafkaStore.at(brokers.hosts, tmp_path, properties={}, prefix="leaving", replicas=3, owner="a")
    if not store.topics.partitions("leaving"):
        store.topics.make("leaving", SLOTS, **{"cleanup.policy": "compact"})
    store.close()


@pytest.mark.usefixtures("topic")
@pytest.mark.parametrize(
    ("instance", "mechanism"),
    [
        ("", ""),
        ("second", ""),  # the client does not leave for it: only `evict` does
        ("second", "PLAIN"),
        ("second", "SCRAM-SHA-256"),
        ("second", "SCRAM-SHA-512"),
    ],
)
def test_who_leaves_while_slots_are_divided_keeps_nobody_waiting(
    brokers: Brokers, instance: str, mechanism: str
) -> None:
    stays = joined(brokers, threading.Event())
    try:
        assert has_all(stays)
        for _ in range(TIMES):
            heard = threading.Event()
            other = joined(brokers, heard, instance, mechanism)
            assert heard.wait(WAIT_S)
            other.leave()
            assert has_all(stays)
    finally:
        stays.leave()


@pytest.mark.usefixtures("topic")
def test_who_has_the_name_of_another_has_its_slots_and_no_other_slot_moves(brokers: Brokers) -> None:
    stays = joined(brokers, threading.Event(), "first")
    heard = threading.Event()
    dies = joined(brokers, heard, "second")
    try:
        assert heard.wait(WAIT_S)
        while len(stays.mine) + len(dies.mine) < SLOTS:  # the other one may hear later
            time.sleep(0.05)
        kept, lost = stays.mine, dies.mine
        heard = threading.Event()
        successor = joined(brokers, heard, "second")  # the other one does not say that it leaves
        try:
            assert heard.wait(WAIT_S)
            assert (stays.mine, successor.mine) == (kept, lost)
        finally:
            successor.leave()
    finally:
        dies.leave()
        stays.leave()
