"""Hosts outside of ASCII, as the codec of the standard library writes them, without its cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from linkscore_scoring.errors import InvalidLink
from linkscore_scoring.urls.hosts import MAX_HOST_CHARS, ascii_host, punycode, with_ascii_host
from linkscore_scoring.urls.identity import validate_url
from linkscore_scoring.urls.resolve import UrlResolver
from support.growth import check_growth, cpu_s

_LETTERS = st.characters(min_codepoint=0x80, max_codepoint=0x2FFFF, exclude_categories=["Cs"])


@given(st.text(_LETTERS | st.sampled_from("abz-019"), min_size=1, max_size=63))
def test_punycode_is_that_of_the_codec(label: str) -> None:
    assert punycode(label).encode() == label.encode("punycode")


@pytest.mark.parametrize(
    "host",
    [
        "bücher.example", "BÜCHER.example", "例え.テスト", "例え。テスト", "faß.de", "ελλάς.gr", "пример.рф",
        "א.example", "한국.kr", "e\u0301.example", "ﬁn.example", "bücher.example.",
    ],
)  # fmt: skip
def test_hosts_are_written_as_before(host: str) -> None:
    url = f"http://{host}/a?b=c"
    assert validate_url(url, "url") == canonicalize_url(url)


@pytest.mark.parametrize("host", ["é..example", "é" * 64 + ".example", "xn--é.example", "\u05d0a1é.example"])
def test_hosts_that_idna_refuses_raise(host: str) -> None:
    with pytest.raises(ValueError, match=r"label|Violation"):
        ascii_host(host)
    assert UrlResolver("http://a.test/").resolve(f"http://{host}/") == "invalid"


@pytest.mark.parametrize(
    "url", ["http://é" + "a" * MAX_HOST_CHARS, "http://é@" + "é" * 300, "http://é@a.test/", "//" + "é" * 300]
)
def test_long_hosts_and_users_outside_of_ascii_raise(url: str) -> None:
    with pytest.raises(ValueError, match=r"host of more than|user or port"):
        with_ascii_host(url)


@pytest.mark.parametrize("url", ["http://a.test/é", "http://a.test?é", "a/é//é", "mailto:é", "é"])
def test_only_hosts_are_changed(url: str) -> None:
    assert with_ascii_host(url) == url


def _ideographs(n: int, start: int = 0) -> str:
    return "".join(chr(0x4E00 + (start + i) % 20_000) for i in range(n))


def _is_refused(url: str) -> bool:
    with pytest.raises(InvalidLink):
        validate_url(url, "url")
    return UrlResolver("http://a.test/").resolve(url) in {"invalid", "too_long"}


@pytest.mark.parametrize("n", [252, 2_000, 10_000])
def test_a_host_of_many_ideographs_is_refused(n: int) -> None:
    assert _is_refused(f"http://{_ideographs(n)}/")


@pytest.mark.slow
def test_a_refused_host_costs_at_most_in_proportion_to_its_characters() -> None:
    def cost(n: int) -> float:
        url = f"http://{_ideographs(n)}/"
        return cpu_s(lambda: _is_refused(url))

    check_growth(cost, 125_000, doublings=3)


@pytest.mark.slow
def test_hosts_outside_of_ascii_cost_in_proportion_to_their_number() -> None:
    def cost(n: int) -> float:
        hosts = [".".join(_ideographs(24, 97 * i + 31 * k) for k in range(10)) for i in range(n)]
        return cpu_s(lambda: [validate_url(f"http://{host}/", "url") for host in hosts])

    check_growth(cost, 200, doublings=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["../", "a/../", "/", ";", "%2F", "a.", "é", "\u0301", "@", "[", "?a=b&", "\\", "//"]
)
def test_an_href_costs_at_most_in_proportion_to_its_characters(unit: str) -> None:
    resolver = UrlResolver("http://a.test/b/")

    def cost(n: int) -> float:
        href = unit * (n // len(unit))
        return cpu_s(lambda: resolver.resolve(href))

    assert resolver.resolve(unit * (600_000 // len(unit))) in {"too_long", "invalid", "fragment"}
    check_growth(cost, 75_000, doublings=3)


def test_a_long_href_of_another_scheme_is_counted_as_one() -> None:
    assert UrlResolver("http://a.test/").resolve("data:text/plain," + "A" * 100_000) == "scheme"
    assert UrlResolver("http://a.test/").resolve("HTTP:" + "A" * 100_000) == "too_long"
