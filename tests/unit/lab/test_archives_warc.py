"""Sound archives: every format gives the same records, decoded, in stored order."""

from __future__ import annotations

import gzip
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from linkscore_lab.archives import ArchiveRecord, open_archive
from linkscore_lab.archives.warc import Head, read_head
from linkscore_scoring.errors import InvalidInput
from support.warc_writing import HTML, members, page, record
from support.warc_writing import http as answer

PAGES = [page("a"), page("b"), page("c")]


def write(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def read(path: Path) -> list[ArchiveRecord]:
    archive = open_archive([path])
    records = list(archive.records())
    assert archive.damage == []
    return records


def one(tmp_path: Path, block: bytes, **fields: str) -> ArchiveRecord:
    return read(write(tmp_path / "one.warc", record("https://s.test/", block, **fields)))[0]


def zstd(*parts: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> list[bytes]:
    compressor = zstandard.ZstdCompressor(dict_data=dictionary) if dictionary else zstandard.ZstdCompressor()
    return [compressor.compress(part) for part in parts]


def skippable(content: bytes) -> bytes:
    return b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def trained() -> zstandard.ZstdCompressionDict:
    return zstandard.train_dictionary(2000, [page(f"thread-{n}", "some text " * (n % 7)) for n in range(300)])


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("s.warc", PAGES),
        ("s.warc.gz", members(*PAGES)),
        ("s.warc.gz", members(b"".join(PAGES))),
        ("s.warc.zst", zstd(*PAGES)),
        ("s.warc.zst", zstd(b"".join(PAGES))),
        ("s.warc.zst", [skippable(trained().as_bytes()), *zstd(*PAGES, dictionary=trained())]),
        ("s.warc.zst", [skippable(zstd(trained().as_bytes())[0]), *zstd(*PAGES, dictionary=trained())]),
    ],
    ids=["plain", "gzip", "gzip of the file", "zstd", "zstd of the file", "dictionary", "packed dictionary"],
)
def test_every_format_gives_the_same_records(tmp_path: Path, name: str, parts: list[bytes]) -> None:
    archive = open_archive([write(tmp_path / name, *parts)])
    records = list(archive.records())
    assert [record.url[-1] for record in records] == ["a", "b", "c"]
    assert records[1] == ArchiveRecord(
        "https://s.test/b", 200, {"Content-Type": "text/html"}, b"<p>page b </p>"
    )
    assert (archive.name, archive.entry, archive.damage) == ("s", "https://s.test/a", [])


def test_records_can_be_read_again(tmp_path: Path) -> None:
    archive = open_archive([write(tmp_path / "s.warc.gz", *members(*PAGES))])
    assert list(archive.records()) == list(archive.records())


def test_several_files_are_one_site_in_their_order(tmp_path: Path) -> None:
    first = write(tmp_path / "part-1.warc.gz", *members(PAGES[2]))
    second = write(tmp_path / "part-0.warc", *PAGES[:2])
    archive = open_archive([first, second])
    assert [record.url[-1] for record in archive.records()] == ["c", "a", "b"]
    assert (archive.name, archive.entry) == ("part-1", "https://s.test/c")


def test_a_record_larger_than_a_block_of_the_file_is_whole(tmp_path: Path) -> None:
    body = bytes(range(256)) * 2000
    block = answer(body)
    parts = [record("https://s.test/", block), page("b")]
    for stored in (parts, members(*parts)):
        first, second = read(write(tmp_path / "big.warc", *stored))
        assert (first.body, second.url) == (body, "https://s.test/b")


def test_only_answers_and_pages_are_given_and_revisits_are_counted(tmp_path: Path) -> None:
    skipped = [
        record("urn:info", b"software: x", kind="warcinfo", content_type="application/warc-fields"),
        record("https://s.test/", b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record("https://s.test/", answer(b""), kind="revisit"),
        record("metadata://gnu.org/wget.log", b"log", kind="resource", content_type="text/plain"),
        record("dns:s.test", b"s.test. A 127.0.0.1", content_type="text/dns"),
        record("https://s.test/x.json", b"{}", kind="resource", content_type="application/json"),
    ]
    html = record("https://s.test/r", b"<p>r", kind="resource", content_type="text/html; charset=utf-8")
    archive = open_archive([write(tmp_path / "s.warc", *skipped, html, page("a"))])
    records = list(archive.records())
    assert [(record.url, record.status, record.body) for record in records] == [
        ("https://s.test/r", 200, b"<p>r"),
        ("https://s.test/a", 200, b"<p>page a </p>"),
    ]
    assert (archive.revisits, archive.damage, archive.entry) == (1, [], "https://s.test/r")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"<p>text")),
        ("br", brotli.compress(b"<p>text")),
        ("zstd", zstandard.ZstdCompressor().compress(b"<p>text")),
        ("identity", b"<p>text"),
        ("gzip", b"<p>text"),
    ],
    ids=["gzip", "br", "zstd", "identity", "already undone"],
)
def test_content_coding_is_undone(tmp_path: Path, coding: str, body: bytes) -> None:
    found = one(tmp_path, answer(body, headers=[*HTML, ("content-encoding", coding)]))
    assert (found.body, found.headers) == (b"<p>text", {"Content-Type": "text/html"})


@pytest.mark.parametrize(
    "body",
    [b"3\r\n<p>\r\n4;x=1\r\ntext\r\n0\r\n\r\n", b"7\r\n<p>text\r\n0\r\nTrailer: 1\r\n\r\n", b"<p>text"],
    ids=["chunks", "trailer", "already undone"],
)
def test_chunks_are_joined(tmp_path: Path, body: bytes) -> None:
    assert one(tmp_path, answer(body, headers=[("Transfer-Encoding", "chunked")])).body == b"<p>text"


def test_chunks_are_joined_before_they_are_unpacked(tmp_path: Path) -> None:
    packed = gzip.compress(b"<p>text")
    body = b"5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (packed[:5], len(packed) - 5, packed[5:])
    headers = [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")]
    assert one(tmp_path, answer(body, headers=headers)).body == b"<p>text"


def test_status_redirects_and_the_newer_version_are_read(tmp_path: Path) -> None:
    found = one(tmp_path, answer(b"", "301 Moved", [("location", "/new")]), version="1.1")
    assert (found.status, found.headers) == (301, {"Location": "/new"})


def test_an_uncoded_gzip_download_stays_packed(tmp_path: Path) -> None:
    packed = gzip.compress(b"tar")
    assert one(tmp_path, answer(packed, headers=[("Content-Type", "application/gzip")])).body == packed


class _Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/":
            self._send(b'<a href="/b">b</a>', "Content-Length", "18")
        else:
            self._send(b"3\r\n<p>\r\n1\r\nb\r\n0\r\n\r\n", "Transfer-Encoding", "chunked")

    def _send(self, body: bytes, *header: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header(*header)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def origin() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.skipif(shutil.which("wget") is None, reason="needs wget")
@pytest.mark.parametrize("option", ["--warc-header=x: y", "--no-warc-compression"])
def test_what_wget_stores_is_read(tmp_path: Path, origin: str, option: str) -> None:
    command = ["wget", "-q", "--no-proxy", "--warc-file=crawl", option, f"{origin}/", f"{origin}/b"]
    subprocess.run(command, cwd=tmp_path, check=True)
    archive = open_archive(list(tmp_path.glob("crawl.warc*")))
    pages = [(record.url, record.body) for record in archive.records()]
    assert pages == [(f"{origin}/", b'<a href="/b">b</a>'), (f"{origin}/b", b"<p>b")]
    assert (archive.name, archive.entry, archive.damage) == ("crawl", f"{origin}/", [])


def test_no_path_is_refused() -> None:
    with pytest.raises(InvalidInput, match="warc: must name at least one archive"):
        open_archive([])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"warc: .*none\.warc: cannot be read"):
        open_archive([tmp_path / "none.warc"])


PIECES = [b"HTTP/1.1", b"http/1.0 ", b"WARC/1.0", b" 200 OK", b"\r\n", b"\n", b"\r", b" ", b"\t", b"a"]
PIECES += [b"B-c", b":", b"\x0b", b"\x1d", b"\x00", "\u00e9".encode(), b"\xe9", b"Name: value", b"\r\n\r\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.booleans())
def test_a_head_is_read_as_warcio_reads_it(head: bytes, is_http: bool) -> None:
    parser = StatusAndHeadersParser(["HTTP/"] if is_http else ["WARC/1.1", "WARC/1.0"])
    head = b"HTTP/1.1 200" + head if is_http else head
    try:
        wanted = parser.parse(BytesIO(head))
    except (EOFError, StatusAndHeadersParserException) as error:
        with pytest.raises(type(error)):
            read_head(head, parser)
    else:
        assert read_head(head, parser) == Head(wanted.statusline, wanted.headers)
