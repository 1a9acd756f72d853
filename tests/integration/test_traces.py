"""Traces: a span for each call below its caller's, one for each stage of a page; none unless asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from linkscore import AsyncClient, Client, page
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc
from linkscore_server.app import Application
from linkscore_server.observability.tracing import NO_TRACING, OpenTelemetry, tracing_to
from linkscore_server.settings import Settings
from support.server_process import serving
from support.small_site import body_of, url_of

CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER_SPAN = "00f067aa0ba902b7"
INGEST = "/linkscore.v1.LinkScoringService/IngestPages"


def traceparent(*, sampled: bool = True) -> list[tuple[str, str]]:
    """Metadata of a caller that traces (W3C trace context)."""
    return [("traceparent", f"00-{CALLER}-{CALLER_SPAN}-{'01' if sampled else '00'}")]


@asynccontextmanager
async def traced() -> AsyncIterator[tuple[Application, InMemorySpanExporter]]:
    """A server whose spans are kept in memory."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    settings = Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory")
    app = Application(settings, tracing=OpenTelemetry(provider))
    await app.start()
    try:
        async with AsyncClient(app.address) as client:
            await client.create_crawl(crawl="c")
        kept.clear()
        yield app, kept
    finally:
        await app.stop()


async def ingest(app: Application, pages: int, metadata: list[tuple[str, str]]) -> None:
    sent = [page(url=url_of(n), body=body_of(n)) for n in range(pages)]
    async with grpc.aio.insecure_channel(app.address) as channel:
        stub = link_scoring_service_pb2_grpc.LinkScoringServiceStub(channel)
        await stub.IngestPages(pb.IngestPagesRequest(crawl="crawls/c", pages=sent), metadata=metadata)


def under(spans: tuple[ReadableSpan, ...], parent: ReadableSpan) -> list[str]:
    """Names of the spans right below one, in the order they began."""
    below = [span for span in spans if span.parent and span.parent.span_id == parent.context.span_id]
    return [span.name for span in sorted(below, key=lambda span: span.start_time or 0)]


def only(spans: tuple[ReadableSpan, ...], name: str) -> ReadableSpan:
    (span,) = (span for span in spans if span.name == name)
    return span


async def test_every_stage_of_a_page_is_a_span_of_the_callers_trace() -> None:
    async with traced() as (app, kept):
        await ingest(app, 1, traceparent())
        spans = kept.get_finished_spans()
        latencies = [sample for one in app.metrics.rpc_seconds.collect() for sample in one.samples]
    traces = [sample.exemplar.labels.get("trace_id") for sample in latencies if sample.exemplar]
    assert traces[-1] == CALLER  # of the call; the one before it made the crawl
    call = only(spans, INGEST)
    assert f"{call.parent.span_id:016x}" == CALLER_SPAN
    assert {f"{span.context.trace_id:032x}" for span in spans} == {CALLER}
    assert under(spans, call) == ["read", "apply", "answer"]
    assert under(spans, only(spans, "apply")) == ["observe", "score"]
    assert "forum.test" not in "".join(span.to_json() for span in spans), "no span names a page"


async def test_a_call_that_fails_says_so_and_one_that_is_not_sampled_leaves_nothing() -> None:
    async with traced() as (app, kept):
        await ingest(app, 2, traceparent(sampled=False))
        assert kept.get_finished_spans() == ()
        with pytest.raises(grpc.aio.AioRpcError):
            await ingest(app, 0, [])
        (call,) = kept.get_finished_spans()
    assert call.attributes["rpc.grpc.status_code"] == grpc.StatusCode.INVALID_ARGUMENT.value[0]


def test_a_collector_gets_the_spans_of_a_server_that_was_told_of_it(tmp_path: Path) -> None:
    got: list[trace_service_pb2.ExportTraceServiceRequest] = []

    class Collector(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request, context):  # type: ignore[no-untyped-def]
            got.append(request)
            return trace_service_pb2.ExportTraceServiceResponse()

    collector = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Collector(), collector)
    port = collector.add_insecure_port("127.0.0.1:0")
    collector.start()
    with serving(tmp_path, "--otlp-endpoint", f"http://127.0.0.1:{port}") as server:
        with Client(server.target) as client:
            client.create_crawl(crawl="c")
            client.ingest_pages(crawl="c", pages=[page(url=url_of(0), body=body_of(0))])
        server.stop()  # what was not sent yet is sent now
    collector.stop(None).wait()
    resources = [one for request in got for one in request.resource_spans]
    named = {pair.key: pair.value.string_value for one in resources for pair in one.resource.attributes}
    names = {span.name for one in resources for scope in one.scope_spans for span in scope.spans}
    assert named["service.name"] == "linkscore"
    assert {INGEST, "read", "apply", "observe", "score", "answer"} <= names


def test_without_an_endpoint_nothing_of_opentelemetry_is_loaded() -> None:
    assert tracing_to("") is NO_TRACING
    code = (
        "import sys, linkscore_server.app; print([m for m in sys.modules if m.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
