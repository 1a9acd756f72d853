"""Decompression within bounds, and telling HTML from the rest."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.body import decompress, is_html

PAGE = b"<html>" + b"text " * 1000
PACKED = {
    "gzip": gzip.compress(PAGE),
    "x-gzip": gzip.compress(PAGE),
    "deflate": zlib.compress(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
    "identity": PAGE,
    "": PAGE,
    " GZIP ": gzip.compress(PAGE),
    "gzip, br": brotli.compress(gzip.compress(PAGE)),
}


def reason(body: bytes, encoding: str, max_bytes: int = 100_000) -> tuple[str, str]:
    with pytest.raises(InvalidPage) as caught:
        decompress(body, encoding, max_bytes=max_bytes)
    (problem,) = caught.value.problems
    return problem.field, problem.reason


@pytest.mark.parametrize("encoding", PACKED)
def test_every_encoding_is_undone(encoding: str) -> None:
    assert decompress(PACKED[encoding], encoding, max_bytes=len(PAGE)) == PAGE


def test_gzip_without_a_header_is_recognised() -> None:
    assert decompress(gzip.compress(PAGE), max_bytes=10_000) == PAGE


@pytest.mark.parametrize(
    "encoding", [*PACKED, "none", "utf-8", "lzma", "gzip, none", "br, br", "*", "x" * 99]
)
@pytest.mark.parametrize(
    "body", [PAGE, b"", "\ufeff<p>\u0444".encode("utf-16-le"), "<p>\u0444".encode("cp1251")]
)
def test_a_body_that_was_unpacked_or_never_packed_passes(encoding: str, body: bytes) -> None:
    assert decompress(body, encoding, max_bytes=len(PAGE)) == body


@pytest.mark.parametrize("pack", [gzip.compress, brotli.compress, zstandard.compress])
def test_a_large_page_that_packs_well_is_undone(pack: Callable[[bytes], bytes]) -> None:
    encoding = {gzip.compress: "gzip", brotli.compress: "br"}.get(pack, "zstd")
    page = b"<p>text" * 100_000
    assert decompress(pack(page), encoding, max_bytes=len(page)) == page


def test_gzip_members_are_joined() -> None:
    assert decompress(gzip.compress(b"a") + gzip.compress(b"b"), "gzip", max_bytes=2) == b"ab"


def test_zstd_frames_are_joined() -> None:
    assert decompress(zstandard.compress(b"a") + zstandard.compress(b"b"), "zstd", max_bytes=2) == b"ab"


@pytest.mark.parametrize("encoding", PACKED)
def test_a_result_above_the_bound_is_refused(encoding: str) -> None:
    assert reason(PACKED[encoding], encoding, len(PAGE) - 1) == ("body", "BODY_TOO_LARGE")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_truncated_body_is_told_from_a_corrupt_one(encoding: str) -> None:
    assert reason(PACKED[encoding][:-5], encoding) == ("body", "TRUNCATED_BODY")
    assert reason(b"\x1f\x8b\xff\xff\xff\xff\xff\xff", encoding)[1] in {"CORRUPT_BODY", "TRUNCATED_BODY"}


@pytest.mark.parametrize(
    "pack", [gzip.compress, brotli.compress, zstandard.compress], ids=["gzip", "br", "zstd"]
)
def test_a_bomb_is_refused(pack) -> None:
    encoding = {"gzip": "gzip", "brotli": "br"}.get(
        pack.__module__.strip("_"), "br" if pack is brotli.compress else "zstd"
    )
    assert reason(pack(bytes(30_000_000)), encoding, 1_000_000) == ("body", "BODY_TOO_LARGE")


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"<p>x", "text/html; charset=utf-8", True),
        (b"x", "TEXT/HTML", True),
        (b"<p>x", "application/xhtml+xml", True),
        (b"<p>x", "", True),
        (b"", "", True),
        (b"\n <!DOCTYPE html>", "application/octet-stream", True),
        (b"plain words", "", False),
        (b"<p>x", "text/plain", False),
        (b"<rss>", "application/rss+xml", False),
        (b"%PDF-1.4 <p>", "", False),
        (b"\x89PNG\r\n\x1a\n", "text/html", False),
        (b"\x00\x01\x02\x03<p>", "text/html", False),
        ("<p>wide".encode("utf-16"), "", True),
        ("<p>wide".encode("utf-16-le"), "text/html", True),
        (b"BM club <a href=/x>", "text/html", True),
        (b"ID3 tags of <i>songs</i>", "text/html; charset=utf-8", True),
        (b"BM club <a href=/x>", "", False),
        (b"<p>x", "text/html, text/html; charset=utf-8", True),
        (b"<p>x", "text/plain, text/html", True),
        (b"<p>x", "text/html, image/png", False),
        (b"<p>x", "text/html, nonsense, */*", True),
        (b"<p>x", 'text/html; a=", image/png"', True),
        (b"<p>x", "nonsense", True),
        (b"<?xml version='1.0'?><!DOCTYPE html><html xmlns='x'>", "application/xml", True),
        (b"<HTML>", "text/xml; charset=utf-8", True),
        (b"<?xml version='1.0'?><rss>", "application/xml", False),
    ],
)
def test_html_is_told_by_header_and_first_bytes(body: bytes, content_type: str, expected: bool) -> None:
    assert is_html(body, content_type) is expected
