"""A history of a site as HTML over HTTP: at any time a page is what it was then, and its menu changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

from linkscore_research.revisits.histories import SiteHistory

_LISTED = 50
"""Newest pages that a list shows: chosen, not measured."""
_WORDS = 60
"""Words of own text of a page: chosen, not measured."""


class LivingSite:
    """Answers paths at a time, and notes what was asked.

    Lists show their newest pages, and all pages share a menu with a line that each day's build writes anew.
    `ETag` goes by what is the page's own: menus do not change it.
    """

    def __init__(self, history: SiteHistory) -> None:
        self.history = history
        self.day = 0.0
        self.asked: list[tuple[int, float, int]] = []
        self._rows = {f"/{page.name}": row for row, page in enumerate(history.pages)} | {"/": -1}
        self._lock = threading.Lock()

    def respond(self, path: str, etag: str = "") -> tuple[int, str, bytes]:
        """Return status, entity tag and body."""
        row = self._rows.get(path)
        status, found, body = 404, "", b"<p>There is no such page on this site, nor was there ever one.</p>"
        if row is not None and self._is_there(row):
            links = self._links(row)
            found = f'"{self._version(row)}-{len(links)}-{links[0] if links else -1}"'
            is_same = found == etag
            status, body = (304, b"") if is_same else (200, self._body(row, links))
        with self._lock:
            if row is not None:
                self.asked.append((row, self.day, status))
        return status, found, body

    def _is_there(self, row: int) -> bool:
        return row < 0 or self.history.pages[row].born <= self.day < self.history.pages[row].gone

    def _version(self, row: int) -> int:
        return 0 if row < 0 else int((self.history.pages[row].changes <= self.day).sum())

    def _links(self, row: int) -> list[int]:
        lists, pages = self.history.lists, self.history.pages
        found = [at for at in range(len(pages)) if lists[at] == row and self._is_there(at)]
        return sorted(found, key=lambda at: -pages[at].born)[: None if row < 0 else _LISTED]

    def _body(self, row: int, links: list[int]) -> bytes:
        name = "front" if row < 0 else self.history.pages[row].name
        is_list = row < 0 or row in self.history.lists
        words = Random(f"{name} {0 if is_list else self._version(row)}")
        own = " ".join("".join(words.choices("abcdefghimnoprstu", k=6)) for _ in range(_WORDS))
        items = "".join(f'<li><a href="/{self.history.pages[at].name}">page {at}</a></li>' for at in links)
        menu = f'<nav><a href="/">Front page</a><p>Built by the generator, run {int(self.day)}</p></nav>'
        return f"<html><body>{menu}<main><p>{own}</p><ul>{items}</ul></main></body></html>".encode()


@contextmanager
def served(site: LivingSite) -> Iterator[str]:
    """Serve a site on a free port of loopback; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, etag, body = site.respond(self.path, self.headers.get("If-None-Match", ""))
            self.send_response(status)
            if etag:
                self.send_header("ETag", etag)
            if status != 304:
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
