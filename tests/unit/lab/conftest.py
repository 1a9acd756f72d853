"""A stored site of five pages, written fresh for each test."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.datasets.site import Reply
from support.replay_sites import HTML

RECORDS: list[tuple[str, int, dict[str, str], str]] = [
    ("https://s.test/", 200, {}, '<a href="/b?y=2&x=1#top">b</a> <a rel="nofollow" href="/old">old</a>'),
    ("https://s.test/b?x=1&y=2", 200, {}, '<a href="/none">gone</a> <a href="mailto:x@y.z">mail</a>'),
    ("https://s.test/old", 301, {"Location": "/new"}, ""),
    ("https://s.test/new", 200, {}, '<a href="/astray">astray</a><a href="/">home</a>'),
    ("https://s.test/astray", 302, {"Location": "https://elsewhere.test/"}, ""),
    ("https://s.test/b?y=2&x=1", 200, {}, "a later copy of b"),
    ("https://s.test/island", 200, {}, "nobody links here"),
]
LABELS = "url\tpage_type\tnote\nhttps://s.test/b?y=2&x=1\tthread\t\nhttps://s.test/new\tprofile\t\n"


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    parts = [
        write_warc(tmp_path / "s.warc.gz", {url: Reply(status, HTML | more, body.encode())}).read_bytes()
        for url, status, more, body in RECORDS
    ]
    (tmp_path / "s.warc.gz").write_bytes(b"".join(parts))
    return tmp_path / "s.warc.gz"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "s.labels.tsv.gz"
    path.write_bytes(gzip.compress(LABELS.encode()))
    return path
