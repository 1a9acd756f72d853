"""The metrics port: answers Prometheus, and gives strangers few threads."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from linkscore_server.observability.http import MetricsServer
from linkscore_server.observability.metrics import Metrics
from support.server_process import scrape


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    server = MetricsServer("127.0.0.1", 0, Metrics().registry, silence_s=60.0)
    yield server
    server.close()


def test_it_shows_the_metrics(server: MetricsServer) -> None:
    assert "linkscore_build_info" in scrape(f"127.0.0.1:{server.port}")


@pytest.mark.slow
def test_half_open_requests_are_eight_threads_and_the_rest_is_closed(server: MetricsServer) -> None:
    before = threading.active_count()
    halves = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
    for half in halves:
        half.sendall(b"GET /met")
    closed = 0
    for half in halves[8:]:
        half.settimeout(60)
        try:
            closed += half.recv(1) == b""
        except ConnectionResetError:
            closed += 1
    assert closed == len(halves) - 8
    assert threading.active_count() - before <= 8
    for half in halves:
        half.close()


def test_connections_that_trickle_make_room_after_a_while() -> None:
    server = MetricsServer("127.0.0.1", 0, Metrics().registry, silence_s=60.0, request_s=0.01)
    trickling = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(8)]
    for connection in trickling:
        closed = threading.Event()
        threading.Thread(target=trickle, args=(connection, closed), daemon=True).start()
        assert closed.wait(60)
        connection.close()
    server._server.request_s = 60.0  # type: ignore[attr-defined]
    assert "linkscore_build_info" in scrape(f"127.0.0.1:{server.port}")
    server.close()


def trickle(connection: socket.socket, closed: threading.Event) -> None:
    """Send a byte of a request again and again until that fails."""
    try:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        connection.settimeout(0.05)
        while True:
            try:
                if not connection.recv(1):
                    break
            except TimeoutError:
                connection.sendall(b"x")
    except OSError:
        pass
    closed.set()


def test_a_silent_connection_is_closed_and_makes_room() -> None:
    server = MetricsServer("127.0.0.1", 0, Metrics().registry, silence_s=0.01)
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
    for connection in silent:
        connection.settimeout(60)
        assert connection.recv(1) == b""
        connection.close()
    assert "linkscore_build_info" in scrape(f"127.0.0.1:{server.port}")
    server.close()
