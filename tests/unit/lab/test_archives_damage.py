"""Damaged archives: what cannot be read is counted where it lies, and all that follows still comes."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
import zstandard

from linkscore_lab.archives import Archive, open_archive
from linkscore_lab.archives.warc import MAX_BLOCK_BYTES
from linkscore_scoring.errors import InvalidInput
from support.warc_writing import HTML, http, members, page, record

NOISE = random.Random(1).randbytes(300).hex()
PLAIN = [page("a", NOISE), page("b", NOISE), page("c", NOISE)]
GZIP = members(*PLAIN)
ZSTD = [zstandard.ZstdCompressor(write_checksum=True).compress(data) for data in PLAIN]


def read(path: Path, *parts: bytes) -> tuple[str, Archive]:
    """Last letters of the URLs read, and the archive."""
    path.write_bytes(b"".join(parts))
    archive = open_archive([path])
    return "".join(found.url[-1] for found in archive.records()), archive


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def assert_damage(archive: Archive, offset: int, reason: str) -> None:
    assert [(damage.offset, reason in damage.reason) for damage in archive.damage] == [(offset, True)], (
        archive.damage
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (flipped(GZIP[1], len(GZIP[1]) // 2), "gzip member"),
        (flipped(GZIP[1], len(GZIP[1]) - 6), "corrupt gzip member"),
        (GZIP[1][:-30], "gzip member"),
        (b"\x00" * 200, "corrupt gzip member"),
        (flipped(GZIP[1], 0), "corrupt gzip member"),
        (members(b"no record at all")[0], "record head"),
    ],
    ids=["data", "checksum", "cut", "zeros", "magic", "content"],
)
def test_a_bad_gzip_member_costs_itself_only(tmp_path: Path, bad: bytes, reason: str) -> None:
    letters, archive = read(tmp_path / "s.warc.gz", GZIP[0], bad, GZIP[2])
    assert letters == "ac"
    assert_damage(archive, len(GZIP[0]), reason)
    assert archive.damage[0].file == str(tmp_path / "s.warc.gz")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (flipped(ZSTD[1], len(ZSTD[1]) // 2), "corrupt zstd frame"),
        (flipped(ZSTD[1], len(ZSTD[1]) - 2), "corrupt zstd frame"),
        (ZSTD[1][:-30], "zstd frame"),
        (b"\x00" * 200, "corrupt zstd frame"),
    ],
    ids=["data", "checksum", "cut", "zeros"],
)
def test_a_bad_zstd_frame_costs_itself_only(tmp_path: Path, bad: bytes, reason: str) -> None:
    letters, archive = read(tmp_path / "s.warc.zst", ZSTD[0], bad, ZSTD[2])
    assert letters == "ac"
    assert_damage(archive, len(ZSTD[0]), reason)


@pytest.mark.parametrize("parts", [PLAIN, GZIP, ZSTD], ids=["plain", "gzip", "zstd"])
def test_a_truncated_tail_is_one_damage(tmp_path: Path, parts: list[bytes]) -> None:
    letters, archive = read(tmp_path / "s.warc", *parts[:2], parts[2][:-100])
    assert letters == "ab"
    assert_damage(archive, len(parts[0] + parts[1]), "cut off")


@pytest.mark.parametrize("parts", [GZIP, ZSTD], ids=["gzip", "zstd"])
def test_a_damaged_first_record_leaves_the_others(tmp_path: Path, parts: list[bytes]) -> None:
    name = "s.warc.gz" if parts is GZIP else "s.warc.zst"
    letters, archive = read(tmp_path / name, flipped(parts[0], 0), *parts[1:])
    assert (letters, archive.entry) == ("bc", "https://s.test/b")
    assert_damage(archive, 0, "corrupt")


BAD_RECORDS = {
    "head": (PLAIN[1].replace(b"WARC/1.0", b"XXXX/1.0"), "must start with WARC/1.0"),
    "length too long": (record("https://s.test/b", http(b"<p>"), length=300), "Content-Length 300"),
    "length beyond the end": (record("https://s.test/b", http(b"<p>"), length=99_999), "cut off"),
    "length too short": (record("https://s.test/b", http(b"<p>"), length=9), "Content-Length 9"),
    "length negative": (record("https://s.test/b", http(b"<p>"), length=-1), "must be a number of bytes"),
    "length no number": (record("https://s.test/b", http(b"<p>"), length="x"), "must be a number of bytes"),
    "length missing": (PLAIN[1].replace(b"Content-Length", b"Content-Lengt"), "must be a number of bytes"),
    "too large": (record("https://s.test/b", http(b"<p>"), length=MAX_BLOCK_BYTES + 1), "must have at most"),
    "http head": (record("https://s.test/b", b"<p>no head at all\r\n\r\n"), "must start with HTTP/"),
    "http status": (record("https://s.test/b", http(b"", "9xx Odd")), "HTTP status"),
    "cut gzip body": (
        record("https://s.test/b", http(gzip.compress(b"<p>")[:-4], headers=[("Content-Encoding", "gzip")])),
        "content coding 'gzip' cannot be undone",
    ),
    "unknown coding": (
        record("https://s.test/b", http(b"<p>", headers=[*HTML, ("Content-Encoding", "sdch")])),
        "content coding 'sdch'",
    ),
    "cut chunk": (
        record("https://s.test/b", http(b"9\r\n<p>", headers=[("Transfer-Encoding", "chunked")])),
        "chunked body is cut off",
    ),
    "lost last chunk": (
        record("https://s.test/b", http(b"3\r\n<p>\r\n", headers=[("Transfer-Encoding", "chunked")])),
        "lacks its last chunk",
    ),
}


@pytest.mark.parametrize(("bad", "reason"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_a_bad_record_costs_itself_only(tmp_path: Path, bad: bytes, reason: str) -> None:
    letters, archive = read(tmp_path / "s.warc", PLAIN[0], bad, PLAIN[2])
    assert letters == "ac"
    assert_damage(archive, len(PLAIN[0]), reason)


@pytest.mark.parametrize("bad", [bad for bad, _ in BAD_RECORDS.values()], ids=BAD_RECORDS.keys())
def test_a_bad_record_in_a_sound_member_costs_itself_only(tmp_path: Path, bad: bytes) -> None:
    letters, archive = read(tmp_path / "s.warc.gz", GZIP[0], *members(bad), GZIP[2])
    assert (letters, [damage.offset for damage in archive.damage]) == ("ac", [len(GZIP[0])])


def test_in_one_large_member_a_bad_record_costs_itself_only(tmp_path: Path) -> None:
    data = gzip.compress(PLAIN[0] + BAD_RECORDS["head"][0] + PLAIN[2])
    letters, archive = read(tmp_path / "s.warc.gz", data)
    assert (letters, [damage.offset for damage in archive.damage]) == ("ac", [0])


def test_a_member_that_only_looks_like_one_is_no_second_damage(tmp_path: Path) -> None:
    bad = flipped(GZIP[1], 0) + b"\x1f\x8b\x08\x00 no member" + gzip.compress(b"nor a record")
    letters, archive = read(tmp_path / "s.warc.gz", GZIP[0], bad, GZIP[2])
    assert (letters, len(archive.damage)) == ("ac", 1)


def test_a_second_pass_counts_anew(tmp_path: Path) -> None:
    _, archive = read(tmp_path / "s.warc.gz", GZIP[0], b"\x00" * 9, GZIP[2])
    list(archive.records())
    assert len(archive.damage) == 1


@pytest.mark.parametrize("name", ["page.html", "page.warc", "page.warc.gz", "page.warc.zst"])
def test_what_is_no_archive_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"<html>" * 100)
    with pytest.raises(InvalidInput, match=rf"warc: .*{name}: must be a WARC file") as caught:
        open_archive([path])
    assert caught.value.problems[0].field == "warc"


def test_a_packed_page_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "page.html.gz"
    path.write_bytes(gzip.compress(b"<html>" * 100))
    with pytest.raises(InvalidInput, match="must be a WARC file"):
        open_archive([path])


def test_a_second_path_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "s.warc", tmp_path / "page.html"
    good.write_bytes(PLAIN[0])
    bad.write_bytes(b"<html>" * 100)
    with pytest.raises(InvalidInput, match=r"page\.html: must be a WARC file"):
        open_archive([good, bad])


def test_an_archive_without_answers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.warc"
    path.write_bytes(record("https://s.test/", b"GET /", kind="request"))
    with pytest.raises(InvalidInput, match="needs at least one response record"):
        open_archive([path])
