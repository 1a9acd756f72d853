"""JSON over HTTP while a server ends, and when its certificate changes."""

from __future__ import annotations

import base64
import json
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linkscore import Client
from linkscore_lab.conformance import make_certificates
from support.json_calls import JSON, Posted, port_of, post
from support.server_process import PATIENCE_S, ServerProcess, serving

pytestmark = pytest.mark.long


def pages(crawl: str, *numbers: int, chars: int = 40) -> bytes:
    body = base64.b64encode(b"<p>" + b"x" * chars).decode()
    sent = [
        {"eventId": f"p{n}", "url": f"http://h.example/{n}", "statusCode": 200, "body": body} for n in numbers
    ]
    return json.dumps({"crawl": f"crawls/{crawl}", "pages": sent}).encode()


def created(process: ServerProcess, crawl: str = "day", **how: Any) -> None:
    request = json.dumps({"crawl": {"name": f"crawls/{crawl}"}}).encode()
    assert post(process, "CrawlService/CreateCrawl", request, **how).status == 200


def ingested(process: ServerProcess, *numbers: int, **how: Any) -> Posted:
    return post(process, "LinkScoringService/IngestPages", pages("day", *numbers), **how)


def counted(process: ServerProcess, **how: Any) -> int:
    got = post(process, "CrawlService/GetCrawl", b'{"name": "crawls/day"}', **how)
    return int(got.said["crawl"].get("pageCount", 0))


def waited(until: Callable[[], bool]) -> bool:
    """Wait for what comes within the time that a server has."""
    end = time.monotonic() + PATIENCE_S
    while not until() and time.monotonic() < end:
        time.sleep(0.05)
    return until()


def test_a_call_in_flight_is_answered_when_the_server_is_told_to_end(tmp_path: Path) -> None:
    with serving(tmp_path, *JSON) as process:
        created(process)
        body = pages("day", 0)
        head = "POST /linkscore.v1.LinkScoringService/IngestPages HTTP/1.1\r\nhost: x\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port_of(process)), timeout=PATIENCE_S) as begun:
            begun.sendall(head.encode() + body[:20])
            assert waited(lambda: post(process, "CrawlService/ListCrawls", b"{}").status == 200)
            process.process.send_signal(signal.SIGTERM)
            assert waited(lambda: any("draining" in record["message"] for record in process.records()))
            begun.sendall(body[20:])
            answer = b""
            while piece := begun.recv(65_536):
                answer += piece
        assert process.process.wait(PATIENCE_S) == 0
        status = int(answer.split()[1])
        assert status in {200, 503}  # taken, or told to come again: never cut off
    with serving(tmp_path, *JSON) as process:
        assert counted(process) == (1 if status == 200 else 0)


def test_a_body_that_never_ends_does_not_keep_a_server_from_ending(tmp_path: Path) -> None:
    head = (
        b"POST /linkscore.v1.LinkScoringService/IngestPages HTTP/1.1\r\nhost: x\r\n"
        b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
    )
    with (
        serving(tmp_path, *JSON, "--drain-s", "1") as process,
        socket.create_connection(("127.0.0.1", port_of(process))) as begun,
    ):
        begun.sendall(head)
        assert post(process, "CrawlService/ListCrawls", b"{}").status == 200
        assert process.terminate() == 0


@pytest.mark.slow
def test_a_server_goes_on_after_sighup_and_has_the_new_certificate(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    made, other = make_certificates(tmp_path / "a"), make_certificates(tmp_path / "b")
    flags = ("--tls-cert", str(made / "server.pem"), "--tls-key", str(made / "server.key"))
    with serving(tmp_path / "s", *JSON, *flags) as process:
        first = ssl.create_default_context(cafile=str(made / "ca.pem"))
        assert post(process, "CrawlService/ListCrawls", b"{}", tls=first).status == 200
        for name in ("server.pem", "server.key"):
            (made / name).write_bytes((other / name).read_bytes())
        process.process.send_signal(signal.SIGHUP)
        then = ssl.create_default_context(cafile=str(other / "ca.pem"))

        def is_new() -> bool:
            try:
                return post(process, "CrawlService/ListCrawls", b"{}", tls=then).status == 200
            except ssl.SSLError:
                return False

        assert waited(is_new)
        assert process.terminate() == 0


def test_connections_that_say_nothing_do_not_keep_others_out(tmp_path: Path) -> None:
    with ExitStack() as stack:
        process = stack.enter_context(serving(tmp_path, *JSON, within=["prlimit", "--nofile=1024:1024"]))
        port = port_of(process)
        for _ in range(1_200):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
        created(process)
        with Client(process.target, timeout_s=PATIENCE_S) as client:
            assert client.get_crawl(crawl="day").page_count == 0
