"""What a client is connected to, on loopback: a scripted server, and a relay that can fall silent."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import urljoin

import grpc
from google.protobuf import message_factory
from google.protobuf.message import Message

from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

_OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),  # as the server's default
    ("grpc.max_send_message_length", 64 << 20),
    # As the server: a client that pings more often is sent away.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.so_reuseport", 0),
]
# More than any scenario keeps waiting at once.
_WORKERS = 8
# A read of the relay: chosen, any size works.
_CHUNK_BYTES = 65_536
_HREF = re.compile(rb'href="([^"]+)"')
_METHODS = {
    method.name: method
    for file in (scoring_pb2.DESCRIPTOR, crawl_service_pb2.DESCRIPTOR)
    for service in file.services_by_name.values()
    for method in service.methods
}


@dataclass(frozen=True)
class Fail:
    """Ends a call with a status; `raw_details` are those of Google's error model, or what is none."""

    code: grpc.StatusCode
    message: str = "told to fail"
    raw_details: bytes = b""


HANG = object()
"""Keeps a call waiting until the client gives it up."""


@dataclass
class Seen:
    """One call as it arrived."""

    method: str
    request: Any  # The message
    metadata: dict[str, str]  # Of the call, by lower-case key
    deadline_s: float | None  # Seconds left when it arrived; None without a deadline
    # Set when the call is over, given up by the client or answered
    ended: threading.Event = field(default_factory=threading.Event)


class FakeServer(grpc.GenericRpcHandler):
    """Answers each call with the next step scripted for its method, else by `default_answer`.

    A step is `Fail`, `HANG` or a message. `tls`: files of its certificate, beside its key, and of the
    authority that clients must have one of.
    """

    def __init__(self, *, tls: Sequence[Path] = (), port: int = 0) -> None:
        self._calls: list[Seen] = []
        self._steps: defaultdict[str, deque[Any]] = defaultdict(deque)
        self._closing = threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(_WORKERS), [self], options=_OPTIONS)
        address = f"127.0.0.1:{port}"
        if tls:
            cert, *ca = (path.read_bytes() for path in tls)
            pair = (tls[0].with_suffix(".key").read_bytes(), cert)
            secrets = grpc.ssl_server_credentials([pair], ca[0] if ca else None, bool(ca))
            self.port: int = self._server.add_secure_port(address, secrets)
        else:
            self.port = self._server.add_insecure_port(address)
        self._server.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End at once, calls under way included; returns when the port is free."""
        self._closing.set()
        self._server.stop(0).wait()

    def script(self, method: str, *steps: Any) -> None:
        """Say what the next calls of a method meet, in turn."""
        self._steps[method] += steps

    def seen(self, method: str) -> list[Seen]:
        """Return the calls of a method that arrived so far."""
        return [call for call in self._calls if call.method == method]

    def service(self, details: Any) -> Any:
        """Return what answers a call, as gRPC asks it."""
        name = details.method.rpartition("/")[2]
        asked = message_factory.GetMessageClass(_METHODS[name].input_type)
        return grpc.unary_unary_rpc_method_handler(
            partial(self._answer, name), asked.FromString, lambda message: message.SerializeToString()
        )

    def _answer(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        metadata = {key: str(value) for key, value in context.invocation_metadata()}
        call = Seen(method, request, metadata, context.time_remaining())
        if not context.add_callback(call.ended.set):
            call.ended.set()
        self._calls.append(call)
        steps = self._steps[method]
        step = steps.popleft() if steps else default_answer(method, request)
        if step is HANG:
            while not (call.ended.wait(0.05) or self._closing.is_set()):
                pass
            context.abort(grpc.StatusCode.CANCELLED, "given up")
        if isinstance(step, Fail):
            if step.raw_details:
                context.set_trailing_metadata((("grpc-status-details-bin", step.raw_details),))
            context.abort(step.code, step.message)
        return step


def answer_type(method: str) -> type[Message]:
    """Return the message that answers a method."""
    kind: type[Message] = message_factory.GetMessageClass(_METHODS[method].output_type)
    return kind


def default_answer(method: str, request: Any) -> Any:
    """Answer as a server would that knows two buckets: ``good`` is worth .9, any other .1."""
    ok = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_OK)
    if method in ("CreateCrawl", "UpdateCrawl"):
        return answer_type(method)(crawl=request.crawl)
    if method == "IngestPages":
        results = [scoring_pb2.PageResult(status=ok, links=_links(page)) for page in request.pages]
        return scoring_pb2.IngestPagesResponse(results=results)
    if method == "RankBuckets":
        values = [0.9 if bucket == "good" else 0.1 for bucket in request.buckets]
        order = sorted(range(len(values)), key=lambda row: -values[row])
        return scoring_pb2.RankBucketsResponse(order=order, values=[values[row] for row in order])
    if method == "ReportFeedback":
        return scoring_pb2.ReportFeedbackResponse(statuses=[ok] * len(request.feedback))
    return Fail(grpc.StatusCode.UNIMPLEMENTED, f"no answer to {method}")


def _links(page: common_pb2.Page) -> common_pb2.LinkScores:
    urls = [urljoin(page.final_url or page.url, href.decode()) for href in _HREF.findall(page.body)]
    kinds = [int("/good" in url) for url in urls]
    return common_pb2.LinkScores(
        urls=urls,
        scores=[(0.1, 0.9)[kind] for kind in kinds],
        buckets=kinds,
        bucket_names=["bad", "good"],
        bucket_values=[0.1, 0.9],
        tickets=kinds,
        ticket_values=[b"tb", b"tg"],
    )


class Relay:
    """Passes bytes between whoever connects and a port of this machine.

    Its connections can fall silent unclosed, as behind a firewall that forgot them. `own`: the port it has.
    """

    def __init__(self, port: int, own: int = 0) -> None:
        self._upstream = port
        self._silent: set[socket.socket] = set()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", own))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for each in (self._listener, *self._open):
            # Closing a socket does not wake a thread that reads from it; shutting it down does.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def silence(self) -> None:
        """Pass nothing more on the connections there are; later ones work."""
        self._silent |= set(self._open)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._upstream))
                self._open += (near, far)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK_BYTES):
                if source not in self._silent:
                    sink.sendall(chunk)
            if source not in self._silent:
                sink.shutdown(socket.SHUT_WR)
