"""Resolution of hrefs against their page."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest

from linkscore_scoring.urls.resolve import UrlCache, UrlResolver

BASE = "http://a.test/b/c/d.html?q=1"
HREFS = [
    "/x", "/x/../y", "//b.test/x", "x", "./x", "../x", "../../x", "../../../../x", "../", "..", ".", "./",
    "?p=2", "x?p=a/../b", "x;p", ";p", "x//y", "http://c.test/z", "HTTP://c.test/z", "x:y/z", "a b", "é",
    "x?é=ü", "/x?u=http://y//z",
    "/.x", ".x", "x/.y", "../.x", "././x", ".././x", "/", "https://c.test", "a\\b",
]  # fmt: skip


@pytest.mark.parametrize(
    "base", [BASE, "http://a.test", "http://a.test/", "http://a.test/b//c/d", "http://a.test/b;p/c"]
)
@pytest.mark.parametrize("href", HREFS)
def test_hrefs_resolve_as_urljoin_and_safe_url_string_do(base: str, href: str) -> None:
    from w3lib.url import canonicalize_url, safe_url_string

    expected = safe_url_string(urljoin(base, href))
    answer = UrlResolver(base).resolve(href)
    assert answer == ("scheme" if href == "x:y/z" else (expected, canonicalize_url(expected)))


@pytest.mark.parametrize(
    ("href", "reason"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("#", "fragment"),
        (" #top", "fragment"),
        ("mailto:a@b.test", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("JavaScript:x", "scheme"),
        ("tel:+1", "scheme"),
        ("data:text/html,x", "scheme"),
        ("http://[oops/", "invalid"),
        ("http://a.test:port/", "invalid"),
        ("http:///", "invalid"),
        ("/" + "x" * 3000, "too_long"),
        ("x " * 2000, "too_long"),
    ],
)
def test_what_names_no_url_says_why(href: str, reason: str) -> None:
    assert UrlResolver(BASE).resolve(href) == reason


def test_the_fragment_is_dropped_and_white_space_stripped() -> None:
    assert UrlResolver(BASE).resolve(" x\ny#f ") == ("http://a.test/b/c/xy", "http://a.test/b/c/xy")


def test_a_query_is_encoded_as_the_page_is() -> None:
    url, _ = UrlResolver("http://a.test/", charset="cp1251").resolve("/ж?q=ж")
    assert url == "http://a.test/%D0%B6?q=%E6"


def test_a_shared_cache_keeps_charsets_and_folders_apart() -> None:
    cache = UrlCache()
    answers = [
        UrlResolver(base, charset=charset, cache=cache).resolve("x?q=ж")[0]
        for base in ("http://a.test/", "http://a.test/b/")
        for charset in ("cp1251", "utf-8")
    ]
    assert answers == [
        "http://a.test/x?q=%E6",
        "http://a.test/x?q=%D0%B6",
        "http://a.test/b/x?q=%E6",
        "http://a.test/b/x?q=%D0%B6",
    ]


def test_a_lone_query_is_not_remembered_for_the_folder() -> None:
    cache = UrlCache()
    pages = ["http://a.test/x", "http://a.test/y"]
    found = [UrlResolver(page, cache=cache).resolve("?p=2")[0] for page in pages]
    assert found == ["http://a.test/x?p=2", "http://a.test/y?p=2"]


def test_the_cache_forgets_rather_than_grows() -> None:
    cache = UrlCache(max_urls=10)
    for i in range(100):
        UrlResolver("http://a.test/", cache=cache).resolve(f"/{i}")
    assert cache.size <= 20


def test_the_limit_is_the_callers() -> None:
    assert UrlResolver(BASE, max_chars=15).resolve("/abcdefg") == "too_long"
