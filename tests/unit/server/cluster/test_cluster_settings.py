"""Settings of processes in a cluster: what cannot work is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_server.cluster.settings import ClusterSettings
from linkscore_server.settings import load
from support.refused_settings import refused

ON_BROKERS = {"log": "kafka://one:9092,two:9092"}


def settings(flags: dict[str, Any]) -> ClusterSettings:
    """Return checked settings."""
    return ClusterSettings.of(load(flags, {}, None))


def test_a_cluster_is_over_brokers_and_at_addresses() -> None:
    assert refused({"peers_listen": "0.0.0.0:7511"}, {}, None) == {"peers_listen": "needs log = kafka://"}
    found = refused({**ON_BROKERS, "peers_listen": "unix:/x", "advertise": "server-1"}, {}, None)
    assert found.keys() == {"peers_listen", "advertise"}
    good = {**ON_BROKERS, "peers_listen": "0.0.0.0:7511", "advertise": "server-1:7511"}
    assert load(good, {}, None).advertise == "server-1:7511"


@pytest.mark.parametrize(
    ("flags", "field", "rule"),
    [
        ({"role": "back"}, "role", "must be all, front or owner"),
        ({"role": "front"}, "role", "front needs log = kafka://"),
        ({"role": "owner", **ON_BROKERS}, "peers_listen", "must be set with role = owner"),
        (
            {"role": "front", **ON_BROKERS, "peers_listen": "0.0.0.0:7511"},
            "peers_listen",
            "must be empty with role = front",
        ),
    ],
)
def test_a_role_that_cannot_be_is_refused(flags: dict[str, str], field: str, rule: str) -> None:
    if "log" in flags:
        assert rule in refused(flags, {}, None)[field]


def test_a_front_is_in_a_cluster_without_an_address_for_the_others() -> None:
    assert settings({**ON_BROKERS, "role": "front"}).is_clustered
    assert settings({**ON_BROKERS, "role": "owner", "peers_listen": "0.0.0.0:7511"}).is_clustered
    assert not settings(ON_BROKERS).is_clustered
