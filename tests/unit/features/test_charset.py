"""Charset detection in the order browsers use."""

from __future__ import annotations

import pytest

from linkscore_scoring.features.body import detect_charset, to_utf8

META = b'<html><head><meta charset="koi8-r"></head>'


def test_a_byte_order_mark_beats_the_header() -> None:
    assert detect_charset(b"\xef\xbb\xbf<p>x", "text/html; charset=koi8-r") == "utf-8"


def test_the_header_beats_the_meta_element() -> None:
    assert detect_charset(META, "text/html; charset=windows-1251") == "cp1251"


def test_the_meta_element_counts_when_the_header_is_silent() -> None:
    assert detect_charset(META, "text/html") == "koi8-r"


def test_a_meta_element_after_1024_bytes_does_not_count() -> None:
    assert detect_charset(b" " * 1024 + META) == "utf-8"


def test_latin1_means_windows_1252_as_in_browsers() -> None:
    assert detect_charset(b"", "text/html; charset=ISO-8859-1") == "cp1252"


@pytest.mark.parametrize(
    "label", ["nonsense", "base64", "rot13", "utf-7", "\udcff", "hex", "idna", "undefined"]
)
def test_a_label_that_names_no_charset_is_passed_over(label: str) -> None:
    assert detect_charset(b"<p>x", f"text/html; charset={label}") == "utf-8"


def test_undeclared_bytes_that_are_no_utf8_are_windows_1252() -> None:
    assert detect_charset(b"<p>caf\xe9") == "cp1252"


def test_a_meta_element_that_claims_utf16_means_utf8() -> None:
    assert detect_charset(b"<meta charset=utf-16>") == "utf-8"


def test_bytes_become_utf8_without_the_mark() -> None:
    assert to_utf8(b"\xff\xfeh\x00i\x00", "utf-16-le") == (b"hi", False)


def test_bytes_that_do_not_fit_are_replaced_and_told() -> None:
    assert to_utf8(b"a\xffb", "utf-8") == ("a\ufffdb".encode(), True)
