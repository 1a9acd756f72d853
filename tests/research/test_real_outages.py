"""Outages that happen to the server of a crawl, and a crawl that is measured before, meanwhile and after."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from linkscore_research.crawlers.outages import (
    Interrupted,
    Outage,
    SlowRelay,
    data_disk,
    fill_up,
    interrupted,
)


def test_an_outage_begins_and_ends_and_says_where_the_crawl_was() -> None:
    did: list[str] = []
    event = Interrupted("a:1", lambda: did.append("gone"), lambda: did.append("back"), 0.001)
    at = iter([7, 9])
    event.happen(lambda: next(at))
    assert (did, event.began, event.back) == (["gone", "back"], 7, 9)


def test_a_server_that_never_comes_back_is_waited_for_until_the_crawl_is_over() -> None:
    did: list[str] = []
    event = Interrupted("a:1", lambda: did.append("gone"), lambda: did.append("back"), float("inf"))
    beside = threading.Thread(target=event.happen, args=(lambda: 3,))
    beside.start()
    event.crawled()
    beside.join()
    assert (did, event.began, event.back) == (["gone"], 3, None)


class Echo:
    """Answers each connection with what it sends."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self.listening.accept()
            except OSError:
                return
            with one:
                while piece := one.recv(1024):
                    one.sendall(piece)


def test_answers_are_held_back_while_a_relay_is_slow_and_come_all_the_same() -> None:
    echo = Echo()
    with SlowRelay(echo.address) as relay:
        host, port = relay.address.split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"before ")
            assert client.recv(7) == b"before "
            relay.delay(3_600.0)
            client.sendall(b"late")
            client.settimeout(0.05)
            with pytest.raises(TimeoutError):
                client.recv(1)
            relay.delay(0.0)
            client.settimeout(None)
            assert client.recv(4) == b"late"
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""
    echo.listening.shutdown(socket.SHUT_RDWR)
    echo.listening.close()


def test_a_disk_fills_up_and_is_emptied(tmp_path: Path) -> None:
    outage = Outage.parse("disk")
    try:
        with data_disk(tmp_path, outage) as data:
            server: Any = type("Server", (), {"address": "a:1"})
            with interrupted(server, data, outage) as event:
                assert event is not None
                fill_up(data / "filler")
                with pytest.raises(OSError, match="No space"):
                    (data / "more").write_bytes(bytes(1 << 17))
                (data / "filler").unlink()
                (data / "enough").write_bytes(bytes(1 << 17))
    except PermissionError as error:
        pytest.skip(str(error))
    assert not (tmp_path / "enough").exists()
