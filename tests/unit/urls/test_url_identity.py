"""Identity, host and validation of URLs."""

from __future__ import annotations

import pytest
from w3lib.url import canonicalize_url

from linkscore_scoring.errors import InvalidLink, InvalidPage
from linkscore_scoring.urls.identity import MAX_PARAMETERS, host_of, identity, validate_url

URLS = [
    "http://a.test/x?b=2&a=1&a-b=0",
    "http://a.test/x?a=1&a=0&a=",
    "http://a.test",
    "http://a.test/?",
    "http://a.test/?a",
    "http://a.test/?a=1&&b=2",
    "http://a.test/%e3%81%82?q=%c3%a9",
    "http://a.test/%E3%81%82%20x",
    "http://a.test/a;p=1?x=1",
    "http://a.test/a/../b/./c",
    "http://a.test/.hidden",
    "http://A.TEST:80/",
    "https://a.test:443/x",
    "http://u:p@a.test/",
    "http://[::0:1]/x",
    "http://bücher.test/ü?ü=ü",
    "http://a.test/x?title=User:Foo&action=edit",
    "http://a.test/x?q=a+b&p=c d",
    "http://a.test/a|b[c]{d}'e\"f",
    "http://a..test/",
    "http://a.test/x#frag",
]


@pytest.mark.parametrize("url", URLS)
def test_identity_is_that_of_w3lib(url: str) -> None:
    assert identity(url) == canonicalize_url(url)


@pytest.mark.parametrize("n", [MAX_PARAMETERS, MAX_PARAMETERS + 1])
def test_only_queries_of_few_parameters_are_put_in_order(n: int) -> None:
    pairs = [f"p{at:03}=;" for at in reversed(range(n))]
    url = f"HTTP://a.example/é?{'&'.join(pairs)}#top"
    ordered = [pair.replace(";", "%3B") for pair in sorted(pairs)] if n <= MAX_PARAMETERS else pairs
    assert identity(url) == f"http://a.example/%C3%A9?{'&'.join(ordered)}"


def test_identity_sorts_the_query_and_drops_the_fragment() -> None:
    assert identity("http://a.test/x?b=2&a=1#f") == "http://a.test/x?a=1&b=2"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.test/x", "a.test"),
        ("http://a.test:80/", "a.test"),
        ("https://a.test:443/", "a.test"),
        ("https://a.test:80/", "a.test:80"),
        ("http://u:p@a.test:8080/", "a.test:8080"),
        ("http://a.test:/", "a.test"),
        ("http://[::1]:81/", "[::1]:81"),
    ],
)
def test_host_drops_user_and_default_port(url: str, host: str) -> None:
    assert host_of(url) == host


def test_a_valid_url_gives_its_identity() -> None:
    assert validate_url("HTTP://a.test/?b=1&a=2", "links[3].url") == "http://a.test/?a=2&b=1"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "REQUIRED"),
        ("/x", "RELATIVE_URL"),
        ("//a.test/x", "RELATIVE_URL"),
        ("a.test/x", "RELATIVE_URL"),
        ("ftp://a.test/", "UNSUPPORTED_SCHEME"),
        ("javascript:x", "UNSUPPORTED_SCHEME"),
        ("http://", "MALFORMED_URL"),
        ("http:///x", "MALFORMED_URL"),
        ("http://[x/", "MALFORMED_URL"),
    ],
)
def test_what_is_no_absolute_http_url_is_refused_with_field_rule_value_and_reason(
    url: str, reason: str
) -> None:
    with pytest.raises(InvalidLink) as caught:
        validate_url(url, "links[3].url")
    (problem,) = caught.value.problems
    assert problem.field == "links[3].url"
    assert problem.rule.startswith("must be an absolute http or https URL")
    assert problem.rule.endswith(f", got {url!r}")
    assert problem.reason == reason


def test_a_port_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidPage, match="can be parsed"):
        validate_url("http://a.test:x/", "url", error=InvalidPage)


def test_a_long_url_is_refused_by_the_limit() -> None:
    with pytest.raises(InvalidLink, match="at most 20 characters"):
        validate_url("http://a.test/" + "x" * 20, "url", max_chars=20)
