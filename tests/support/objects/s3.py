"""A server that speaks as much of S3 as snapshots need, and fails in every way that one can fail."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

SLOW_S = 4.0
"""How long a slow answer takes; the client of a test waits less."""

Answer = tuple[int, bytes]
Fault = Callable[[Answer], Answer | None]
"""What becomes of an answer; None: the connection is cut before there is one."""


def _slowly(answer: Answer) -> Answer:
    time.sleep(SLOW_S)
    return answer


CANNOT: dict[str, Fault] = {
    "away": lambda _: None,
    "slow": _slowly,
    "failing": lambda _: (500, b""),
    "refusing": lambda _: (403, b""),
}
"""A store that does not do what it is asked."""

LIES: dict[str, Fault] = {
    "gone": lambda _: (404, b""),
    "damaged": lambda answer: (answer[0], answer[1][:-1] + bytes([answer[1][-1] ^ 1]) if answer[1] else b""),
    "cut": lambda answer: (answer[0], answer[1][: len(answer[1]) // 2]),
    "longer": lambda answer: (answer[0], answer[1] + b"more"),
    "of another": lambda answer: (answer[0], bytes(len(answer[1]))),
    "empty": lambda answer: (answer[0], b""),
}
"""A store that answers a read with something else than what was written."""


class S3(ThreadingHTTPServer):
    """A store of one bucket, in memory.

    Attributes
    ----------
    objects
        What it has, by the path of each.
    uploads
        Parts of objects that are not whole, by the path of each and number.
    faults
        What goes wrong, by method: `PUT`, `GET` of an object, `LIST`, `POST` that deletes.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.faults: dict[str, Fault] = {}

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """What makes a client take it for S3."""
        return {
            "AWS_ENDPOINT": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


@contextmanager
def running() -> Iterator[S3]:
    """Run a store."""
    with S3() as store:
        thread = threading.Thread(target=store.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield store
        finally:
            store.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one write: a second would wait for the client
    server: S3
    _span = ""  # of an answer that is part of an object

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_PUT(self) -> None:
        body = self._body()
        self._answer("PUT", lambda: self._put(body))

    def do_GET(self) -> None:
        is_list = "list-type" in self._query
        self._answer("LIST" if is_list else "GET", self._listed if is_list else self._got)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self._body()
        if "delete" in self._query:
            self._answer("POST", lambda: self._deleted(body))
        else:
            self._answer("PUT", self._begun if "uploads" in self._query else self._completed)

    @property
    def _query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.path).query, keep_blank_values=True)

    @property
    def _name(self) -> str:
        return unquote(urlsplit(self.path).path).lstrip("/")

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _put(self, body: bytes) -> Answer:
        if "partNumber" in self._query:
            self.server.uploads[self._name][int(self._query["partNumber"][0])] = body
        else:
            self.server.objects[self._name] = body
        return 200, b""

    def _begun(self) -> Answer:
        self.server.uploads[self._name] = {}
        return 200, b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"

    def _completed(self) -> Answer:
        parts = self.server.uploads.pop(self._name)
        self.server.objects[self._name] = b"".join(part for _, part in sorted(parts.items()))
        return 200, b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"

    def _got(self) -> Answer:
        body = self.server.objects.get(self._name)
        if body is None:
            return 404, b""
        if (span := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))) is None:
            return 200, body
        self._span = f"bytes {span[1]}-{span[2]}/{len(body)}"
        return 206, body[int(span[1]) : int(span[2]) + 1]

    def _listed(self) -> Answer:
        bucket = self._name.rstrip("/")
        prefix = self._query.get("prefix", [""])[0]
        found = (name.removeprefix(f"{bucket}/") for name in sorted(self.server.objects))
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>1</Size><ETag>e</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for name in found
            if name.startswith(prefix)
        )
        return 200, f"<ListBucketResult>{rows}</ListBucketResult>".encode()

    def _deleted(self, body: bytes) -> Answer:
        names = re.findall("<Key>(.*?)</Key>", body.decode())
        for name in names:
            self.server.objects.pop(f"{self._name.rstrip('/')}/{name}", None)
        rows = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
        return 200, f"<DeleteResult>{rows}</DeleteResult>".encode()

    def _answer(self, method: str, make: Callable[[], Answer]) -> None:
        answer: Answer | None = make()
        fault = self.server.faults.get(method)
        if fault is not None and answer is not None:
            answer = fault(answer)
        if answer is None:
            self.close_connection = True
            return
        status, body = answer
        self.send_response(status)
        for name, value in (
            ("Content-Length", str(len(body))),
            ("ETag", '"e"'),
            ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
            *([("Content-Range", self._span)] if status == 206 else ()),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
