"""The metrics port: HTTP for Prometheus, with few threads whatever connects."""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from linkscore_server import tasks

_THREADS = 8
"""Requests answered at a time; one more is closed. Prometheus and a person need two. A bound."""

_SILENCE_S = 5.0
"""Seconds that a connection may be silent. Chosen, not measured."""

_REQUEST_S = 10.0
"""Seconds for a request and its answer together, however they trickle: Prometheus waits as long. A bound."""

_log = logging.getLogger(__name__)


class MetricsServer:
    """Serves a registry at every path, in threads of its own.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    registry
        What is served.
    silence_s
        Seconds after which a silent connection is closed.
    request_s
        Seconds after which any connection is closed.

    Raises
    ------
    OSError
        If the address cannot be bound.
    """

    def __init__(
        self,
        host: str,
        port: int,
        registry: CollectorRegistry,
        *,
        silence_s: float = _SILENCE_S,
        request_s: float = _REQUEST_S,
    ) -> None:
        handler = type("Handler", (_Handler,), {"timeout": silence_s})
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        server = type("Server", (_BoundedServer,), {"address_family": family})
        self._server = server((host, port), handler)
        self._server.request_s = request_s
        self._server.set_app(make_wsgi_app(registry))
        self.port: int = self._server.server_port
        self._thread = tasks.thread(self._server.serve_forever, "linkscore-metrics")
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _BoundedServer(ThreadingMixIn, WSGIServer):
    """A thread a request, up to `_THREADS`; one more is closed at once, one that lasts later."""

    daemon_threads = True
    block_on_close = False
    request_s = _REQUEST_S

    def __init__(self, *args: Any) -> None:
        self._free = threading.BoundedSemaphore(_THREADS)
        self._began: dict[socket.socket, float] = {}
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._began[request] = time.monotonic()
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread to be had
            self._end(request)
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """End requests that last too long; called twice a second."""
        late = time.monotonic() - self.request_s
        for request, began in list(self._began.items()):
            if began < late:
                with suppress(OSError):  # it has ended by itself
                    request.shutdown(socket.SHUT_RDWR)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._end(request)

    def _end(self, request: socket.socket) -> None:
        del self._began[request]
        self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("metrics: connection of %s ended early", client_address)


class _Handler(WSGIRequestHandler):
    """Writes no line for every request, and looks up no name of who asks."""

    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *args: Any) -> None:
        pass
