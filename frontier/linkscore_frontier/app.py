"""The frontier as a process: built from its options, started, drained."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from linkscore_frontier import urlfrontier_pb2, urlfrontier_pb2_grpc
from linkscore_frontier.crawls import Advisor, Crawls, FrontierMetrics
from linkscore_frontier.service import FrontierService
from linkscore_server import tasks
from linkscore_server.observability import serve_metrics
from linkscore_server.operator_files import listening, server_credentials

_log = logging.getLogger(__name__)

SERVICE = urlfrontier_pb2.DESCRIPTOR.services_by_name["URLFrontier"].full_name

# Seconds in which the calls that give or take URLs end; streams of crawlers have no end, and are cut then.
_DRAIN_S = 5.0
# Bound of a message: twice the most that is kept of a URL.
_MAX_MESSAGE_BYTES = 1 << 16
# Calls under way at a time, open streams among them, of which 256 messages each are read ahead. A bound.
_MAX_CALLS = 250
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_concurrent_streams", 100),  # over one connection, as linkscore's own server has it
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.so_reuseport", 0),
    ("grpc.http2.bdp_probe", 0),  # windows that grow hold messages nobody asked for
]


async def serve(options: Mapping[str, Any], *, client: Mapping[str, Any], tls: tuple[str, str, str]) -> None:
    """Serve with the options of the command until SIGTERM or SIGINT, then let calls end and close the files.

    OSError if an address, the folder or a file cannot be used.
    """
    stopping = tasks.asked_to_end()
    try:
        crawls = Crawls(options["data_dir"])
    except OSError as exc:
        raise OSError(f"--data-dir: {exc}") from exc
    metrics = FrontierMetrics(crawls)
    advisor = Advisor(crawls, metrics, target=options["target"], crawl=options["crawl"], **client)
    service = FrontierService(crawls, advisor, metrics)
    server = grpc.aio.server(maximum_concurrent_rpcs=_MAX_CALLS, options=_OPTIONS)
    urlfrontier_pb2_grpc.add_URLFrontierServicer_to_server(service, server)
    status = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    credentials = server_credentials(*tls) if tls[0] else None
    try:
        service.address = listening(server, options["listen"], credentials)
    except RuntimeError as exc:
        raise OSError(f"listen: {exc}") from exc
    end_metrics = serve_metrics(options["metrics_listen"], metrics.registry)
    advisor.start()
    await server.start()
    for name in ("", SERVICE):
        await status.set(name, health_pb2.HealthCheckResponse.SERVING)
    _log.info("serving on %s, asking %s", service.address, options["target"])
    print(f"linkscore frontier serving on {service.address}", flush=True)  # the line scripts wait for
    await stopping.wait()
    await status.enter_graceful_shutdown()
    await server.stop(_DRAIN_S)
    await advisor.close()
    crawls.close()
    end_metrics()
