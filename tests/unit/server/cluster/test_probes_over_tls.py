"""Servers that do not accept each other's certificates say so in the log, and nobody is given up for it."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from prometheus_client import CollectorRegistry

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_server.cluster.metrics import ClusterMetrics
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.probes import PeerProbes
from linkscore_server.cluster.routes import Route
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.routing.peers import Peer
from linkscore_server.tls import server_credentials


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the certificates of two authorities, each its own."""
    made = tmp_path_factory.mktemp("certificates")
    for name in ("ours", "theirs"):
        new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
        named = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost"]
        files = ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run([*new, *named, *files], cwd=made, check=True, capture_output=True)
    return made


@pytest.fixture
async def address(certificates: Path) -> AsyncIterator[str]:
    """Give where a server is reached that asks the others for certificates of our authority."""
    files = (str(certificates / name) for name in ("ours.pem", "ours.key", "ours.pem"))
    owners: Any = SimpleNamespace(about=lambda: {"member": "member b"})
    nobody: Any = None
    server, port = server_for_peers(
        "localhost:0", nobody, nobody, owners, 1 << 20, server_credentials(*files)
    )
    await server.start()
    yield f"localhost:{port}"
    await server.stop(0)


def shown(folder: Path, trusts: str, own: str) -> grpc.ChannelCredentials:
    """Return credentials of who trusts an authority and shows a certificate, if it has any."""
    pair = [(folder / f"{own}.{end}").read_bytes() for end in ("key", "pem")] if own else [None, None]
    return grpc.ssl_channel_credentials((folder / f"{trusts}.pem").read_bytes(), *pair)


async def probed(address: str, credentials: grpc.ChannelCredentials | None) -> list[str]:
    """Probe a server some times; return the members that were given up."""
    evicted: list[str] = []
    nobody: Any = None
    owners = ClusterOwners(nobody, lambda other: Peer(other, 1 << 20, credentials))  # type: ignore[arg-type, return-value]
    owners.address, owners.slots = "a", 2
    owners.hear(0, Route(address, 1))
    probes = PeerProbes(owners, 60.0, evicted.append, ClusterMetrics(CollectorRegistry()))
    try:
        for _ in range(4):
            await probes.look()
    finally:
        for _, peer in owners.next_ones(1):
            await peer.close()
    return evicted


@pytest.mark.parametrize(("trusts", "own"), [("", ""), ("ours", ""), ("ours", "theirs"), ("theirs", "ours")])
async def test_a_wrong_certificate_is_named_and_nobody_is_given_up(
    address: str, certificates: Path, caplog: pytest.LogCaptureFixture, trusts: str, own: str
) -> None:
    credentials = shown(certificates, trusts, own) if trusts else None
    assert await probed(address, credentials) == []
    assert f"server {address} is not reached: " in caplog.text


async def test_certificates_of_one_authority_are_accepted(
    address: str, certificates: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert await probed(address, shown(certificates, "ours", "ours")) == []
    assert "is not reached" not in caplog.text
