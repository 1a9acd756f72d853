"""Who of a cluster is given up: one that leaves out answers, and nobody else."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_server.cluster import probes as room
from linkscore_server.cluster.eviction import can_evict, error_in
from linkscore_server.cluster.metrics import ClusterMetrics
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.probes import PeerProbes
from linkscore_server.cluster.routes import Route
from linkscore_server.grpc.errors import NotServing
from linkscore_server.storage.base import LogAway


class FakePeer:
    """Another process, which answers, refuses, or says nothing."""

    def __init__(self, address: str) -> None:
        self.member = f"member of {address}"
        self.state = "there"

    async def ask(self, _: str) -> dict[str, Any]:
        if self.state == "stopped":
            await asyncio.sleep(60)
        if self.state == "dead":
            raise NotServing("it is gone")
        return {"member": self.member}

    async def close(self) -> None: ...


class Watch:
    """The probes of process `c`, among others that have a slot each."""

    def __init__(self, others: str, *, can_evict: bool = True) -> None:
        self.peers: dict[str, FakePeer] = {}
        self.evicted: list[str] = []
        self.owners = ClusterOwners(FakePeer("c"), self._connect)  # type: ignore[arg-type]
        self.owners.address, self.owners.slots = "c", len(others) + 1
        for slot, address in enumerate(others):
            self.owners.hear(slot, Route(address, 1))
        self.registry = CollectorRegistry()
        self.probes = PeerProbes(
            self.owners, 60.0, self._evict if can_evict else None, ClusterMetrics(self.registry)
        )
        self.is_away = False

    def _connect(self, address: str) -> Any:
        return self.peers.setdefault(address, FakePeer(address))

    def _evict(self, member: str) -> None:
        if self.is_away:
            raise LogAway("no answer")
        self.evicted.append(member)

    async def look(self, times: int) -> None:
        for _ in range(times):
            await self.probes.look()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_ANSWER_S", 0.02)


@pytest.mark.parametrize("state", ["dead", "stopped"])
@pytest.mark.parametrize("others", ["a", "ab", "abdefgh"])
async def test_who_leaves_out_two_answers_is_given_up_once(others: str, state: str) -> None:
    watch = Watch(others)
    await watch.look(2)
    watch.peers["a"].state = state
    await watch.look(1)
    assert watch.evicted == []
    await watch.look(4)
    seen = {address for address, _ in watch.owners.next_ones(3)}
    assert watch.evicted == (["member of a"] if "a" in seen else [])


@pytest.mark.parametrize("state", ["dead", "stopped"])
async def test_who_says_that_it_leaves_is_not_given_up(state: str) -> None:
    watch = Watch("ab")
    await watch.look(1)
    watch.peers["a"].member = ""
    await watch.look(1)
    watch.peers["a"].state = state
    await watch.look(4)
    assert watch.evicted == []


async def test_the_next_three_are_asked_in_a_ring() -> None:
    assert [address for address, _ in Watch("abdefgh").owners.next_ones(3)] == ["d", "e", "f"]
    assert [address for address, _ in Watch("abd").owners.next_ones(3)] == ["d", "a", "b"]


async def test_who_answers_again_before_the_second_probe_stays() -> None:
    watch = Watch("ab")
    for state in ("there", "dead", "there", "dead", "there"):
        watch.peers["a"].state = state
        await watch.look(1)
    assert watch.evicted == []


async def test_who_reaches_none_of_several_judges_nobody() -> None:
    watch = Watch("ab")
    await watch.look(1)
    for peer in watch.peers.values():
        peer.state = "stopped"
    await watch.look(4)
    assert watch.evicted == []
    assert watch.registry.get_sample_value("linkscore_peers_silent") == 2
    watch.peers["a"].state = "there"
    await watch.look(1)
    assert watch.evicted == ["member of b"]


async def test_who_was_held_up_itself_judges_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch("ab")
    await watch.look(1)
    watch.peers["a"].state = "stopped"
    monkeypatch.setattr(room, "_LATE_S", -1.0)  # every answer is late
    await watch.look(4)
    assert watch.evicted == []


async def test_who_was_given_up_is_spared_for_a_session_and_until_it_answers() -> None:
    watch = Watch("ab")
    for _ in range(2):
        watch.peers["a"].state = "there"
        await watch.look(1)
        watch.peers["a"].state = "dead"
        await watch.look(3)
    assert watch.evicted == ["member of a"]
    assert watch.registry.get_sample_value("linkscore_peers_evicted_total") == 1


async def test_who_cannot_be_given_up_now_is_later(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch("ab")
    await watch.look(1)
    watch.peers["a"].state, watch.is_away = "dead", True
    await watch.look(3)
    assert "server a is gone, and keeps its slots for a session: no answer" in caplog.text
    watch.is_away = False
    await watch.look(1)
    assert watch.evicted == ["member of a"]


async def test_where_nobody_can_be_given_up_a_silent_one_is_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    watch = Watch("ab", can_evict=False)
    assert "over this kind of SASL a server that fails keeps its slots for 60 s" in caplog.text
    await watch.look(1)
    watch.peers["a"].state = "stopped"
    await watch.look(3)
    assert "server a is not reached: no answer within" in caplog.text
    assert (watch.evicted, watch.registry.get_sample_value("linkscore_peers_silent")) == ([], 1)


@pytest.mark.parametrize(
    ("properties", "is_so"),
    [
        ({}, True),
        ({"security.protocol": "SSL"}, True),
        ({"security.protocol": "sasl_ssl"}, False),  # Kerberos, unless it says more
        ({"security.protocol": "sasl_ssl", "sasl.mechanisms": "SCRAM-SHA-512"}, True),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "plain"}, True),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"}, False),
    ],
)
def test_members_are_given_up_over_connections_that_a_password_opens(
    properties: dict[str, str], is_so: bool
) -> None:
    assert can_evict(properties) is is_so


@pytest.mark.parametrize("instance", [None, b"static"])
@pytest.mark.parametrize(("of_group", "of_member"), [(0, 0), (16, 0), (0, 25)])
def test_errors_of_the_coordinator_are_read(of_group: int, of_member: int, instance: bytes | None) -> None:
    name = b"linkscore-1"
    answer = struct.pack(">iih", 7, 0, of_group) + struct.pack(">ih", 1, len(name)) + name
    answer += struct.pack(">h", -1 if instance is None else len(instance)) + (instance or b"")
    assert error_in(answer + struct.pack(">h", of_member)) == (of_group or of_member)
