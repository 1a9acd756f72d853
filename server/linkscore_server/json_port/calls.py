"""What a request means: a call of the contract in JSON, as Connect's unary protocol has it.

``POST /linkscore.v1.Service/Method`` with a message as protobuf's JSON; the answer is one too, or a status
as JSON. A call goes the way of one over gRPC from the gate on: the same tokens, room, turns and errors.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from linkscore_scoring.errors import InvalidInput
from linkscore_server.door import METADATA
from linkscore_server.grpc.contract import SERVICES, add_services
from linkscore_server.grpc.errors import REQUEST_ID as KEY
from linkscore_server.grpc.errors import MalformedMessage, status_of
from linkscore_server.json_port.http import Answer, Request

_JSON_BYTES = 16 << 20
"""Largest request in JSON: a page of 10 MB in base64. What is parsed takes some times its bytes. A bound."""

_VALUES = 250_000
"""Values in a request: more than 100,000 buckets to rank with how many links of each wait have. A bound."""

_OBJECTS = 25_000
"""Objects in a request: more than the links of a call (`max_links_per_call`). Each becomes a message in
protobuf's reader, the dearest of values. A bound."""

_LARGE_BYTES = 1 << 15
"""Bytes from which JSON is read and written beside the event loop, one at a time: 1 ms. Chosen."""

_WHY_CHARS = 300
"""Of what protobuf says of a request: it may repeat all of it. As many as a status has."""

_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string of JSON, also one that does not end: nothing is looked at twice."""

_JSON = "application/json"
_HTTP = {
    code_pb2.CANCELLED: 499,
    code_pb2.UNKNOWN: 500,
    code_pb2.INVALID_ARGUMENT: 400,
    code_pb2.DEADLINE_EXCEEDED: 504,
    code_pb2.NOT_FOUND: 404,
    code_pb2.ALREADY_EXISTS: 409,
    code_pb2.PERMISSION_DENIED: 403,
    code_pb2.RESOURCE_EXHAUSTED: 429,
    code_pb2.FAILED_PRECONDITION: 400,
    code_pb2.ABORTED: 409,
    code_pb2.OUT_OF_RANGE: 400,
    code_pb2.UNIMPLEMENTED: 501,
    code_pb2.INTERNAL: 500,
    code_pb2.UNAVAILABLE: 503,
    code_pb2.DATA_LOSS: 500,
    code_pb2.UNAUTHENTICATED: 401,
}
"""HTTP status by code, as Connect's specification lists them."""


class JsonCalls:
    """Answers requests by the handlers of a server.

    Parameters
    ----------
    servicers
        Who answers, by the name of the service.
    calls
        Wraps each handler: `grpc.interceptors.CallInterceptor`.
    openapi
        The description of the calls, as JSON.
    max_bytes
        Largest message of the server; JSON may have no more than `_JSON_BYTES` either.
    """

    def __init__(
        self, servicers: Mapping[str, Any], calls: Any, *, openapi: bytes = b"", max_bytes: int = _JSON_BYTES
    ) -> None:
        self._calls = calls
        self._openapi = openapi
        self._max_bytes = min(max_bytes, _JSON_BYTES)
        self._large = asyncio.Lock()
        added: list[Any] = []
        add_services(servicers, cast("Any", SimpleNamespace(add_generic_rpc_handlers=added.extend)))
        self._handlers = {
            path: (handler, message_factory.GetMessageClass(method.output_type))
            for name in servicers
            for method in SERVICES[name].services_by_name[name].methods
            for path in [f"/{method.containing_service.full_name}/{method.name}"]
            for each in added
            if (handler := each.service(_Details(path)))
        }

    async def answer(self, request: Request) -> Answer:
        """Answer one request."""
        try:
            return await self._answered(request)
        except Exception as error:
            return _failed(status_of(error), "")

    async def _answered(self, request: Request) -> Answer:
        if request.path == "/openapi.json" and request.method == "GET":
            return Answer(200, self._openapi, {"content-type": _JSON})
        if wrong := _wrong(request):
            return wrong
        if (found := self._handlers.get(request.path)) is None:
            why = f"{request.path[:200]}: no such call; GET /openapi.json lists them"
            return _refused(404, code_pb2.UNIMPLEMENTED, why)
        handler, answers = found
        if handler.request_streaming or handler.response_streaming:
            why = f"{request.path}: streams go over gRPC alone"
            return _refused(501, code_pb2.UNIMPLEMENTED, why)
        return await self._called(request, handler, answers)

    async def _called(self, request: Request, handler: Any, answers: type[Message]) -> Answer:
        timeout = request.headers.get("connect-timeout-ms", "")
        timeout_s = int(timeout) / 1e3 if timeout.isdecimal() and len(timeout) <= 10 else None
        context = _Context(lambda: self._message(request, handler), request, timeout_s)

        async def found(_: Any) -> Any:
            return handler

        wrapped = await self._calls.intercept_service(found, _Details(request.path, _metadata(request)))
        raw = b""
        try:
            async with asyncio.timeout(timeout_s):
                raw = await wrapped.stream_unary(None, context)
        except TimeoutError:
            context.set_code(grpc.StatusCode.DEADLINE_EXCEEDED)
            context.set_details("the time given by Connect-Timeout-Ms has passed")
        except grpc.aio.AbortError:
            pass
        if (status := context.status()) is not None:
            return _failed(status, context.request_id)
        body = await self._aside(len(raw), lambda: _json_of(answers.FromString(raw)))
        return Answer(200, body, {"content-type": _JSON, KEY: context.request_id})

    async def _message(self, request: Request, handler: Any) -> bytes:
        """Read a request and return it as a message in bytes.

        Raises
        ------
        InvalidInput
            If it is too large.
        MalformedMessage
            If it is no JSON, or not of that message.
        """
        length = request.headers.get("content-length", "0")
        size, pieces = 0, list[bytes]()
        if int(length) > self._max_bytes:
            raise _too_large(self._max_bytes)
        while piece := await request.read():
            size += len(piece)
            if size > self._max_bytes:
                raise _too_large(self._max_bytes)
            pieces.append(piece)
        text = b"".join(pieces)
        del pieces
        message = handler.request_deserializer(b"")
        return await self._aside(size, lambda: _message_of(text, message))

    async def _aside(self, size: int, work: Callable[[], bytes]) -> bytes:
        if size < _LARGE_BYTES:
            return work()
        async with self._large:
            return await asyncio.to_thread(work)


def _message_of(text: bytes, empty: Message) -> bytes:
    values = _TEXT.sub(b"", text)
    objects = values.count(b"{")
    if objects > _OBJECTS:
        raise _too_many(f"{_OBJECTS} objects")
    if values.count(b",") + values.count(b"[") + objects > _VALUES:
        raise _too_many(f"{_VALUES} values")
    del values
    try:
        json_format.Parse(text.decode() if text else "{}", empty)
        return empty.SerializeToString()
    except RecursionError:
        raise MalformedMessage("the JSON nests too deep") from None
    except Exception as error:  # what protobuf raises depends on the message
        raise MalformedMessage(f"no {empty.DESCRIPTOR.name} in JSON: {str(error)[:_WHY_CHARS]}") from None


def _json_of(message: Message) -> bytes:
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


def _too_many(what: str) -> InvalidInput:
    rule = f"has more than {what}: send fewer items in a call"
    return InvalidInput(rule, field="request", reason="TOO_MANY_ITEMS")


def _too_large(most: int) -> InvalidInput:
    return InvalidInput(f"must have at most {most} bytes of JSON", field="request", reason="BODY_TOO_LARGE")


def _wrong(request: Request) -> Answer | None:
    """Return the answer to what is no call, None if it may be one."""
    if request.method != "POST":
        why = "calls are POST /linkscore.v1.SERVICE/METHOD; GET /openapi.json lists them"
        return _refused(405, code_pb2.UNIMPLEMENTED, why, {"allow": "POST"})
    if "origin" in request.headers:  # a page in a browser of somebody who can reach this port
        return _refused(403, code_pb2.PERMISSION_DENIED, "web pages may not call this server")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        why = "content-type must be application/json"
        return _refused(415, code_pb2.INVALID_ARGUMENT, why, {"accept-post": _JSON})
    if request.headers.get("content-encoding", "identity") != "identity":
        return _refused(415, code_pb2.UNIMPLEMENTED, "content-encoding must be identity")
    return None


def _refused(http: int, code: int, why: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(
        http, _error(status_pb2.Status(code=code, message=why)), {"content-type": _JSON, **(headers or {})}
    )


def _failed(status: status_pb2.Status, request_id: str) -> Answer:
    headers = {"content-type": _JSON, KEY: request_id}
    for detail in status.details:
        wait = error_details_pb2.RetryInfo()
        if detail.Unpack(wait):
            headers["retry-after"] = str(math.ceil(wait.retry_delay.ToNanoseconds() / 1e9))
    return Answer(_HTTP.get(status.code, 500), _error(status), headers)


def _error(status: status_pb2.Status) -> bytes:
    """Return a status as Connect writes it; `debug` shows each detail for people."""
    details = [
        {
            "type": detail.TypeName(),
            "value": base64.b64encode(detail.value).decode().rstrip("="),
            "debug": {
                name: value for name, value in json_format.MessageToDict(detail).items() if name != "@type"
            },
        }
        for detail in status.details
    ]
    said = {
        "code": code_pb2.Code.Name(status.code).lower().replace("cancelled", "canceled"),
        "message": status.message,
    }
    return json.dumps(said | ({"details": details} if details else {}), ensure_ascii=False).encode()


def _metadata(request: Request) -> tuple[tuple[str, str], ...]:
    return tuple((name, request.headers[name]) for name in METADATA if name in request.headers)


class _Details(grpc.HandlerCallDetails):
    def __init__(self, method: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self.method = method
        self.invocation_metadata = metadata


class _Context:
    """What the gate and handlers ask of a call, as `grpc.aio.ServicerContext` answers it."""

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], request: Request, timeout_s: float | None
    ) -> None:
        self._read: Callable[[], Awaitable[bytes]] | None = read
        self._peer, self._metadata = request.peer, _metadata(request)
        self._until_s = None if timeout_s is None else time.monotonic() + timeout_s
        self._code = grpc.StatusCode.OK
        self._why = ""
        self._trailers: dict[str, Any] = {}

    @property
    def request_id(self) -> str:
        """The name of the call."""
        return str(self._trailers.get(KEY, ""))

    def status(self) -> status_pb2.Status | None:
        """Return how the call failed, None if it did not."""
        if self._code is grpc.StatusCode.OK:
            return None
        detailed = self._trailers.get("grpc-status-details-bin")
        if detailed is not None:
            return status_pb2.Status.FromString(detailed)
        return status_pb2.Status(code=self._code.value[0], message=self._why)

    async def read(self) -> Any:
        """Return the request, once."""
        if self._read is None:
            return grpc.aio.EOF
        read, self._read = self._read, None
        return await read()

    def peer(self) -> str:
        """Return the other end."""
        return self._peer

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """Return what came beside the request."""
        return self._metadata

    def time_remaining(self) -> float | None:
        """Return the seconds left, None if nobody set a bound."""
        return None if self._until_s is None else max(0.0, self._until_s - time.monotonic())

    def cancelled(self) -> bool:
        """Say no: a call whose client is gone is cancelled itself."""
        return False

    def set_code(self, code: grpc.StatusCode) -> None:
        """Say how the call ended."""
        self._code = code

    def set_details(self, why: str) -> None:
        """Say why."""
        self._why = why

    def set_trailing_metadata(self, trailers: Any) -> None:
        """Say what goes with the answer."""
        self._trailers = dict(trailers)

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()) -> None:
        """End the call.

        Raises
        ------
        grpc.aio.AbortError
            Always.
        """
        self._code, self._why = code, details
        self._trailers |= dict(trailing_metadata)
        raise grpc.aio.AbortError
