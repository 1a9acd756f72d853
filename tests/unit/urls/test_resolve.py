"""Hrefs against their page, by the URL Standard."""

from __future__ import annotations

import pytest

from linkscore_scoring.urls.identity import UrlCache, UrlResolver

BASE = "http://a.test/b/c/d.html?q=1"
LINKS = [
    ("x", "http://a.test/b/c/x"),
    ("../x", "http://a.test/b/x"),
    ("../../../../x", "http://a.test/x"),
    (".", "http://a.test/b/c/"),
    ("..", "http://a.test/b/"),
    ("?p=2", "http://a.test/b/c/d.html?p=2"),
    ("?", "http://a.test/b/c/d.html?"),
    ("x;p?y#z", "http://a.test/b/c/x;p?y"),
    ("//b.test:80/x", "http://b.test/x"),
    ("HTTPS://c.test", "https://c.test/"),
    # Backslashes are slashes, but in queries.
    ("\\x\\y?a\\b", "http://a.test/x/y?a\\b"),
    ("\\\\b.test\\x", "http://b.test/x"),
    ("..\\x", "http://a.test/b/x"),
    # Empty segments stay, and what looks like a URL in a path is part of it.
    ("x//y/../z", "http://a.test/b/c/x//z"),
    ("/r/*-http://o.test/p", "http://a.test/r/*-http://o.test/p"),
    # Any number of slashes.
    ("https:/c.test/x", "https://c.test/x"),
    ("https:c.test/x", "https://c.test/x"),
    ("https:////c.test/x", "https://c.test/x"),
    ("http:x", "http://a.test/b/c/x"),
    ("http:/x", "http://a.test/x"),
    # Dots, also escaped; percent signs alone.
    ("%2e%2e/x", "http://a.test/b/x"),
    ("./.x", "http://a.test/b/c/.x"),
    ("100%", "http://a.test/b/c/100%"),
    # Blanks and controls around, tabs and line feeds within.
    ("\x00\x1f x\t\r\ny \x0b", "http://a.test/b/c/xy"),
    ("a b?c d #e", "http://a.test/b/c/a%20b?c%20d%20"),
    ("a\"<>`{}'", "http://a.test/b/c/a%22%3C%3E%60%7B%7D'"),
    ("\u00e9?\u00e9", "http://a.test/b/c/%C3%A9?%C3%A9"),
    # Hosts.
    ("//B\u00dccher.test", "http://xn--bcher-kva.test/"),
    ("//b%C3%BCcher.test", "http://xn--bcher-kva.test/"),
    ("//fa\u00df.test", "http://xn--fa-hia.test/"),
    ("//a\u3002b", "http://a.b/"),
    ("//192.0x00A80001", "http://192.168.0.1/"),
    ("//me:secret@b.test/", "http://me:secret@b.test/"),
]


@pytest.mark.parametrize(("href", "url"), LINKS)
def test_hrefs_resolve_as_in_a_browser(href: str, url: str) -> None:
    assert UrlResolver(BASE).resolve(href)[0] == url


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("#", "fragment"),
        (" #top", "fragment"),
        ("mailto:a@b.test", "scheme"),
        ("JavaScript:x", "scheme"),
        ("data:text/html,x", "scheme"),
        ("x:y/z", "scheme"),
        ("http://[oops/", "invalid"),
        ("http://a.test:port/", "invalid"),
        ("http://", "invalid"),
        ("// /x", "invalid"),
        ("http://a b/", "invalid"),
        ("http://a%zz/", "invalid"),
        ("http://\u00ad/", "invalid"),
        ("http://1.2.3.4.5/", "invalid"),
        ("/" + "x" * 3000, "too_long"),
        ("x " * 2000, "too_long"),
        ("/" + "\u00e9" * 700, "too_long"),
    ],
)
def test_what_names_no_url_says_why(href: str, reason: str) -> None:
    assert UrlResolver(BASE).resolve(href) == ("", reason)


@pytest.mark.parametrize(
    ("charset", "href", "url"),
    [
        ("cp1251", "/\u0436?q=\u0436", "http://a.test/%D0%B6?q=%E6"),
        ("cp1251", "/?q=a\u2192b&c", "http://a.test/?q=a%26%238594%3Bb&c"),
        ("iso8859-2", "/?q=\u20ac\u0151", "http://a.test/?q=%26%238364%3B%F5"),
        ("shift_jis", "/?q=\u30bd", "http://a.test/?q=%83\\"),
        ("euc_jp", "/?q=\u3042\u00e9", "http://a.test/?q=%A4%A2%26%23233%3B"),
        ("big5hkscs", "/?q=\u4e2d\u00e9\u20ac", "http://a.test/?q=%A4%A4%26%23233%3B%A3%E1"),
        ("gbk", "/?q=\u4e2d\u00e4\u20ac", "http://a.test/?q=%D6%D0%26%23228%3B%80"),
        ("gb18030", "/?q=\u00e4", "http://a.test/?q=%810%8A1"),
        ("iso2022_jp", "/?q=\u3042&x", "http://a.test/?q=%1B$B$%22%1B(B&x"),
        ("utf-16-le", "/?q=\u0436", "http://a.test/?q=%D0%B6"),
        ("replacement", "/?q=\u0436", "http://a.test/?q=%D0%B6"),
        ("cp1251", "/?q=1#\u0436", "http://a.test/?q=1"),
        ("cp1252", "/?q=\u00c3\x81vila", "http://a.test/?q=%C3%81vila"),
        ("cp1253", "/?q=\ufffd", "http://a.test/?q=%26%2365533%3B"),
    ],
)
def test_a_query_is_in_the_encoding_of_its_page(charset: str, href: str, url: str) -> None:
    assert UrlResolver("http://a.test/", charset=charset).resolve(href)[0] == url


def test_a_shared_cache_keeps_charsets_folders_queries_and_users_apart() -> None:
    bases = [
        "http://a.test/",
        "http://a.test/b/",
        "http://a.test/b/c?x",
        "http://me@a.test/b/",
        "https://a.test/",
    ]
    hrefs = ["x?q=\u0436", "/x?\u0436", "?p=2", " ?p=3", "http:y", "\nhttp:y", "//c.test/", ".", "#a"]
    cache = UrlCache()
    for base in bases * 2:
        for charset in ("cp1251", "utf-8"):
            shared, alone = (
                UrlResolver(base, charset=charset, cache=cache),
                UrlResolver(base, charset=charset),
            )
            assert list(map(shared.resolve, hrefs)) == list(map(alone.resolve, hrefs))


def test_the_cache_forgets_rather_than_grows() -> None:
    cache = UrlCache(max_urls=10)
    for i in range(100):
        UrlResolver("http://a.test/", cache=cache).resolve(f"/{i}")
    assert cache.size <= 20


def test_the_limit_is_the_callers() -> None:
    assert UrlResolver(BASE, max_chars=15).resolve("/abcdefg") == ("", "too_long")
