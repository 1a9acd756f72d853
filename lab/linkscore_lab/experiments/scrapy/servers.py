"""The servers a measured crawl talks to, each in a process of its own: the site, and the scoring service.

A stored site answers by original URL: ``Host`` names the host and ``X-Forwarded-Proto`` the scheme, as a
reverse proxy would send them (`StoredSiteHandler` in `linkscore_lab.experiments.scrapy.spider.spider`).
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import grpc

from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.site import Site
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_lab.experiments.scrapy.child import Child, ChildFailed

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


@contextmanager
def _start(log: Path, patience_s: float) -> Iterator[str]:
    port = _free_port()
    with TemporaryDirectory(prefix="linkscore-") as data, log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(  # noqa: S603 - our own module
            serve_command(port, Path(data)), stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
        try:
            _wait_ready(process, f"127.0.0.1:{port}", log, patience_s)
            yield f"127.0.0.1:{port}"
        finally:
            _stop(process)


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
    raise ChildFailed(f"the scoring service did not start: {log.read_text(encoding='utf-8')[-2000:]}")


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


LOOPBACK = "127.0.0.1"


class SiteServer(ThreadingHTTPServer):
    """An HTTP server of one site on loopback; port 0 picks a free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site, port: int = 0) -> None:
        self.site = site
        super().__init__((LOOPBACK, port), _SiteHandler)

    @property
    def address(self) -> str:
        """Where it listens, as ``http://127.0.0.1:PORT``."""
        return f"http://{LOOPBACK}:{self.server_port}"


class _SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment
    server: SiteServer

    def do_GET(self) -> None:
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


def warc_server(warc: Path, port: int = 0) -> Child:
    """Start serving the stored site `warc`; the child's greeting is the server's address."""
    return Child.start(__name__, ["--warc", str(warc), "--port", str(port)])


@click.command()
@click.option("--demo", type=int, metavar="SEED", help="The demonstration site of this seed.")
@click.option("--warc", type=click.Path(path_type=Path), help="A stored site.")
@click.option("--port", type=int, default=0)
def main(demo: int | None, warc: Path | None, port: int) -> None:
    """Serve a site until standard input closes: a server never outlives who started it."""
    if (demo is None) == (warc is None):
        raise click.UsageError("name either --demo or --warc")
    site: Site = WarcSite(warc) if warc else DemoSite(demo or 0)
    with SiteServer(site, port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.address, flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
