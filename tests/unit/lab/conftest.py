"""A stored site of five pages, written fresh for each test."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

RECORDS = [
    ("https://s.test/", "200 OK", [], '<a href="/b?y=2&x=1#top">b</a> <a rel="nofollow" href="/old">old</a>'),
    ("https://s.test/b?x=1&y=2", "200 OK", [], '<a href="/none">gone</a> <a href="mailto:x@y.z">mail</a>'),
    ("https://s.test/old", "301 Moved", [("Location", "/new")], ""),
    ("https://s.test/new", "200 OK", [], '<a href="/astray">astray</a><a href="/">home</a>'),
    ("https://s.test/astray", "302 Found", [("Location", "https://elsewhere.test/")], ""),
    ("https://s.test/b?y=2&x=1", "200 OK", [], "a later copy of b"),
    ("https://s.test/island", "200 OK", [], "nobody links here"),
]
LABELS = (
    "url\tpage_type\tstructured_data\nhttps://s.test/b?y=2&x=1\tthread\t\nhttps://s.test/new\tprofile\t\n"
)


def record(url: str, status: str, headers: list[tuple[str, str]], body: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/html",
        *(f"{name}: {value}" for name, value in headers),
    ]
    block = ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    path = tmp_path / "s.warc.gz"
    path.write_bytes(b"".join(record(*row) for row in RECORDS))
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "s.labels.tsv.gz"
    path.write_bytes(gzip.compress(LABELS.encode()))
    return path
