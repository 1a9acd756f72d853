"""What tells calls apart: a name for each, and OpenTelemetry traces with a span for each stage of a page.

Off, `NO_TRACING` stands in: nothing of OpenTelemetry is imported, a stage costs a call of a function. On, the
spans of a page are `read` (HTML to features), `apply` with `observe` and `score` in it, once its event is
durable, and `answer`. Spans name no crawl, site or URL.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from linkscore_scoring.engine.crawl import Watch, unwatched
from linkscore_server import tasks

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_OURS = "linkscore.v1."
_FLUSH_S = 2.0
"""Longest wait at the stop for a collector to take the last spans; chosen, so that one that is away does not
hold up a drained server."""


REQUEST_ID = "x-request-id"
"""Metadata by which a client may name its call, and trailing metadata that names every call."""

_NAME_BYTES = 8
"""Of a made name: two of a billion calls are named alike with a chance of 3 %, and a log holds fewer."""

_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Of a client. With a trace id and both keys it fits into the 128 characters of an exemplar (OpenMetrics)."""

_request_id: ContextVar[str] = ContextVar("request_id", default="")


def begin_request(given: str) -> str:
    """Name the call that the current task answers: as its client says, if that is usable, else anew."""
    name = given if _GIVEN.fullmatch(given) else os.urandom(_NAME_BYTES).hex()
    _request_id.set(name)
    return name


def request_id() -> str:
    """Return the name of the call that the current task answers."""
    return _request_id.get()


class Tracing:
    """No traces."""

    def watch(self, stage: str) -> AbstractContextManager[object]:
        """Open the span of a stage, within the one that is open."""
        return unwatched(stage)

    def interceptors(self) -> Sequence[Any]:
        """Return what opens the span of a call, under that of the caller."""
        return ()

    def trace_id(self) -> str:
        """Return the trace of the call that is being answered, as hex; empty if none is kept of it."""
        return ""

    def later(self) -> Watch:
        """Return what opens the span of a stage within the span that is open now, for who works later."""
        return unwatched

    async def close(self) -> None:
        """Send what is left."""


NO_TRACING = Tracing()


class OpenTelemetry(Tracing):
    """Traces by OpenTelemetry."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("linkscore", version("linkscore"))

    def watch(self, stage: str) -> AbstractContextManager[object]:
        """Open the span of a stage, within the one that is open; none in a call that is not sampled."""
        from opentelemetry.trace import get_current_span

        if not get_current_span().is_recording():
            return unwatched(stage)
        return self._tracer.start_as_current_span(stage)

    def interceptors(self) -> Sequence[Any]:
        """Return what opens the span of a call, under that of the caller (W3C trace context)."""
        from opentelemetry.instrumentation.grpc import aio_server_interceptor, filters

        return (aio_server_interceptor(self._provider, filters.service_prefix(_OURS)),)

    def trace_id(self) -> str:
        """Return the trace of the call that is being answered, as hex; empty if it is not sampled."""
        from opentelemetry.trace import get_current_span

        span = get_current_span()
        return f"{span.get_span_context().trace_id:032x}" if span.is_recording() else ""

    def later(self) -> Watch:
        """Return what opens the span of a stage within the span that is open now, for who works later."""
        from opentelemetry.context import get_current
        from opentelemetry.trace import get_current_span

        if not get_current_span().is_recording():
            return unwatched
        return partial(self._tracer.start_as_current_span, context=get_current())

    async def close(self) -> None:
        """Send what is left, if the collector takes it in time."""
        sending = tasks.thread(self._provider.shutdown, "linkscore-traces")  # it may retry for long
        sending.start()
        await asyncio.to_thread(sending.join, _FLUSH_S)


def tracing_to(endpoint: str) -> Tracing:
    """Return what traces to an OTLP collector; empty for none. Needs the extra `tracing`.

    Name of the service, sampler, headers and so on are as the variables `OTEL_*` of OpenTelemetry say.
    """
    if not endpoint:
        return NO_TRACING
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.version": version("linkscore")})
    if str(resource.attributes["service.name"]).startswith("unknown_service"):  # no variable names it
        resource = resource.merge(Resource({"service.name": "linkscore"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # `close` does it
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return OpenTelemetry(provider)
