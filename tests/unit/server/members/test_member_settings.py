"""Workers that are servers of a cluster: what each is told, and which settings cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linkscore_server.directories import directory_of
from linkscore_server.members.settings import MemberSettings
from linkscore_server.settings import Settings, load
from support.refused_settings import refused

ON_BROKERS = {"log": "kafka://one:9092,two:9092", "workers": 3}


def settings(**flags: Any) -> MemberSettings:
    """Return checked settings."""
    return MemberSettings.of(load({**ON_BROKERS, **flags}, {}, None))


@pytest.mark.parametrize("peers_listen", ["0.0.0.0:7511", "[::]:7511"])
@pytest.mark.parametrize("advertise", ["", "server-1:17511"])
def test_each_worker_has_ports_and_a_folder_of_its_own(peers_listen: str, advertise: str) -> None:
    all_of = settings(peers_listen=peers_listen, advertise=advertise, data_dir="data", kafka_prefix="x")
    each = [all_of.of_worker(number) for number in range(3)]
    host = peers_listen.rpartition(":")[0]
    assert [one.peers_listen for one in each] == [f"{host}:{port}" for port in (7511, 7512, 7513)]
    known = [f"server-1:{port}" for port in (17511, 17512, 17513)] if advertise else [""] * 3
    assert [one.advertise for one in each] == known
    assert [Path(one.data_dir) for one in each] == [Path(f"data/worker-{number}") for number in range(3)]
    assert {(one.listen, one.kafka_prefix, one.workers) for one in each} == {(all_of.listen, "x", 3)}


def test_fronts_need_no_ports_of_their_own() -> None:
    front = settings(role="front")
    assert front.has_members
    assert [front.of_worker(number).peers_listen for number in range(3)] == ["", "", ""]


@pytest.mark.parametrize(
    ("flags", "field", "rule"),
    [
        ({}, "peers_listen", "must be set with workers > 1"),
        ({"role": "owner"}, "peers_listen", "must be set"),
        ({"peers_listen": "127.0.0.1:0"}, "peers_listen", "needs 3 ports from a given one on"),
        ({"peers_listen": "127.0.0.1:65534"}, "peers_listen", "needs 3 ports from a given one on"),
        ({"peers_listen": "127.0.0.1:7511", "advertise": "one:65534"}, "advertise", "needs 3 ports"),
        ({"peers_listen": "127.0.0.1"}, "peers_listen", "must be host:port"),
        (
            {"peers_listen": "127.0.0.1:7511", "listen": "unix:/tmp/x"},
            "workers",
            "must be 1 at a unix socket",
        ),
        ({"peers_listen": "127.0.0.1:7511", "workers": 0}, "workers", "must be > 0"),
    ],
)
def test_what_workers_over_brokers_cannot_be_is_refused(flags: dict[str, Any], field: str, rule: str) -> None:
    assert rule in refused({**ON_BROKERS, **flags}, {}, None)[field]


@pytest.mark.parametrize("port", [1, 65_533])
def test_the_first_and_the_last_port_may_be_had(port: int) -> None:
    assert settings(peers_listen=f"127.0.0.1:{port}").of_worker(2).peers_listen == f"127.0.0.1:{port + 2}"


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ({"workers": 2}, "WorkerDirectory"),
        ({"log": "kafka://one:9092", "peers_listen": "127.0.0.1:7511"}, "ClusterDirectory"),
        ({"log": "kafka://one:9092", "peers_listen": "127.0.0.1:7511", "workers": 2}, "MemberDirectory"),
        ({"log": "kafka://one:9092", "role": "front", "workers": 2}, "MemberDirectory"),
        ({"log": "kafka://one:9092"}, "LoneDirectory"),
        ({}, "GroupDirectory"),
    ],
)
def test_settings_say_what_a_process_is(flags: dict[str, Any], kind: str) -> None:
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    found: Settings = load(flags, {}, None)
    assert directory_of(found).__name__ == kind
