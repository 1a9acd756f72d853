"""Serve a site over HTTP on loopback, in a process of its own, so that serving takes no time from the crawl.

A stored site answers by original URL: ``Host`` names the host and ``X-Forwarded-Proto`` the scheme, as a
reverse proxy would send them (`linkscore_lab.experiments.scrapy.spider.stored_handler`).
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.site import Site
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_lab.experiments.scrapy.child import Child

LOOPBACK = "127.0.0.1"


class SiteServer(ThreadingHTTPServer):
    """An HTTP server of one site on loopback; port 0 picks a free one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, site: Site, port: int = 0) -> None:
        self.site = site
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def address(self) -> str:
        """Where it listens, as ``http://127.0.0.1:PORT``."""
        return f"http://{LOOPBACK}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
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


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until standard input closes: a server never outlives who started it."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=main.__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--demo", type=int, metavar="SEED", help="the demonstration site of this seed")
    what.add_argument("--warc", type=Path, help="a stored site")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(argv)
    site: Site = WarcSite(options.warc) if options.warc else DemoSite(options.demo)
    with SiteServer(site, options.port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.address, flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
