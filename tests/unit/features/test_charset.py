"""Charset detection in the order browsers use."""

from __future__ import annotations

import pytest
import webencodings

from linkscore_scoring.features.body import codec_of, detect_charset, to_utf8

META = b'<html><head><meta charset="koi8-r"></head>'
LATE = b"<!-- " + b"x" * 5_000 + b" -->"
TEXT = "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! "


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"\xef\xbb\xbf<p>x", "text/html; charset=koi8-r", "utf-8"),
        (b"\xff\xfe<\0p\0", "text/html; charset=koi8-r", "utf-16-le"),
        (META, "text/html; charset=windows-1251", "cp1251"),
        (META, 'text/html; x="a;charset=utf-8"; CHARSET="Windows-1251"', "cp1251"),
        (META, "text/html; charset=windows-1251, text/html", "cp1251"),
        (META, "text/html; charset=windows-1251, text/plain, text/html", "koi8-r"),
        (META, "text/html; charset=utf-8, text/html; charset=windows-1251", "cp1251"),
        (META, "text/html; charset=nonsense", "koi8-r"),
        (META, "text/html; charset=; charset=windows-1251", "cp1251"),
        (META, "text/html", "koi8-r"),
        (b" " * 5_000 + META, "", "koi8-r"),
        (LATE + META, "", "koi8-r"),
        (b"<script>'<meta charset=utf-8>'</script><!-- <meta charset=utf-8> -->" + META, "", "koi8-r"),
        (b"<title><meta charset=utf-8></title><style><meta charset=utf-8></style>" + META, "", "koi8-r"),
        (b"<p title='<meta charset=utf-8>'>" + META, "", "koi8-r"),
        (b"<meta charset=nonsense>" + META, "", "koi8-r"),
        (b"<meta name=a content='charset=utf-8'>" + META, "", "koi8-r"),
        (b"<META CONTENT='text/html; charset = \"KOI8-R\"' HTTP-EQUIV=Content-Type>", "", "koi8-r"),
        (b"<meta http-equiv=content-type content='charset;charset=koi8-r;x'>", "", "koi8-r"),
        (b"<meta data-charset=utf-8 charset=' koi8-r '/>", "", "koi8-r"),
        (b"<?xml version='1.0' encoding='windows-1251'?><html>", "application/xhtml+xml", "cp1251"),
        (b"<?xml version='1.0' encoding='windows-1251'?>" + META, "", "koi8-r"),
        (b"\n<?xml version='1.0' encoding='windows-1251'?><html>", "", "cp1251"),
        (b'<script>\'<?xml version="1.0" encoding="windows-1251"?>\'</script>', "", "utf-8"),
        (b"<meta charset=utf-16>", "", "utf-8"),
        (b"<meta charset=x-user-defined>", "", "cp1252"),
        ("<p>wide".encode("utf-16-le"), "", "utf-16-le"),
        (b"\0<p>not wide", "", "utf-8"),
        (META, 'text/html; charset="\\utf-8"', "utf-8"),
        (b"<p>x", "text/html; charset=latin1", "cp1252"),
        (b"<p>x", "text/html; charset=\udcff", "utf-8"),
        (b"<p>caf\xe9", "", "cp1252"),
        (b"<p>CAF\xc9\xbb " + b"\xe9t\xe9 " * 5, "", "cp1252"),
        (TEXT.encode() + b"\xe9", "", "utf-8"),
        ((TEXT * 1_000).encode()[:-2], "", "utf-8"),
        (TEXT.encode("cp1251"), "", "cp1252"),
        ("\u8054\u901a\u4e2d\u56fd\u7f51\u7ad9".encode("gb18030"), "", "cp1252"),
    ],
)
def test_the_first_source_that_names_an_encoding_counts(
    body: bytes, content_type: str, expected: str
) -> None:
    assert detect_charset(body, content_type) == expected


@pytest.mark.parametrize(
    "label", ["nonsense", "base64", "rot13", "utf-7", "hex", "idna", "undefined", "utf-32", ""]
)
def test_a_label_that_names_no_encoding_of_the_web_is_passed_over(label: str) -> None:
    assert codec_of(label) == ""
    assert detect_charset(b"<p>x", f"text/html; charset={label}") == "utf-8"


def test_every_label_of_the_standard_is_read_in_its_encoding() -> None:
    assert len(webencodings.LABELS) == 228
    for label, name in webencodings.LABELS.items():
        charset = detect_charset(b"", f"text/html; charset={label.upper()}")
        expected = webencodings.lookup(name).codec_info
        assert charset == expected.name
        assert to_utf8(b"<p>\xe9", charset)[0] == expected.decode(b"<p>\xe9", "replace")[0].encode()
    assert to_utf8("\U0001f600".encode("gb18030"), "gbk") == ("\U0001f600".encode(), False)


def test_bytes_become_utf8_without_the_mark() -> None:
    assert to_utf8(b"\xff\xfeh\x00i\x00", "utf-16-le") == (b"hi", False)


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        ("cp1252", "\u201d\u00c1".encode(), "\u00e2\u20ac\x9d\u00c3\x81"),
        ("cp1257", b"\x83\xe0", "\x83\u0105"),
        ("cp874", b"\x99\xa1", "\x99\u0e01"),
    ],
)
def test_bytes_without_a_character_are_controls_and_fit(charset: str, body: bytes, text: str) -> None:
    assert to_utf8(body, charset) == (text.encode(), False)


def test_bytes_that_do_not_fit_are_replaced_and_told() -> None:
    assert to_utf8(b"a\xd2\x81", "cp1253") == ("a\ufffd\x81".encode(), True)
    assert to_utf8(b"a\xffb", "utf-8") == ("a\ufffdb".encode(), True)
