"""The servers a measured crawl talks to: the site, in a thread of this process, and linkscore in a process.

A stored site answers by original URL: crawlers reach it as an HTTP proxy, with absolute URLs or by CONNECT
(of plain HTTP alone).
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
from rich.console import Console

from linkscore_lab.datasets.site import Site
from linkscore_scoring.errors import LinkscoreError

LOOPBACK = "127.0.0.1"
# Longest end of a process: a bound.
_STOP_S = 15.0


class ChildFailed(LinkscoreError):
    """A child process ended before it did its work; the message ends with what it said last."""


def ended(name: str, log: Path | None) -> ChildFailed:
    """Return the error of a process that ended too soon."""
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log else "see above"
    return ChildFailed(f"{name}: {tail}")


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process, by force if it does not go in time."""
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve_command(port: int, data_dir: Path) -> list[str]:
    """Return the command that serves on a port of loopback and keeps its data in `data_dir`."""
    address = ["--listen", f"{LOOPBACK}:{port}", "--metrics-listen", ""]
    return [sys.executable, "-m", "linkscore_cli", "serve", *address, "--data-dir", str(data_dir)]


class OwnServer:
    """A service on a port of loopback; it may be killed, and started again with what it kept."""

    def __init__(
        self,
        data_dir: Path,
        log: Path,
        patience_s: float = 60.0,
        command: Callable[[int, Path], list[str]] = serve_command,
    ) -> None:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        self.address = f"{LOOPBACK}:{port}"  # the same after each start
        self._command, self._log, self._patience_s = command(port, data_dir), log, patience_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers; raises `ChildFailed` if it does not in time."""
        with self._log.open("a", encoding="utf-8") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                self._command, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        with grpc.insecure_channel(self.address) as channel:
            ready = grpc.channel_ready_future(channel)
            for _ in range(max(1, int(self._patience_s / 0.5))):
                try:
                    ready.result(timeout=0.5)
                    return
                except grpc.FutureTimeoutError:
                    if self._process.poll() is not None:
                        break
            ready.cancel()
        raise ended("the service did not start", self._log)

    def kill(self) -> None:
        """End it by SIGKILL, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it, and give it the time it needs to."""
        if self._process is not None:
            stop(self._process)


@contextmanager
def own_server(log: Path) -> Iterator[str]:
    """Run a service without memory and give its address; its output goes to `log`."""
    log.write_text("", encoding="utf-8")
    with TemporaryDirectory(prefix="linkscore-") as data:
        server = OwnServer(Path(data), log)
        try:
            server.start()
            yield server.address
        finally:
            server.stop()


@contextmanager
def watching(target: str, console: Console, *, keep: bool = True) -> Iterator[str]:
    """Serve the console of a server on loopback, and open it where there is a browser; gives its address.

    With `keep` it goes on, when all is done, until interrupted. Raises `ChildFailed` if it does not start;
    the message says why, for example which extra is missing.
    """
    command = [sys.executable, "-m", "linkscore_cli", "console", "--write", "--listen", f"{LOOPBACK}:0"]
    process = subprocess.Popen([*command, "--target", target], stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stderr is not None
    try:
        said = process.stderr.readline().strip()
        address = said.rpartition(" ")[2]
        if not address.startswith("http://"):
            raise ChildFailed(f"the console did not start: {said}{process.stderr.read()}")
        console.print(f"look at it: {address}", soft_wrap=True)
        webbrowser.open(address)
        yield address
        if keep:
            console.print(f"the console goes on at {address} until you press Ctrl-C", soft_wrap=True)
            process.wait()
    except KeyboardInterrupt:
        console.print("ended")
    finally:
        stop(process)
        process.stderr.close()


class SiteServer(ThreadingHTTPServer):
    """An HTTP server of one site on loopback that waits before each answer."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site, *, latency_s: float = 0.0) -> None:
        self.site, self.latency_s = site, latency_s
        super().__init__((LOOPBACK, 0), _SiteHandler)

    @property
    def address(self) -> str:
        """Where it listens, as ``http://127.0.0.1:PORT``."""
        return f"http://{LOOPBACK}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a crawler that left: at the end of its budget it hangs up on what it asked for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Answer in a thread, and give the address."""
        with self:
            threading.Thread(target=self.serve_forever, daemon=True).start()
            yield self.address
            self.shutdown()


class _SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment
    server: SiteServer

    def do_GET(self) -> None:
        time.sleep(self.server.latency_s)
        reply = self.server.site.respond(self._url())
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def do_CONNECT(self) -> None:
        """Serve what comes through the tunnel: some crawlers ask a proxy for one even for plain HTTP."""
        self.send_response_only(HTTPStatus.OK)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = False

    def _url(self) -> str:
        if self.path.startswith(("http://", "https://")):
            return self.path
        return f"http://{self.headers.get('Host', LOOPBACK)}{self.path}"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the crawl reports what it fetched."""
