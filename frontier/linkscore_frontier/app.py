"""The frontier as a process: built from settings, started, drained."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from dataclasses import dataclass
from pathlib import Path
from wsgiref.simple_server import WSGIServer

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from linkscore import AsyncClient
from linkscore_frontier import urlfrontier_pb2, urlfrontier_pb2_grpc
from linkscore_frontier.access import Gate
from linkscore_frontier.advice import Advisor
from linkscore_frontier.crawls import Crawls
from linkscore_frontier.metrics import CrawlCollector, FrontierMetrics
from linkscore_frontier.service import FrontierService
from linkscore_server.door import BytesInWork
from linkscore_server.observability.metrics import serve_metrics
from linkscore_server.tls import server_credentials
from linkscore_server.tokens import TokenFile

_log = logging.getLogger(__name__)

SERVICE = urlfrontier_pb2.DESCRIPTOR.services_by_name["URLFrontier"].full_name

# Seconds in which the calls that give or take URLs end; streams of crawlers have no end, and are cut then.
_DRAIN_S = 5.0
# Bound of a message, and of what may come of one before it is refused: that of gRPC and of URLFrontier.
_MAX_MESSAGE_BYTES = 4 << 20
# Bytes of messages that are on their way in or not acknowledged yet. A bound.
_MAX_INFLIGHT_BYTES = 64 << 20
# Calls over one connection, as linkscore's own server has it; and connections.
_STREAMS, _CONNECTIONS = 100, 10_000
# Calls under way at a time, open streams among them; one more is refused at once. A bound.
_MAX_CALLS = 1_000
# Pings of clients closer together than this are refused, as linkscore's own server does.
_MIN_PING_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierSettings:
    """What a frontier is started with; `linkscore frontier --help` says what each means."""

    listen: str = "127.0.0.1:7071"
    metrics_listen: str = "127.0.0.1:9412"
    data_dir: Path = Path("linkscore-frontier")
    target: str = "localhost:7411"
    target_token: str = ""
    target_tls_ca: Path | None = None
    crawl: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    token_file: Path | None = None
    max_crawls: int = 1_000


class FrontierApplication:
    """A frontier.

    Parameters
    ----------
    settings
        What to listen on, where to keep URLs, whom to ask.

    Raises
    ------
    OSError
        The folder or a file cannot be used.
    ValueError
        The token file cannot be used.
    """

    def __init__(self, settings: FrontierSettings) -> None:
        self.settings = settings
        self.address = settings.listen
        self.metrics_port = 0
        self._crawls = Crawls(settings.data_dir, max_crawls=settings.max_crawls)
        self.metrics = FrontierMetrics()
        self.metrics.registry.register(CrawlCollector(self._crawls))
        tls = settings.target_tls_ca or False
        client = AsyncClient(settings.target, tls=tls, token=settings.target_token or None)
        self._advisor = Advisor(client, self._crawls, self.metrics, crawl=settings.crawl)
        self.service = FrontierService(self._crawls, self._advisor, self.metrics)
        self._health = health.aio.HealthServicer()
        self._server = self._build()
        self._metrics_server: WSGIServer | None = None

    def _build(self) -> grpc.aio.Server:
        tokens = self.settings.token_file
        server = grpc.aio.server(
            interceptors=[Gate(TokenFile(tokens) if tokens else None, BytesInWork(_MAX_INFLIGHT_BYTES))],
            maximum_concurrent_rpcs=_MAX_CALLS,
            options=[
                ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
                ("grpc.http2.min_ping_interval_without_data_ms", _MIN_PING_MS),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.so_reuseport", 0),
                ("grpc.max_concurrent_streams", _STREAMS),
                ("grpc.max_allowed_incoming_connections", _connections()),
                ("grpc.http2.bdp_probe", 0),  # as there: windows that grow hold messages nobody asked for
            ],
        )
        urlfrontier_pb2_grpc.add_URLFrontierServicer_to_server(self.service, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server

    async def start(self) -> None:
        """Listen, and say SERVING.

        Raises
        ------
        OSError
            An address cannot be bound.
        """
        s = self.settings
        try:
            if s.tls_cert:
                credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca)
                port = self._server.add_secure_port(s.listen, credentials)
            else:
                port = self._server.add_insecure_port(s.listen)
        except RuntimeError as exc:
            raise OSError(f"listen: {exc}") from exc
        if not s.listen.startswith("unix:"):
            self.address = f"{s.listen.rpartition(':')[0]}:{port}"
        self.service.address = self.address
        if s.metrics_listen:
            self._metrics_server = serve_metrics(s.metrics_listen, self.metrics.registry)
            self.metrics_port = self._metrics_server.server_port
        self._advisor.start()
        await self._server.start()
        for service in ("", SERVICE):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        _log.info("serving on %s, asking %s", self.address, s.target)

    async def stop(self) -> None:
        """Say NOT_SERVING, let calls end, close the files."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(_DRAIN_S)
        await self._advisor.close()
        self._crawls.close()
        if self._metrics_server is not None:
            self._metrics_server.shutdown()
            self._metrics_server.server_close()


def _connections() -> int:
    """Return how many connections there may be: half of the descriptors is for crawls."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS if soft == resource.RLIM_INFINITY else min(_CONNECTIONS, soft // 2)


async def run(settings: FrontierSettings) -> None:
    """Serve until SIGTERM or SIGINT, then drain."""
    app = FrontierApplication(settings)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await app.start()
    print(f"linkscore frontier serving on {app.address}", flush=True)  # the line scripts wait for
    await stopping.wait()
    await app.stop()
