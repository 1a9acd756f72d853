"""A whole server without sockets: raw requests in, raw answers and statuses out, as fast as it can."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from linkscore.v1 import (
    browse_log_service_pb2,
    crawl_service_pb2,
    inspection_service_pb2,
    link_scoring_service_pb2,
    site_model_service_pb2,
)
from linkscore_scoring.features.types import Limits
from linkscore_server.browse_logs.annex import BrowseLogs
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.directories import Parts, directory_of
from linkscore_server.grpc.admission import DelayEstimator
from linkscore_server.grpc.contract import add_services, complete
from linkscore_server.grpc.convert.pages import PageParser
from linkscore_server.grpc.crawls import CrawlService
from linkscore_server.grpc.gate import Gate
from linkscore_server.grpc.inspection import InspectionService
from linkscore_server.grpc.interceptors import CallInterceptor
from linkscore_server.grpc.room import InflightBytes
from linkscore_server.grpc.scoring import LinkScoringService
from linkscore_server.grpc.sites import SiteModelService
from linkscore_server.observability.metrics import Metrics
from linkscore_server.revisits import Revisits
from linkscore_server.rule_files import RuleFiles
from linkscore_server.services import Host
from linkscore_server.settings import Settings
from linkscore_server.storage.base import Store

_POLL_S = 0.0005
"""Between looks whether learnings have ended."""

SERVICES: tuple[ServiceDescriptor, ...] = (
    link_scoring_service_pb2.DESCRIPTOR.services_by_name["LinkScoringService"],
    crawl_service_pb2.DESCRIPTOR.services_by_name["CrawlService"],
    site_model_service_pb2.DESCRIPTOR.services_by_name["SiteModelService"],
    browse_log_service_pb2.DESCRIPTOR.services_by_name["BrowseLogService"],
    inspection_service_pb2.DESCRIPTOR.services_by_name["InspectionService"],
)


@dataclass(slots=True)
class Answer:
    """How a call ended: its status, with the reason's text, and the bytes of its responses."""

    code: grpc.StatusCode = grpc.StatusCode.OK
    details: str = ""
    responses: list[bytes] = field(default_factory=list)


class _Context:
    """What a handler sees of a call."""

    def __init__(self, requests: Sequence[bytes], answer: Answer) -> None:
        self._requests = deque(requests)
        self._answer = answer

    async def read(self) -> Any:
        return self._requests.popleft() if self._requests else grpc.aio.EOF

    def set_code(self, code: Any) -> None:
        self._answer.code = next(
            known for known in grpc.StatusCode if known == code or known.value[0] == code
        )

    def set_details(self, details: str) -> None:
        self._answer.details = details

    def set_trailing_metadata(self, metadata: Any) -> None:
        pass

    async def abort(self, code: Any, details: str, metadata: Any) -> None:
        self.set_code(code)
        self.set_details(details)

    def time_remaining(self) -> None:
        return None

    def cancelled(self) -> bool:
        return False

    def peer(self) -> str:
        return "in-process"


class _Details:
    def __init__(self, method: str) -> None:
        self.method = method
        self.invocation_metadata = ()


class _Noted(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        where = record.exc_info[1] if record.exc_info else None
        self.lines.append(f"{record.getMessage()}{f': {where!r}' if where else ''}")


class InProcess:
    """The services of a server behind its interceptor.

    Parameters
    ----------
    store
        Where events go.
    settings
        As of a server.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.metrics = Metrics()
        self.registry = CrawlRegistry(store, settings, self.metrics, domain_of=registrable_domain)
        self.parser = PageParser(Limits(), self._clock)
        self._now_s = 1_760_000_000.0
        host = Host(self.registry, settings, self.metrics, self._clock)
        self._browse_logs = BrowseLogs(host)
        self.registry.before_serving.append(self._browse_logs.recovered)
        self._handlers: list[Any] = []
        work = DelayEstimator(settings.target_delay_s)
        room = InflightBytes(settings.max_inflight_bytes, settings.max_message_bytes)
        self._calls = CallInterceptor(self.metrics, Gate(room, work))
        scoring = LinkScoringService(self.registry, self.parser, settings, self.metrics, self._clock, work)
        services = {
            "LinkScoringService": scoring,
            "CrawlService": CrawlService(self.registry, self._clock),
            "SiteModelService": SiteModelService(self.registry),
            **self._browse_logs.servicers,
            "InspectionService": InspectionService(self.registry),
        }
        all_calls = complete(services, {**RuleFiles(host).methods, **Revisits(host).methods})
        parts = Parts(settings, store, self.registry, scoring, all_calls, self.metrics, self._clock)
        add_services(directory_of(settings)(parts).servicers, self)  # type: ignore[arg-type]
        self._noted = _Noted()
        logging.getLogger("linkscore_server").addHandler(self._noted)

    def _clock(self) -> float:
        self._now_s += 0.001
        return self._now_s

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """See `grpc.aio.Server`."""
        self._handlers += handlers

    async def call(self, method: MethodDescriptor, requests: Sequence[bytes]) -> Answer:
        """Make a call, as a task of its own."""
        return await asyncio.create_task(self._call(method, requests))

    async def _call(self, method: MethodDescriptor, requests: Sequence[bytes]) -> Answer:
        path, answer = f"/{method.containing_service.full_name}/{method.name}", Answer()

        async def found(_: Any) -> Any:
            (handler,) = filter(None, (known.service(_Details(path)) for known in self._handlers))
            return handler

        handler = await self._calls.intercept_service(found, _Details(path))
        context = _Context(requests, answer)
        if handler.response_streaming:
            async for response in handler.stream_stream(None, context):
                answer.responses.append(response)
        elif (response := await handler.stream_unary(None, context)) is not None:
            answer.responses.append(response)
        return answer

    async def idle(self) -> None:
        """Wait for learnings and minings that calls began."""
        await self._browse_logs.idle()
        while any(actor.is_in_use for actor in self.registry.actors()):
            await asyncio.sleep(_POLL_S)

    def errors(self) -> list[str]:
        """Return what was logged as an error since the last time."""
        lines, self._noted.lines = self._noted.lines, []
        return lines

    async def close(self) -> None:
        """Stop, with a snapshot of every crawl."""
        await self.idle()
        self.parser.close()
        await self._browse_logs.close()
        await self.registry.close()
        logging.getLogger("linkscore_server").removeHandler(self._noted)
