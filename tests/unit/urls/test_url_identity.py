"""Identity, host and validation of URLs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.errors import InvalidLink, InvalidPage
from linkscore_scoring.urls.identity import MAX_PARAMETERS, host_of, identity, validate_url

ONE_PAGE = [
    # By the URL Standard.
    ("http://A.test:80/a/./b/../c#top", "http://a.test/a/c"),
    ("https://a.test:443", "https://a.test/"),
    ("http://a.test\\b", "http://a.test/b"),
    ("http:a.test//x", "http://a.test//x"),
    ("http://b\u00fccher.test/\u00e9", "http://xn--bcher-kva.test/%C3%A9"),
    ("http://b%C3%BCcher.test/", "http://xn--bcher-kva.test/"),
    ("http://fa\u00df.test/", "http://xn--fa-hia.test/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://[::0:1]/", "http://[::1]/"),
    ("http://a.test/%2e%2E/x", "http://a.test/x"),
    (" http://a.t\nest/\tx ", "http://a.test/x"),
    # By rules of ours: escapes are written in one way, ...
    ("http://a.test/100%", "http://a.test/100%25"),
    ("http://a.test/%e3%81%82", "http://a.test/%E3%81%82"),
    ("http://a.test/%7Eme/%41%2d", "http://a.test/~me/A-"),
    ("http://a.test/a%5Eb", "http://a.test/a^b"),
    ("http://a.test/w/Talk%3AShips_%28old%29", "http://a.test/w/Talk:Ships_(old)"),
    ("http://a.test/x?u=http://b%2f&tag[]=%7e", "http://a.test/x?tag%5B%5D=~&u=http%3A%2F%2Fb%2F"),
    ("http://a.test/x?q=a%20b", "http://a.test/x?q=a+b"),
    # ... a query is in the order of its names, and what is empty is left out.
    ("http://a.test/x?b=2&a=1", "http://a.test/x?a=1&b=2"),
    ("http://a.test/x?&a=1&&b=2&", "http://a.test/x?a=1&b=2"),
    ("http://a.test/x?", "http://a.test/x"),
]


@pytest.mark.parametrize(("url", "written"), ONE_PAGE)
def test_urls_of_one_page_have_one_identity(url: str, written: str) -> None:
    assert identity(url) == written
    assert identity(written) == written


TWO_PAGES = [
    ("http://a.test/x", "http://a.test/x/"),
    ("http://a.test/x", "http://a.test//x"),
    ("http://a.test/x", "http://a.test/X"),
    ("http://a.test/x", "https://a.test/x"),
    ("http://a.test/x", "http://a.test:8080/x"),
    ("http://a.test/x", "http://www.a.test/x"),
    # An escape that says what its character does not.
    ("http://a.test/a%2Fb", "http://a.test/a/b"),
    ("http://a.test/a%3Bb", "http://a.test/a;b"),
    ("http://a.test/a%2Bb", "http://a.test/a+b"),
    ("http://a.test/a%20b", "http://a.test/a+b"),
    ("http://a.test/%2541", "http://a.test/%41"),
    ("http://a.test/a%3Fb", "http://a.test/a?b"),
    ("http://a.test/?a=1%26b=2", "http://a.test/?a=1&b=2"),
    ("http://a.test/?a%3D1=2", "http://a.test/?a=1=2"),
    ("http://a.test/?q=c%2B%2B", "http://a.test/?q=c++"),
    ("http://a.test/?a=1%3Bb=2", "http://a.test/?a=1;b=2"),
    ("http://a.test/?q=50%25", "http://a.test/?q=50%2525"),
    # Texts in other encodings: read as UTF-8 they would be one.
    ("http://a.test/?q=%EF%F0", "http://a.test/?q=%E8%E2"),
    # An order that may mean something: of values of one name, and of what has no names.
    ("http://a.test/?sort=a&sort=b", "http://a.test/?sort=b&sort=a"),
    ("http://a.test/?board&reply", "http://a.test/?reply&board"),
    ("http://a.test/?board&p=2", "http://a.test/?p=2&board"),
    ("http://a.test/?a", "http://a.test/?a="),
    ("http://a.test/?a=", "http://a.test/"),
]


@pytest.mark.parametrize(("one", "other"), TWO_PAGES)
def test_urls_that_may_be_two_pages_have_two_identities(one: str, other: str) -> None:
    assert identity(one) != identity(other)


parts = st.text("aAzZ09-._~!$&'()*+,;=:@/?%#[] \\\u00e9\u0416", max_size=15)


@given(st.builds("http://{}/{}".format, st.sampled_from(["a.test", "B.test:80", "u:p@c.test"]), parts))
def test_an_identity_is_its_own_identity(url: str) -> None:
    assert identity(identity(url)) == identity(url)


@pytest.mark.parametrize("n", [MAX_PARAMETERS, MAX_PARAMETERS + 1])
def test_only_queries_of_few_parameters_are_put_in_order(n: int) -> None:
    pairs = [f"p{at:03}=;" for at in reversed(range(n))]
    ordered = sorted(pairs) if n <= MAX_PARAMETERS else pairs
    assert identity(f"http://a.test/?{'&'.join(pairs)}") == f"http://a.test/?{'&'.join(ordered)}"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.test/x", "a.test"),
        ("http://a.test:80/", "a.test"),
        ("https://a.test:80/", "a.test:80"),
        ("http://u:p@a.test:8080/", "a.test:8080"),
        ("http://a.test:/", "a.test"),
        ("http://[::1]:81/", "[::1]:81"),
    ],
)
def test_host_drops_user_and_default_port(url: str, host: str) -> None:
    assert host_of(url) == host


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
        ("http://[x/", "MALFORMED_URL"),
        ("http://a b/", "MALFORMED_URL"),
        ("http://a.test:x/", "MALFORMED_URL"),
        ("http://a.test:65536/", "MALFORMED_URL"),
        ("http://1.2.3.256/", "MALFORMED_URL"),
        ("http://xn--a/", "MALFORMED_URL"),
        ("http://a%00b/", "MALFORMED_URL"),
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


def test_a_long_url_is_refused_by_the_limit() -> None:
    with pytest.raises(InvalidPage, match="at most 20 characters"):
        validate_url("http://a.test/" + "x" * 20, "url", max_chars=20, error=InvalidPage)
