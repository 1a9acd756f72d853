"""Calls as JSON over HTTP, as Connect's unary protocol has it: an application that calls the own server.

``POST /linkscore.v1.Service/Method`` with a message as protobuf's JSON; the answer is one too, or a status
as JSON. It calls over gRPC as any client does: the same tokens, bounds, turns and errors.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any

import grpc
import uvicorn
from google.protobuf import json_format, message_factory
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from linkscore_scoring.errors import InvalidInput
from linkscore_server import tasks
from linkscore_server.door import METADATA
from linkscore_server.observability import REQUEST_ID
from linkscore_server.operator_files import tls_problems
from linkscore_server.services.contract import METHODS, MalformedMessage, Overloaded, status_of
from linkscore_server.settings import Settings

OPENAPI = Path(__file__).with_name("openapi.json")
_JSON = "application/json"
_MOST_BYTES, _MOST_VALUES, _MOST_OBJECTS = 16 << 20, 250_000, 25_000
"""Of a request: a page of 10 MB in base64, more than 100,000 buckets have, more than the links of a call.
Protobuf reads each in Python. Bounds."""
_LARGE_BYTES, _LARGE = 1 << 16, 4
"""Requests from so many bytes are read so many at a time, and beside the event loop. Bounds."""
_CONNECTIONS, _REQUEST_S, _KEPT_S = 500, 20.0, 60
"""Connections at a time; seconds for TLS and a request, and without one. Bounds."""
_BACKLOG = 100
"""Connections accepted before the bound is looked at again."""
_LOOK_S = 10.0  # between two looks at the files of the certificate; chosen
_WHY_CHARS = 300  # of what protobuf says of a request: it may repeat all of it
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_HTTP = {
    "CANCELLED": 499, "UNKNOWN": 500, "INVALID_ARGUMENT": 400, "DEADLINE_EXCEEDED": 504, "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409, "PERMISSION_DENIED": 403, "RESOURCE_EXHAUSTED": 429, "FAILED_PRECONDITION": 400,
    "ABORTED": 409, "OUT_OF_RANGE": 400, "UNIMPLEMENTED": 501, "INTERNAL": 500, "UNAVAILABLE": 503,
    "DATA_LOSS": 500, "UNAUTHENTICATED": 401,
}  # fmt: skip
"""HTTP status by code, as Connect's specification lists them."""


def _size_of(request: Request) -> int:
    """Return the bytes of the body of a call; HTTPException if it is none that may be read."""
    headers = request.headers
    if "origin" in headers:  # a page in a browser of somebody who can reach this port
        raise HTTPException(403, "web pages may not call this server")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise HTTPException(415, f"content-type must be {_JSON}")
    if headers.get("content-encoding", "identity") != "identity":
        raise HTTPException(415, "content-encoding must be identity")
    if "transfer-encoding" in headers:
        raise HTTPException(411, "a body needs a content-length, and no chunks")
    size = int(headers.get("content-length", 0))
    if size > _MOST_BYTES:
        raise _too_many(f"{_MOST_BYTES} bytes", "BODY_TOO_LARGE")
    return size


async def _body(request: Request) -> bytes:
    try:
        async with asyncio.timeout(_REQUEST_S):
            return await request.body()
    except TimeoutError:
        raise Overloaded(f"the request did not come within {_REQUEST_S:g} s", 1.0) from None


def _message_of(body: bytes, method: Any) -> bytes:
    if body.count(b"{") > _MOST_OBJECTS or body.count(b",") + body.count(b"[") > _MOST_VALUES:
        raise _too_many(f"{_MOST_OBJECTS} objects or {_MOST_VALUES} values", "TOO_MANY_ITEMS")
    message = message_factory.GetMessageClass(method.input_type)()
    try:
        values = json.loads(body or b"{}")
        if not isinstance(values, dict):
            raise ValueError(f"must be an object, got {str(values)[:_WHY_CHARS]}")
        json_format.ParseDict(values, message)
    except Exception as error:  # what protobuf raises depends on the message
        rule = f"no {method.input_type.name} in JSON: {str(error)[:_WHY_CHARS]}"
        raise MalformedMessage(rule) from None
    for path in _no_base64(values, method.input_type):
        raise InvalidInput("must be base64", field=path)
    return message.SerializeToString()


def _no_base64(values: Any, descriptor: Any, path: str = "") -> Iterator[str]:
    """Yield the fields of bytes whose text is no base64; protobuf leaves out what is none."""
    for field in descriptor.fields:
        given = values.get(field.json_name, values.get(field.name))
        each = given if isinstance(given, list) else [given]
        if field.type == field.TYPE_BYTES:
            yield from (path + field.name for text in each if text and not _BASE64.fullmatch(text))
        elif field.message_type is not None and field.message_type.file.package.startswith("linkscore"):
            for inner in each:
                if isinstance(inner, dict):
                    yield from _no_base64(inner, field.message_type, f"{path}{field.name}.")


def _too_many(what: str, reason: str) -> InvalidInput:
    return InvalidInput(f"must have at most {what} in JSON", field="request", reason=reason)


async def _no_call(request: Request, error: Exception) -> Response:
    """Answer what is no call by its HTTP status."""
    assert isinstance(error, HTTPException)
    code = code_pb2.PERMISSION_DENIED if error.status_code == 403 else code_pb2.UNIMPLEMENTED
    why = {
        404: f"{request.url.path[:200]}: no such call; GET /openapi.json lists them",
        405: "calls are POST /linkscore.v1.SERVICE/METHOD; GET /openapi.json lists them",
    }.get(error.status_code, error.detail)
    headers = {"connection": "close", **(error.headers or {})}
    return _response(error.status_code, _error(status_pb2.Status(code=code, message=why)), headers)


def _failed(status: status_pb2.Status, request_id: str) -> Response:
    headers = {REQUEST_ID: request_id}
    for detail in status.details:
        wait = error_details_pb2.RetryInfo()
        if detail.Unpack(wait):
            headers["retry-after"] = str(math.ceil(wait.retry_delay.ToNanoseconds() / 1e9))
    return _response(_HTTP.get(code_pb2.Code.Name(status.code), 500), _error(status), headers)


def _response(http: int, said: str, headers: Mapping[str, str]) -> Response:
    return Response(said.encode("utf-8", "backslashreplace"), http, headers, media_type=_JSON)


def _error(status: status_pb2.Status) -> str:
    """Return a status as Connect writes it; `debug` shows each detail for people."""
    said: dict[str, Any] = {
        "code": code_pb2.Code.Name(status.code).lower().replace("cancelled", "canceled"),
        "message": status.message,
    }
    for detail in status.details:
        debug = json_format.MessageToDict(detail)
        debug.pop("@type", None)
        value = base64.b64encode(detail.value).decode().rstrip("=")
        said.setdefault("details", []).append({"type": detail.TypeName(), "value": value, "debug": debug})
    return json.dumps(said, ensure_ascii=False)


class _Protocol(H11Protocol):
    """Closes connections that bring no request in time, or are one too many: files are the server's too.

    What bounds the head of a request, and what comes before it is read, is h11's.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(_REQUEST_S, self._close_if_silent)
        if len(self.connections) > _CONNECTIONS:
            others = (one for one in self.connections if isinstance(one, _Protocol) and one is not self)
            next((one for one in others if one.cycle is None), self).transport.close()

    def _close_if_silent(self) -> None:
        if self.cycle is None:
            self.transport.close()


class JsonPort(uvicorn.Server):
    """The port, on the event loop of the server, which it calls as a client; signals stay the server's."""

    def __init__(self, settings: Settings, server: str) -> None:
        self._settings = settings
        self._channel = grpc.aio.insecure_channel(server, [("grpc.max_receive_message_length", -1)])
        self._large = asyncio.Semaphore(_LARGE)
        config = uvicorn.Config(
            self.app(),
            http=_Protocol,
            backlog=_BACKLOG,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEPT_S,
            timeout_graceful_shutdown=math.ceil(settings.drain_s),
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
            ssl_ca_certs=settings.tls_client_ca or None,
            ssl_cert_reqs=ssl.CERT_REQUIRED if settings.tls_client_ca else ssl.CERT_NONE,
        )
        super().__init__(config)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._serving: asyncio.Task[None] | None = None

    def app(self) -> Starlette:
        calls = [
            Route(
                f"/{one.containing_service.full_name}/{one.name}",
                partial(self._answer, one),
                methods=["POST"],
            )
            for one in METHODS.values()
        ]
        described = Route("/openapi.json", lambda request: FileResponse(OPENAPI, media_type=_JSON))
        return Starlette(routes=[described, *calls], exception_handlers={HTTPException: _no_call})

    async def _answer(self, method: Any, request: Request) -> Response:
        try:
            return await self._called(request, method)
        except grpc.aio.AioRpcError as error:
            known = rpc_status.from_call(error)
            status = known or status_pb2.Status(code=error.code().value[0], message=error.details() or "")
            named = dict(error.trailing_metadata() or ())
            return _failed(status, str(named.get(REQUEST_ID, "")))
        except ClientDisconnect:
            return Response(status_code=_HTTP["CANCELLED"])  # which nobody reads
        except HTTPException:
            raise
        except Exception as error:
            return _failed(status_of(error), "")

    async def _called(self, request: Request, method: Any) -> Response:
        size = _size_of(request)
        async with self._large if size >= _LARGE_BYTES else nullcontext():
            raw = await asyncio.to_thread(_message_of, await _body(request), method)
        timeout = request.headers.get("connect-timeout-ms", "")
        call_it: Any = self._channel.unary_unary(request.url.path)
        calling = call_it(
            raw,
            timeout=int(timeout) / 1e3 if timeout.isdecimal() and len(timeout) <= 10 else None,
            metadata=[(name, request.headers[name]) for name in METADATA if name in request.headers],
        )
        answer = await calling
        named = dict(await calling.trailing_metadata())
        message = message_factory.GetMessageClass(method.output_type).FromString(answer)
        write = json_format.MessageToJson
        said = await asyncio.to_thread(write, message, indent=None, ensure_ascii=False)
        return _response(200, said, {REQUEST_ID: str(named.get(REQUEST_ID, ""))})

    def start(self, bound: socket) -> None:
        """Answer at a socket."""
        self._serving = tasks.beside(self.serve(sockets=[bound]), "the port of JSON")
        if self._settings.tls_cert:
            tasks.for_ever(self._follow, "looking at certificates", self._tasks, again_s=_LOOK_S)

    async def stop(self) -> None:
        """Let nobody in any more; return when those that are in have their answers, or when it is late."""
        self.should_exit = True
        for task in self._tasks:
            task.cancel()
        if self._serving is not None:
            await self._serving
        await self._channel.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the server."""
        yield

    async def _follow(self) -> None:
        """Take the certificate of now for new connections; one that cannot be used changes nothing."""
        s = self._settings
        if self.config.ssl is not None and not tls_problems(s.tls_cert, s.tls_key, s.tls_client_ca):
            self.config.ssl.load_cert_chain(s.tls_cert, s.tls_key, password="")
