"""What a client is connected to, on loopback: a scripted server, and a relay that can fall silent.

`FakeServer` answers as it is told and remembers what it was asked, in real gRPC.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import grpc
from google.protobuf import message_factory
from google.protobuf.message import Message

from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

# As the server's default (setting `max_message_bytes`).
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
# As the server (`app._MIN_PING_MS`): a client that pings more often is sent away.
MIN_PING_INTERVAL_MS = 5_000
# More than any scenario keeps waiting at once.
_WORKERS = 8
# A read of the relay: chosen, any size works.
_CHUNK_BYTES = 65_536
_HREF = re.compile(rb'href="([^"]+)"')
_SERVICES = (scoring_pb2.DESCRIPTOR, crawl_service_pb2.DESCRIPTOR)


@dataclass(frozen=True)
class Fail:
    """Ends a call with a status; `raw_details` are those of Google's error model, or what is none."""

    code: grpc.StatusCode
    message: str = "told to fail"
    raw_details: bytes = b""


HANG = object()
"""Keeps a call waiting until the client gives it up."""
Step = Any
"""What the server does with one call: fail it (`Fail`), never answer (`HANG`), or answer with a message."""


@dataclass
class Seen:
    """One call as it arrived."""

    method: str
    request: Any  # The message
    metadata: dict[str, str]  # Of the call, by lower-case key
    deadline_s: float | None  # Seconds left when it arrived; None without a deadline
    # Set when the call is over, given up by the client or answered
    ended: threading.Event = field(default_factory=threading.Event)


class FakeServer:
    """Answers each call with the next step scripted for its method, else by `default_answer`.

    Examples
    --------
    >>> from linkscore import Client
    >>> with FakeServer() as server, Client(server.target) as client:
    ...     server.script("RankBuckets", Fail(grpc.StatusCode.UNAVAILABLE))
    ...     values = client.rank_buckets(crawl="x", buckets=["good", "bad"]).values
    >>> list(values), len(server.seen("RankBuckets"))
    ([0.9, 0.1], 2)
    """

    def __init__(self, *, tls: Sequence[Path] | None = None, port: int = 0) -> None:
        self.calls: list[Seen] = []
        self._steps: defaultdict[str, deque[Step]] = defaultdict(deque)
        self._closing = threading.Event()
        options = [
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.http2.min_ping_interval_without_data_ms", MIN_PING_INTERVAL_MS),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.so_reuseport", 0),
        ]
        self._server = grpc.server(ThreadPoolExecutor(_WORKERS), options=options)
        for service in (s for file in _SERVICES for s in file.services_by_name.values()):
            handlers = {method.name: self._handler(method) for method in service.methods}
            self._server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(service.full_name, handlers),)
            )
        address = f"127.0.0.1:{port}"
        self.port: int = (
            self._server.add_secure_port(address, _credentials(*tls))
            if tls
            else self._server.add_insecure_port(address)
        )
        self._server.start()

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def target(self) -> str:
        """`host:port` to connect to."""
        return f"localhost:{self.port}"

    def stop(self) -> None:
        """End at once, calls under way included; returns when the port is free."""
        self._closing.set()
        self._server.stop(0).wait()

    def script(self, method: str, *steps: Step) -> None:
        """Say what the next calls of a method meet, in turn."""
        self._steps[method] += steps

    def seen(self, method: str) -> list[Seen]:
        """Return the calls of a method that arrived so far."""
        return [call for call in self.calls if call.method == method]

    def _handler(self, method: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._unary(method.name, request, context),
            request_deserializer=message_factory.GetMessageClass(method.input_type).FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    def _unary(self, method: str, request: Any, context: grpc.ServicerContext) -> Message:
        self._note(method, request, context)
        step = self._next(method, context)
        return step if isinstance(step, Message) else default_answer(method, request, context)

    def _note(self, method: str, request: Any, context: grpc.ServicerContext) -> Seen:
        metadata = {key: str(value) for key, value in context.invocation_metadata()}
        call = Seen(method, request, metadata, context.time_remaining())
        if not context.add_callback(call.ended.set):
            call.ended.set()
        self.calls.append(call)
        return call

    def _next(self, method: str, context: grpc.ServicerContext) -> Step | None:
        """Take the step of a call, and carry it out unless it is an answer."""
        steps = self._steps[method]
        step = steps.popleft() if steps else None
        if step is HANG:
            over = threading.Event()
            context.add_callback(over.set)
            while not (over.wait(0.05) or self._closing.is_set()):
                pass
            context.abort(grpc.StatusCode.CANCELLED, "given up")
        if isinstance(step, Fail):
            _fail(step, context)
        return step


def _credentials(cert: Path, client_ca: Path | None = None) -> grpc.ServerCredentials:
    """Return what a server listens with: with `client_ca` it wants a certificate of that authority."""
    pair = (cert.with_suffix(".key").read_bytes(), cert.read_bytes())
    ca = client_ca.read_bytes() if client_ca else None
    return grpc.ssl_server_credentials([pair], ca, require_client_auth=ca is not None)


def answer_type(method: str) -> type[Message]:
    """Return the message that answers a method."""
    services = (service for file in _SERVICES for service in file.services_by_name.values())
    found = next(found for service in services if (found := service.methods_by_name.get(method)))
    kind: type[Message] = message_factory.GetMessageClass(found.output_type)
    return kind


def default_answer(method: str, request: Any, context: grpc.ServicerContext) -> Message:
    """Answer as a server would that knows two buckets: ``good`` is worth .9, any other .1."""
    make = _ANSWERS.get(method)
    if make is None:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"no answer to {method}")
    return make(request)


def _fail(step: Fail, context: grpc.ServicerContext) -> None:
    if step.raw_details:
        context.set_trailing_metadata((("grpc-status-details-bin", step.raw_details),))
    context.abort(step.code, step.message)


def _result(page: common_pb2.Page) -> scoring_pb2.PageResult:
    urls = [urljoin(page.final_url or page.url, href.decode()) for href in _HREF.findall(page.body)]
    ok = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_OK)
    return scoring_pb2.PageResult(status=ok, links=_links(urls))


def _links(urls: Sequence[str]) -> common_pb2.LinkScores:
    kinds = [int("/good" in url) for url in urls]
    return common_pb2.LinkScores(
        urls=urls,
        scores=[_value(("bad", "good")[kind]) for kind in kinds],
        buckets=kinds,
        bucket_names=["bad", "good"],
        bucket_values=[_value("bad"), _value("good")],
        tickets=kinds,
        ticket_values=[b"tb", b"tg"],
    )


def _value(bucket: str) -> float:
    return 0.9 if bucket == "good" else 0.1


def _ranked(request: scoring_pb2.RankBucketsRequest) -> scoring_pb2.RankBucketsResponse:
    order = sorted(range(len(request.buckets)), key=lambda i: -_value(request.buckets[i]))
    values = [_value(request.buckets[i]) for i in order]
    return scoring_pb2.RankBucketsResponse(order=order, values=values)


def _noted(request: scoring_pb2.ReportFeedbackRequest) -> scoring_pb2.ReportFeedbackResponse:
    ok = common_pb2.ItemStatus(code=common_pb2.ITEM_CODE_OK)
    return scoring_pb2.ReportFeedbackResponse(statuses=[ok] * len(request.feedback))


_ANSWERS: dict[str, Callable[[Any], Message]] = {
    "CreateCrawl": lambda request: crawl_service_pb2.CreateCrawlResponse(crawl=request.crawl),
    "UpdateCrawl": lambda request: crawl_service_pb2.UpdateCrawlResponse(crawl=request.crawl),
    "IngestPages": lambda request: scoring_pb2.IngestPagesResponse(
        results=[_result(page) for page in request.pages]
    ),
    "RankBuckets": _ranked,
    "ReportFeedback": _noted,
}


class Relay:
    """Passes bytes between whoever connects and a port of this machine.

    Its connections can fall silent unclosed, as behind a firewall that forgot them.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._silent: set[socket.socket] = set()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *exc: object) -> None:
        for each in (self._listener, *self._open):
            # Closing a socket does not wake a thread that reads from it; shutting it down does.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def target(self) -> str:
        """`host:port` to connect to."""
        return f"localhost:{self.port}"

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
