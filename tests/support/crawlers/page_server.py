"""A web site of made-up pages on loopback, for crawls of tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving_pages(
    body_of: Callable[[str], str | None], headers_of: Callable[[str], list[tuple[str, str]]] = lambda path: []
) -> Iterator[tuple[str, list[str]]]:
    """Serve the HTML that `body_of` gives for a path, None for a 404; yields address and paths asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = body_of(self.path)
            body = (found or "").encode()
            headers = headers_of(self.path)
            self.send_response(404 if found is None else 301 if "Location" in dict(headers) else 200)
            headers += [("Content-Type", "text/xml" if ".xml" in self.path else "text/html")]
            for name, value in [*headers, ("Content-Length", str(len(body)))]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
