"""Stored sites: every form gives the same records; what cannot be read is told and costs no other file."""

from __future__ import annotations

import gzip
import json
import random
import zipfile
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard

from linkscore_lab.archives import MAX_BYTES, Archive, ArchiveRecord, open_archive
from linkscore_scoring.errors import InvalidInput
from support.warc_writing import HTML, http, members, page, record

NOISE = random.Random(1).randbytes(300).hex()
PLAIN = [page("a", NOISE), page("b", NOISE), page("c", NOISE)]
GZIP = members(*PLAIN)
ZSTD = [zstandard.ZstdCompressor(write_checksum=True).compress(data) for data in PLAIN]
DICTIONARY = zstandard.train_dictionary(2000, [page(f"t-{n}", "some text " * (n % 7)) for n in range(300)])


def read(path: Path, *parts: bytes) -> tuple[str, Archive]:
    """Last letters of the URLs read, and the archive."""
    path.write_bytes(b"".join(parts))
    archive = open_archive([path])
    return "".join(found.url[-1] for found in archive.records()), archive


def one(tmp_path: Path, block: bytes, **fields: str) -> ArchiveRecord:
    _, archive = read(tmp_path / "one.warc", record("https://s.test/", block, **fields))
    (found,) = archive.records()
    assert archive.damage == []
    return found


def with_dictionary(raw: bytes) -> list[bytes]:
    compressor = zstandard.ZstdCompressor(dict_data=DICTIONARY)
    skippable = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
    return [skippable, *map(compressor.compress, PLAIN)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("s.warc", PLAIN),
        ("s.warc.gz", GZIP),
        ("s.warc.gz", members(b"".join(PLAIN))),
        ("s.warc.zst", ZSTD),
        ("s.warc.zst", [zstandard.compress(b"".join(PLAIN))]),
        ("s.warc.zst", with_dictionary(DICTIONARY.as_bytes())),
        ("s.warc.zst", with_dictionary(zstandard.compress(DICTIONARY.as_bytes()))),
    ],
    ids=["plain", "gzip", "gzip of the file", "zstd", "zstd of the file", "dictionary", "packed dictionary"],
)
def test_every_form_gives_the_same_records(tmp_path: Path, name: str, parts: list[bytes]) -> None:
    letters, archive = read(tmp_path / name, *parts)
    body = f"<p>page b {NOISE}</p>".encode()
    assert list(archive.records())[1] == ArchiveRecord(
        "https://s.test/b", 200, {"Content-Type": "text/html"}, body
    )
    assert (letters, archive.name, archive.entry) == ("abc", "s", "https://s.test/a")
    assert archive.damage == []


def test_several_files_are_one_site_in_their_order(tmp_path: Path) -> None:
    read(first := tmp_path / "part-1.warc.gz", GZIP[2])
    read(second := tmp_path / "part-0.warc", *PLAIN[:2])
    archive = open_archive([first, second])
    assert [found.url[-1] for found in archive.records()] == ["c", "a", "b"]
    assert (archive.name, archive.entry) == ("part-1", "https://s.test/c")


def test_only_answers_and_pages_are_given(tmp_path: Path) -> None:
    skipped = [
        record("urn:info", b"software: x", kind="warcinfo", content_type="application/warc-fields"),
        record("https://s.test/", b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record("https://s.test/", http(b""), kind="revisit"),
        record("dns:s.test", b"s.test. A 127.0.0.1", content_type="text/dns"),
        record("https://s.test/x.json", b"{}", kind="resource", content_type="application/json"),
    ]
    html = record("https://s.test/r", b"<p>r", kind="resource", content_type="text/html; charset=utf-8")
    letters, archive = read(tmp_path / "s.warc", *skipped, html, PLAIN[0])
    assert (letters, archive.damage, archive.entry) == ("ra", [], "https://s.test/r")


@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
@pytest.mark.parametrize("path", ["robots.txt", ".well-known/tdmrep.json"])
def test_the_entry_is_the_first_page_not_robots_txt_nor_an_error(
    tmp_path: Path, path: str, kind: str
) -> None:
    robots = record(f"https://s.test/{path}", http(b"User-agent: *", headers=[("Content-Type", kind)]))
    busy = record("https://s.test/b", http(b"busy", "503 Busy"))
    empty = record("https://s.test/e", http(b" \n"))
    letters, archive = read(tmp_path / "s.warc", robots, busy, empty, PLAIN[1])
    assert (letters[1:], archive.entry) == ("beb", "https://s.test/b")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"<p>text")),
        ("br", brotli.compress(b"<p>text")),
        ("zstd", zstandard.compress(b"<p>text")),
        ("identity", b"<p>text"),
        ("gzip", b"<p>text"),
        ("br", b"<p>text"),
        ("gzip", gzip.compress(b"<p>text")[:-1]),
        ("deflate", zlib.compress(b"<p>text")[:-1]),
    ],
    ids=[
        "gzip",
        "br",
        "zstd",
        "identity",
        "gzip undone before",
        "br undone before",
        "gzip cut",
        "deflate cut",
    ],
)
def test_content_coding_is_undone(tmp_path: Path, coding: str, body: bytes) -> None:
    found = one(tmp_path, http(body, headers=[*HTML, ("content-encoding", coding)]))
    assert (found.body, found.headers) == (b"<p>text", {"Content-Type": "text/html"})


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 60_000 + b"\r\n"], ids=["LF", "long"]
)
def test_heads_are_read_as_servers_send_them(tmp_path: Path, head: bytes) -> None:
    end = b"\r\n" if head.endswith(b"\r\n") else b"\n"
    found = one(tmp_path, head + b"Content-Type: text/html" + end * 2 + b"<p>text")
    assert (found.status, found.headers["Content-Type"], found.body) == (200, "text/html", b"<p>text")


@pytest.mark.parametrize(
    "body",
    [
        b"3\r\n<p>\r\n4;x=1\r\ntext\r\n0\r\n\r\n",
        b"7\r\n<p>text\r\n0\r\nTrailer: 1\r\n\r\n",
        b"<p>text",
        b"7\r\n<p>text\r\n",
        b"9\r\n<p>text",
    ],
    ids=["chunks", "trailer", "undone before", "lost last chunk", "cut chunk"],
)
def test_chunks_are_joined_as_far_as_they_are_there(tmp_path: Path, body: bytes) -> None:
    assert one(tmp_path, http(body, headers=[("Transfer-Encoding", "chunked")])).body == b"<p>text"


# Damage.


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


@pytest.mark.parametrize("parts", [GZIP, ZSTD], ids=["gzip", "zstd"])
@pytest.mark.parametrize("way", ["data", "checksum", "cut", "zeros", "magic"])
def test_a_bad_piece_costs_the_rest_of_its_file(tmp_path: Path, parts: list[bytes], way: str) -> None:
    good = parts[1]
    bad = {
        "data": flipped(good, len(good) // 2),
        "checksum": flipped(good, len(good) - (6 if parts is GZIP else 2)),
        "cut": good[:-30],
        "zeros": b"\x00" * 200,
        "magic": flipped(good, 0),
    }[way]
    name = "s.warc.gz" if parts is GZIP else "s.warc.zst"
    read(other := tmp_path / "other.warc", PLAIN[2])
    letters, archive = read(tmp_path / name, parts[0], bad, parts[2])
    assert letters == "a"
    assert [d.file for d in archive.damage] == [str(tmp_path / name)], archive.damage
    archive = open_archive([tmp_path / name, other])
    assert [found.url[-1] for found in archive.records()] == ["a", "c"]
    assert len(archive.damage) == 1, "a second pass counts anew"


@pytest.mark.parametrize("parts", [PLAIN, GZIP, ZSTD], ids=["plain", "gzip", "zstd"])
def test_a_truncated_tail_is_one_damage(tmp_path: Path, parts: list[bytes]) -> None:
    letters, archive = read(tmp_path / "s.warc", *parts[:2], parts[2][:-100])
    assert letters == "ab"
    assert len(archive.damage) == 1, archive.damage


BAD_RECORDS = {
    "head": (PLAIN[1].replace(b"WARC/1.0", b"XXXX/1.0"), "Invalid WARC header"),
    "length beyond the end": (record("https://s.test/b", http(b"<p>"), length=99_999), "cut off"),
    "length too short": (record("https://s.test/b", http(b"<p>"), length=9), "must hold an HTTP answer"),
    "length negative": (record("https://s.test/b", http(b"<p>"), length=-1), "must hold an HTTP answer"),
    "length missing": (PLAIN[1].replace(b"Content-Length", b"Content-Lengt"), "must hold an HTTP answer"),
    "too large": (record("https://s.test/b", http(b"<p>"), length=MAX_BYTES + 999), "must have at most"),
    "http head": (record("https://s.test/b", b"<p>no head at all\r\n\r\n"), "must hold an HTTP answer"),
    "http status": (record("https://s.test/b", http(b"", "9xx Odd")), "got 'HTTP/1.1 9xx Odd'"),
    "corrupt coding": (
        record("https://s.test/b", http(b"\x1f\x8b" + b"\xff" * 9, headers=[("Content-Encoding", "gzip")])),
        "content coding 'gzip' cannot be undone",
    ),
}


@pytest.mark.parametrize("name", BAD_RECORDS)
@pytest.mark.parametrize("form", ["s.warc", "s.warc.gz"])
def test_a_bad_record_costs_itself_if_its_length_is_right(tmp_path: Path, name: str, form: str) -> None:
    bad, reason = BAD_RECORDS[name]
    parts = [PLAIN[0], bad, PLAIN[2]]
    letters, archive = read(tmp_path / form, *(members(*parts) if form == "s.warc.gz" else parts))
    assert letters == ("ac" if name in ("http head", "http status", "corrupt coding") else "a")
    assert reason in archive.damage[0].reason


@pytest.mark.parametrize(
    "data",
    [b"<html>" * 100, gzip.compress(b"<html>" * 100), b"PK\x03\x04 and no more"],
    ids=["page", "packed page", "no zip"],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    read(good := tmp_path / "s.warc", PLAIN[0])
    for name in ("page.html", "page.warc", "page.warc.gz", "page.warc.zst", "none.warc"):
        if name != "none.warc":
            (tmp_path / name).write_bytes(data)
        with pytest.raises(InvalidInput, match=rf"warc: .*{name}: (must be a WA|cannot be read)"):
            open_archive([good, tmp_path / name])
    with pytest.raises(InvalidInput, match="warc: must name at least one archive"):
        open_archive([])


def test_an_archive_without_answers_says_what_is_damaged(tmp_path: Path) -> None:
    request = record("https://s.test/", b"GET /", kind="request")
    with pytest.raises(InvalidInput, match=r"at least one response.*1 damaged; the first: .*must hold an"):
        read(tmp_path / "s.warc", request, BAD_RECORDS["http status"][0])


# WACZ packages.

LISTED: list[dict[str, object]] = [
    {"url": "https://s.test/a"},
    {"url": "https://s.test/b", "seed": True},
    {"url": "https://s.test/c"},
]


def wacz(path: Path, pages: list[dict[str, object]] | None, warcs: dict[str, bytes] | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as package:
        for name, data in ({"archive/data.warc.gz": b"".join(GZIP)} if warcs is None else warcs).items():
            package.writestr(name, data)
        if pages is not None:
            lines = "".join(json.dumps(row) + "\n" for row in [{"format": "json-pages-1.0"}, *pages])
            package.writestr("pages/pages.jsonl", lines, zipfile.ZIP_DEFLATED)
    return path


@pytest.mark.parametrize(
    ("pages", "entry"),
    [
        (LISTED, "b"),
        ([row for row in LISTED if "seed" not in row][::-1], "c"),
        ([{"url": "https://s.test/nowhere", "seed": True}], "a"),
        ([{"url": "https://s.test/b#top"}], "b"),
        ([{"id": "no url"}, {"url": "about:blank"}, {"url": "https://s.test/c"}], "c"),
        ([], "a"),
        (None, "a"),
    ],
    ids=[
        "first seed",
        "first page",
        "seed not stored",
        "fragment",
        "rows without address",
        "empty list",
        "no list",
    ],
)
def test_the_entry_of_a_package_is_its_first_seed_else_its_first_page(
    tmp_path: Path, pages: list[dict[str, object]] | None, entry: str
) -> None:
    archive = open_archive([wacz(tmp_path / "site.wacz", pages)])
    assert (archive.name, archive.entry) == ("site", f"https://s.test/{entry}")


def test_records_come_in_the_order_of_the_package_and_damage_names_the_file_inside(tmp_path: Path) -> None:
    warcs = {f"archive/{name}.warc": PLAIN[at] for name, at in (("z", 2), ("y", 0), ("a", 1))}
    path = wacz(tmp_path / "site.wacz", LISTED, {**warcs, "archive/note.txt": b"no archive"})
    path.write_bytes(path.read_bytes().replace(b"/y.warc", b"/x.warc", 1))  # not as the list at its end
    archive = open_archive([path])
    assert [found.url[-1] for found in archive.records()] == ["c", "b"]
    assert [d.file for d in archive.damage] == [f"{path}/archive/y.warc"]
    with pytest.raises(InvalidInput, match=r"warc: .*must hold archive/\*\.warc\.gz"):
        open_archive([wacz(tmp_path / "empty.wacz", LISTED, {})])
