"""Archives written byte by byte: what crawlers store, and what goes wrong with it."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

HTML = (("Content-Type", "text/html"),)


def http(body: bytes, status: str = "200 OK", headers: Sequence[tuple[str, str]] = HTML) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def record(
    url: str,
    block: bytes,
    *,
    kind: str = "response",
    content_type: str = "application/http; msgtype=response",
    version: str = "1.0",
    length: object = None,
) -> bytes:
    size = len(block) if length is None else length
    head = (
        f"WARC/{version}\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {size}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def page(name: str, text: str = "") -> bytes:
    """A response record of ``https://s.test/NAME`` whose body names it."""
    return record(f"https://s.test/{name}", http(f"<p>page {name} {text}</p>".encode()))


def members(*records: bytes) -> list[bytes]:
    """One gzip member for each record."""
    return [gzip.compress(data, mtime=0) for data in records]
