"""A worker that is a server of a cluster is asked by its supervisor, and has a name that outlives it."""

from __future__ import annotations

import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.errors import CorruptState
from linkscore_server.addresses import CannotListen, bound
from linkscore_server.app import Application
from linkscore_server.members.directory import MemberDirectory
from linkscore_server.members.settings import MemberSettings
from linkscore_server.routing.peers import Peer
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.memory import MemoryStore
from linkscore_server.workers.address import WorkerAddress
from linkscore_server.workers.supervised import supervised


class Brokered(MemoryStore):
    """A store whose brokers are never asked."""

    def __init__(self, **properties: str) -> None:
        super().__init__()
        self.brokers = SimpleNamespace(properties=properties)
        self.topics = SimpleNamespace(owners="owners")


def settings(**given: Any) -> MemberSettings:
    found = MemberSettings(
        log="kafka://one:9092", workers=2, metrics_listen="", listen="127.0.0.1:0", **given
    )
    assert supervised(found) is MemberDirectory
    return found


def worker(folder: Path, store: Brokered, **given: Any) -> tuple[MemberDirectory, Peer]:
    """Return a worker that is not started, and what its supervisor asks it by."""
    address = WorkerAddress(1, tuple(f"unix:{folder / str(number)}" for number in range(2)), lock=0)
    app = Application(settings(**given), store=store, directory=partial(MemberDirectory, address=address))  # type: ignore[arg-type]
    made: Any = app.directory
    return made, Peer(address.sockets[1], 1 << 20)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give settings by which a server shows a certificate, and asks for one."""
    made = tmp_path_factory.mktemp("certificate")
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*new, "-keyout", "key", "-out", "pem"], cwd=made, check=True, capture_output=True)
    return {
        "tls_cert": str(made / "pem"),
        "tls_key": str(made / "key"),
        "tls_client_ca": str(made / "pem"),
    }


@pytest.mark.parametrize("role", ["all", "owner", "front"])
@pytest.mark.parametrize("is_over_tls", [False, True])
async def test_the_supervisor_asks_each_worker_over_a_socket(
    tmp_path: Path, certificate: dict[str, str], role: str, *, is_over_tls: bool
) -> None:
    peers = {"peers_listen": "127.0.0.1:0"} if role != "front" else {}
    made, peer = worker(tmp_path, Brokered(), role=role, **peers, **(certificate if is_over_tls else {}))
    assert made._peer_server is not None
    await made._peer_server.start()
    try:
        assert await peer.ask("probe") == {"member": ""}
        assert "linkscore_pages" in (await peer.ask("metrics"))["text"]
    finally:
        await peer.close()
        await made._peer_server.stop(0)
    assert (made.is_alone, made.shares_port, made.is_waited_for) == (False, True, False)


@pytest.mark.parametrize(
    ("advertise", "properties", "instance"),
    [
        ("server-1:7512", {}, "server-1-7512"),
        ("[fe80::1]:7512", {"security.protocol": "ssl"}, "-fe80--1--7512"),
        ("server-1:7512", {"security.protocol": "sasl_ssl"}, ""),
        ("server-1:7512", {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"}, "server-1-7512"),
    ],
)
async def test_a_worker_has_the_name_of_its_address_where_it_can_be_taken_out(
    tmp_path: Path, advertise: str, properties: dict[str, str], instance: str
) -> None:
    made, peer = worker(tmp_path, Brokered(**properties), peers_listen="127.0.0.1:0", advertise=advertise)
    assert made.instance == instance
    await peer.close()


def test_a_data_folder_has_one_supervisor_and_no_logs(tmp_path: Path) -> None:
    with closing(bound("test", "127.0.0.1:0")) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match="peers_listen"):
            MemberDirectory.data_folder(settings(peers_listen=f"127.0.0.1:{port}", data_dir=str(tmp_path)))
    front = settings(role="front", data_dir=str(tmp_path))
    MemberDirectory.data_folder(front).close()
    with closing(FileStore(tmp_path)) as store, closing(store.open("books")) as log:
        log.append([b"event"])
    with pytest.raises(CorruptState, match="logs of their own"):
        MemberDirectory.data_folder(front)
