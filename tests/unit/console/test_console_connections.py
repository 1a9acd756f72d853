"""Connections that do not get on are closed, and never keep others from the page."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import uvicorn

from linkscore_console.connections import BoundedProtocol

PATIENCE_S = 60.0
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


class Quick(BoundedProtocol):
    """The same with bounds that a test reaches."""

    request_s, max_connections = 0.5, 4


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Say hello once the request is whole."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        config = uvicorn.Config(app, http=Quick, ws="none", lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        yield bound.getsockname()[1]
        server.should_exit = True
        thread.join(PATIENCE_S)


@contextmanager
def connected(port: int, sent: bytes = b"") -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)) as made:
        made.sendall(sent)
        yield made


def is_closed(connection: socket.socket) -> bool:
    """Wait until it is; a timeout ends the test."""
    try:
        return connection.recv(1_000) == b""
    except ConnectionError:
        return True


def asked(connection: socket.socket) -> bool:
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"hello"):
        answer += connection.recv(1_000)
    return answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", HEAD + b"X: ", HEAD + b"Content-Length: 9\r\n\r\n"],
    ids=["nothing", "line", "head", "body"],
)
def test_a_request_that_does_not_come_is_not_waited_for(port: int, sent: bytes) -> None:
    with connected(port, sent) as slow:
        assert is_closed(slow)


def test_bytes_one_by_one_win_no_time(port: int) -> None:
    stopped = threading.Event()

    def trickle(connection: socket.socket) -> None:
        try:
            while not stopped.wait(0.05):
                connection.sendall(b"a")
        except OSError:
            pass

    with connected(port, b"GET /") as slow:
        thread = threading.Thread(target=trickle, args=(slow,))
        thread.start()
        try:
            assert is_closed(slow)
        finally:
            stopped.set()
            thread.join(PATIENCE_S)


def test_one_more_is_let_in_and_the_one_that_waits_longest_goes(port: int) -> None:
    with connected(port, b"GET /") as first, connected(port) as second, connected(port), connected(port):
        assert asked(second)
        with connected(port) as one_more:
            assert asked(one_more)
            assert is_closed(first)


def test_requests_over_one_connection_are_answered_one_after_the_other(port: int) -> None:
    with connected(port) as browser:
        assert all(asked(browser) for _ in range(5))
