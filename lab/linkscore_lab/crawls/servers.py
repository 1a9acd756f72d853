"""The servers a measured crawl talks to, each in a process of its own: the site, and the scoring service.

A stored site answers by original URL: ``Host`` names the host and ``X-Forwarded-Proto`` the scheme, as a
reverse proxy would send them (`StoredSiteHandler` in `linkscore_lab.crawls.spider.spider`). Other
crawlers reach it as an HTTP proxy, with absolute URLs or by CONNECT (of plain HTTP alone).
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import grpc

from linkscore_lab.crawls.child import Child, ChildFailed
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.site import Site
from linkscore_lab.datasets.warc_site import WarcSite

LOOPBACK = "127.0.0.1"

#: Gives the address of a running service for as long as it is entered.
Service = Callable[[], AbstractContextManager[str]]


def running(address: str) -> Service:
    """Return a service somebody else runs at `address` (``host:port``)."""
    return lambda: nullcontext(address)


def own(log: Path, patience_s: float = 60.0) -> Service:
    """Return a service that is started on loopback when it is entered and ended when it is left.

    Raises, on entering, `ChildFailed` when it is not ready within `patience_s`. Its output goes to `log`.
    """
    return lambda: _start(log, patience_s)


def serve_command(port: int, data_dir: Path) -> list[str]:
    """Return the command that serves on a port of loopback and keeps its log in `data_dir`."""
    address = ["--listen", f"127.0.0.1:{port}", "--metrics-listen", ""]
    return [sys.executable, "-m", "linkscore_cli", "serve", *address, "--data-dir", str(data_dir)]


def frontier_command(target: str, crawl: str) -> Callable[[int, Path], list[str]]:
    """Return what gives the command of a frontier that asks the server at `target` about `crawl`."""
    options = ["--target", target, "--crawl", crawl, "--metrics-listen", "", "--log-level", "warning"]
    frontier = [sys.executable, "-m", "linkscore_cli", "frontier", *options]
    return lambda port, folder: [*frontier, "--listen", f"{LOOPBACK}:{port}", "--data-dir", str(folder)]


class OwnServer:
    """A service on a port of loopback; it may be killed, and started again with what it kept."""

    def __init__(
        self,
        data_dir: Path,
        log: Path,
        patience_s: float = 60.0,
        command: Callable[[int, Path], list[str]] = serve_command,
    ) -> None:
        port = _free_port()
        self.address = f"{LOOPBACK}:{port}"
        self._command = command(port, data_dir)
        self._log, self._patience_s = log, patience_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("a", encoding="utf-8") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                self._command, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        _wait_ready(self._process, self.address, self._log, self._patience_s)

    def kill(self) -> None:
        """End it by SIGKILL, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it, and give it the time it needs to."""
        if self._process is not None:
            _stop(self._process)


@contextmanager
def _start(log: Path, patience_s: float) -> Iterator[str]:
    log.write_text("", encoding="utf-8")
    with TemporaryDirectory(prefix="linkscore-") as data:
        server = OwnServer(Path(data), log, patience_s)
        try:
            server.start()
            yield server.address
        finally:
            server.stop()


def _wait_ready(process: subprocess.Popen[bytes], address: str, log: Path, patience_s: float) -> None:
    with grpc.insecure_channel(address) as channel:
        ready = grpc.channel_ready_future(channel)
        for _ in range(max(1, int(patience_s / 0.5))):
            try:
                ready.result(timeout=0.5)
                return
            except grpc.FutureTimeoutError:
                if process.poll() is not None:
                    break
        ready.cancel()
    raise ChildFailed(f"the service did not start: {log.read_text(encoding='utf-8')[-2000:]}")


def _stop(process: subprocess.Popen[bytes], patience_s: float = 15.0) -> None:
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SiteServer(ThreadingHTTPServer):
    """An HTTP server of one site on loopback that waits before each answer; port 0 picks a free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site, port: int = 0, *, latency_s: float = 0.0) -> None:
        self.site = site
        self.latency_s = latency_s
        super().__init__((LOOPBACK, port), _SiteHandler)

    @property
    def address(self) -> str:
        """Where it listens, as ``http://127.0.0.1:PORT``."""
        return f"http://{LOOPBACK}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a crawler that left: at the end of its budget it hangs up on what it asked for."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


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
        scheme = self.headers.get("X-Forwarded-Proto", "http")
        return f"{scheme}://{self.headers.get('Host', LOOPBACK)}{self.path}"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the crawl reports what it fetched."""


def demo_server(seed: int, port: int = 0) -> Child:
    """Start serving the demonstration site; the child's greeting is the server's address."""
    return Child.start(__name__, ["--demo", str(seed), "--port", str(port)])


def warc_server(warc: Path, port: int = 0, *, latency_s: float = 0.0) -> Child:
    """Start serving the stored site `warc`; the child's greeting is the server's address."""
    return Child.start(__name__, ["--warc", str(warc), "--port", str(port), "--latency", str(latency_s)])


@click.command()
@click.option("--demo", type=int, metavar="SEED", help="The demonstration site of this seed.")
@click.option("--warc", type=click.Path(path_type=Path), help="A stored site.")
@click.option("--port", type=int, default=0)
@click.option("--latency", type=float, default=0.0, help="Seconds before each answer.")
def main(demo: int | None, warc: Path | None, port: int, latency: float) -> None:
    """Serve a site until standard input closes: a server never outlives who started it."""
    if (demo is None) == (warc is None):
        raise click.UsageError("name either --demo or --warc")
    site: Site = WarcSite(warc) if warc else DemoSite(demo or 0)
    with SiteServer(site, port, latency_s=latency) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.address, flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
