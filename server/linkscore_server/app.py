"""The server: built from settings, started, drained; as a process, or within another for a while."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from prometheus_client import ProcessCollector

from linkscore_cli.files import bound, check_free, is_loopback
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import Limits
from linkscore_scoring.policies.registry import policy_class
from linkscore_server import tasks
from linkscore_server.crawls.memory import resident_bytes
from linkscore_server.crawls.registry import CrawlRegistry, RegistryCollector
from linkscore_server.data_folder import DataFolder
from linkscore_server.door import Arrivals, BytesInWork, Door
from linkscore_server.front.front import Front, Share
from linkscore_server.observability import Metrics, serve_metrics
from linkscore_server.operator_files import TokenFile, listening, server_credentials
from linkscore_server.services.contract import SERVICES, ByName, WithoutBrowseLogs, add_services
from linkscore_server.services.crawls import CrawlService
from linkscore_server.services.pages import PageParser
from linkscore_server.services.scoring import LinkScoringService
from linkscore_server.services.sites import SiteModelService
from linkscore_server.settings import Settings
from linkscore_server.store import Store, open_store

if TYPE_CHECKING:
    from linkscore_server.browse_logs.service import BrowseLogService
    from linkscore_server.json import JsonPort

_log = logging.getLogger(__name__)
_GC_OBJECTS = (5_000, 1, 2_000)
"""When the collector looks for cycles: after so many new objects, where the interpreter's own number is 700;
at every second time among those of the last two; after so many of these among all. Measured on a site of
10,000 pages: 20,000, 20 and 50 took as much in all, and held everybody up for 20 and 90 ms, where this takes
2 and 10. All of them took 150, once in 20 million new objects."""

_SWITCH_S = 0.001
"""After how long a thread lets others have the interpreter; its own number is .005. The event loop waits so
long each time it wants it back, several times a call, while a thread reads or writes the state of a site."""

_CANCEL_S = 0.2
"""Seconds for calls that are left where connections cannot be closed: watchers of health never end."""

_STREAMS = 100
"""Calls over one connection at a time; gRPC clients let more wait, or open another one. The default of others
(Envoy, Go since 1.20). A bound."""

_CALLS = 5_000
"""Calls at a time, streams too; one more is RESOURCE_EXHAUSTED at once. A bound, of memory."""

_FULL, _BURST = 0.9, 0.5
"""Share of `memory_mb`, and growth as parts of `max_inflight_bytes`, from which on requests on their way are
refused. Chosen, not measured."""

_KEEPALIVE_MS, _KEEPALIVE_TIMEOUT_MS = 20_000, 20_000
"""When a silent connection is pinged, and how long its other end has to answer: who does not read its answers
does not either, and loses the connection. Chosen, not measured."""

_MIN_PING_MS = 5_000
"""Least time between pings of a client: ours ping each 10 s. A bound."""

_CONNECTIONS = 10_000
"""Connections at a time, however many descriptors there are. A bound, of memory."""

_HANDSHAKE_MS = 20_000
"""Time for a connection to say that it speaks HTTP/2, and for TLS. A bound."""

_FLUSH_S = 0.05
"""Time for answers to go out before connections are closed. Chosen, not measured."""


class Application:
    """A linkscore server."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store | None = None,
        folder: DataFolder | None = None,
        clock: Callable[[], float] = time.time,
        share: Share | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.address = settings.listen
        policy_class(PolicyChoice().name)  # what the first page needs: others when a crawl has them
        is_on_disk = store is None and settings.data_dir != "memory" and not settings.is_in_database
        self._folder = folder or DataFolder(Path(settings.data_dir) if is_on_disk else None)
        try:
            self._store = store or open_store(settings.data_dir)
        except BaseException:
            self._folder.close()
            raise
        self.registry = CrawlRegistry(
            self._store,
            settings,
            self.metrics,
            folder=self._folder,
            owns=lambda shard: self.front.owns(shard),  # noqa: PLW0108 - it is built of the registry
        )
        self.browse_logs = self._browse_logs(clock)
        if self.browse_logs is not None:
            self.registry.on_open = self.browse_logs.manager.opened
        self._health = health.aio.HealthServicer()
        self._server = self._build(clock, share or Share())
        self._end_metrics: Callable[[], None] = lambda: None
        self._json: JsonPort | None = None
        self._own = Path(tempfile.mkdtemp(prefix="linkscore-")) if settings.json_listen else None
        self.json_port = 0
        self._is_drained = False

    async def start(self) -> None:
        """Listen, load the state, then say SERVING."""
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        for lack in unprotected(self.settings):
            _log.warning("%s is reached from other machines without %s", self.settings.listen, lack)
        self.metrics.registry.register(RegistryCollector(self.registry, self.settings))
        ProcessCollector(registry=self.metrics.registry)
        if self.front.owners.is_alone:
            await self._listen()
        self._end_metrics = serve_metrics(self.settings.metrics_listen, self.metrics.registry)
        started = time.perf_counter()
        await self.registry.recover()
        if self.browse_logs is not None:
            self.browse_logs.manager.start()
        await self.front.start()
        if not self.front.owners.is_alone:  # a connection is for one that can answer: the port comes last
            await self._listen()
        self.door.is_ready = True
        if self.settings.json_listen:
            self._listen_for_json()
        await self._set_health(health_pb2.HealthCheckResponse.SERVING)
        _log.info(
            "serving on %s, %d crawls found in %.2f s",
            self.address,
            self.registry.crawl_count,
            time.perf_counter() - started,
        )

    async def _listen(self) -> None:
        s, credentials = self.settings, None
        if s.tls_cert:
            failed = self.metrics.of("reload_failures", "tls").inc
            credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca, failed)
        self.address = listening(self._server, s.listen, credentials)
        if self._own is not None:
            self._server.add_insecure_port(f"unix:{self._own}/server")
        await self._server.start()

    def _listen_for_json(self) -> None:
        """Answer JSON over HTTP; a server without that port does not load what it takes."""
        from linkscore_server.json import JsonPort

        s = self.settings
        for lack in unprotected(replace(s, listen=s.json_listen)):
            _log.warning("%s is reached from other machines without %s", s.json_listen, lack)
        there = bound("json_listen", s.json_listen, is_shared=self.front.shares_port)
        self.json_port = there.getsockname()[1]
        self._json = JsonPort(s, f"unix:{self._own}/server")
        self._json.start(there)
        _log.info("JSON on %s:%d", s.json_listen.rpartition(":")[0], self.json_port)

    async def drain(self) -> None:
        """Say NOT_SERVING, let calls in flight finish; other processes of the server are answered still."""
        self._is_drained = True
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self.front.owners.leave()
        await self.door.turn_away()
        json_stops = [self._json.stop()] if self._json is not None else []
        idle = asyncio.wait_for(self.door.idle(), self.settings.drain_s)
        await asyncio.gather(idle, *json_stops, return_exceptions=True)
        await asyncio.sleep(_FLUSH_S)
        self.door.is_ready = False

    async def stop(self, *, ends_process: bool = False) -> None:
        """Drain, write states, release the store, and the port too unless the process ends now.

        gRPC ends calls as CANCELLED that come when it closes a port, which nobody repeats. Those whose
        connection ends with the process are UNAVAILABLE.
        """
        if not self._is_drained:
            await self.drain()
        if not ends_process:
            await self._server.stop(_CANCEL_S)
        await self.front.close()
        self._parser.close()
        if self.browse_logs is not None:
            await self.browse_logs.manager.close()
        await self.registry.close()
        self._end_metrics()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
        self._store.close()
        self._folder.close()

    def _build(self, clock: Callable[[], float], share: Share) -> grpc.aio.Server:
        s = self.settings
        self.door = self._door()
        services = self._services(clock)
        self.front = Front(self.registry, services, s, self.metrics, clock, share)
        server = grpc.aio.server(
            interceptors=[self.door],
            options=_options(s, shares_port=self.front.shares_port),
            maximum_concurrent_rpcs=_CALLS,
        )
        self._services_named = [file.services_by_name[name].full_name for name, file in SERVICES.items()]
        add_services(self.front.call, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, ByName(server))
        reflection = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name
        named = (*self._services_named, health.SERVICE_NAME, reflection)
        told = SimpleNamespace(ServerReflectionInfo=partial(_reflected, named))
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(told, ByName(server))
        return server

    def _door(self) -> Door:
        s, tokens = self.settings, None
        if s.token_file:
            tokens = TokenFile(Path(s.token_file), self.metrics.of("reload_failures", "tokens").inc)
        in_work = BytesInWork(s.max_inflight_bytes)
        self.metrics.of("inflight_bytes_limit").set(s.max_inflight_bytes)
        self.metrics.of("inflight_bytes").set_function(lambda: in_work.used)
        return Door(
            self.metrics,
            in_work,
            arrivals=Arrivals(resident_bytes, _FULL * (s.memory_mb << 20), _BURST * s.max_inflight_bytes),
            caller_of=tokens.caller_of if tokens is not None else None,
            is_ready=False,
        )

    def _services(self, clock: Callable[[], float]) -> dict[str, Any]:
        s = self.settings
        limits = Limits(body_bytes=s.max_body_bytes, depth=s.max_depth, links=s.max_links)
        self._parser = PageParser(
            limits, clock, lambda why: self.metrics.of("pages_left_to_python", why).inc()
        )
        self.scoring = LinkScoringService(self.registry, self._parser, s, self.metrics, clock)
        logs = self.browse_logs
        sites = SiteModelService(self.registry, logs.suggest_seeds if logs is not None else None)
        return {
            "LinkScoringService": self.scoring,
            "CrawlService": CrawlService(self.registry),
            "SiteModelService": sites,
            "InspectionService": sites,
            "BrowseLogService": logs or WithoutBrowseLogs(has_folder=self._folder.path is not None),
        }

    def _browse_logs(self, clock: Callable[[], float]) -> BrowseLogService | None:
        """Return what takes in browse logs; None without DuckDB, and without a folder to keep them in."""
        if self._folder.path is None or find_spec("duckdb") is None:
            return None
        from linkscore_server.browse_logs.service import BrowseLogService

        logs = BrowseLogService(self.registry, self.settings, self.metrics, clock)
        self.registry.before_serving.append(logs.manager.recovered)
        return logs

    async def _set_health(self, status: Any) -> None:
        for service in ("", *self._services_named):
            await self._health.set(service, status)


async def _reflected(services: Sequence[str], requests: Any, context: Any) -> AsyncIterator[Any]:
    """Tell what services there are, for people with grpcurl; what does is loaded when one asks."""
    from grpc_reflection.v1alpha import reflection

    async for answer in reflection.aio.ReflectionServicer(services).ServerReflectionInfo(requests, context):
        yield answer


async def run(settings: Settings, again: Callable[[], Settings]) -> None:
    """Serve until SIGTERM or SIGINT, then drain; SIGHUP has settings read `again`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:  # each connection and each open crawl takes one
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    check_free("listen", settings.listen)
    check_free("metrics_listen", settings.metrics_listen)
    app = Application(settings)
    stopping = tasks.asked_to_end()
    if not os.isatty(0):  # else it says that the terminal is gone
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _take_again, app, again)
    await app.start()
    tune_interpreter()
    print(f"linkscore serving on {app.address}", flush=True)  # the line scripts wait for
    await stopping.wait()
    _log.info("draining for at most %g s", settings.drain_s)
    await app.stop(ends_process=True)
    where = settings.shown()["data_dir"]
    _log.info(
        "stopped: %s", "nothing is kept" if where == "memory" else f"all acknowledged pages are in {where}"
    )
    sys.stdout.flush()
    os._exit(0)  # which closes the connections; gRPC itself would end late calls as CANCELLED, see `stop`


def _take_again(app: Application, again: Callable[[], Settings]) -> None:
    """Take the log level of the settings of now; files of tokens and TLS are followed by themselves."""
    try:
        now = again()
    except InvalidInput as exc:
        app.metrics.of("reload_failures", "config").inc()
        for problem in exc.problems:
            _log.error("settings stay as they were: %s: %s", problem.field, problem.rule)
        return
    logging.getLogger().setLevel(now.log_level.upper())
    object.__setattr__(app.settings, "log_level", now.log_level)  # as `GetServerInfo` says
    others = [name for name, value in vars(app.settings).items() if value != getattr(now, name)]
    if others:
        _log.warning("settings read again; these change with the next start: %s", ", ".join(others))
    else:
        _log.info("settings read again")


def unprotected(settings: Settings) -> list[str]:
    """Return what a server lacks that other machines can reach: TLS, a token file or client certificates."""
    host = settings.listen.rpartition(":")[0].strip("[]")
    if settings.listen.startswith("unix:") or is_loopback(host):
        return []
    lacks = [] if settings.tls_cert else ["TLS"]
    return lacks if settings.token_file or settings.tls_client_ca else [*lacks, "a token"]


def tune_interpreter() -> None:
    """Let threads take short turns, and look for cycles rarely: that was 9 % of a profile of IngestPages."""
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_OBJECTS)


def _options(settings: Settings, *, shares_port: bool) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.http2.min_ping_interval_without_data_ms", _MIN_PING_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        ("grpc.so_reuseport", int(shares_port)),
        ("grpc.max_concurrent_streams", _STREAMS),
        ("grpc.max_allowed_incoming_connections", _connections()),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        # Else the windows grow with the bandwidth until a request lies in memory before anybody reads it. One
        # that is being read gets a window of its size anyway.
        ("grpc.http2.bdp_probe", 0),
    ]


def _connections() -> int:
    """Return how many connections may be open: the other half of the descriptors is for logs and the rest."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS if soft == resource.RLIM_INFINITY else min(_CONNECTIONS, soft // 2)
