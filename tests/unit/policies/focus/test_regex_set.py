"""A set of expressions tells every type that fits, refuses what is not RE2, and never takes long."""

from __future__ import annotations

import pytest

from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.focus.expressions import MAX_PATTERNS, RegexSet, check_regex
from linkscore_scoring.types import INDEX, PAGE_FLIP, THREAD
from support.growth import check_growth, cpu_s

RULES = [
    (r"^https?://f\.org/t/\d+$", THREAD),
    (r"^https?://f\.org/t/\d+(?:\?start=\d+)?$", PAGE_FLIP),
    (r"^https?://f\.org/b/[^/?&.=]+/?$", INDEX),
    (r"^http://f\.org/t/7$", THREAD),
]


def regex_set(rules: list[tuple[str, int]]) -> RegexSet:
    return RegexSet([pattern for pattern, _ in rules], [kind for _, kind in rules])


def test_every_type_that_fits_is_told_once():
    found = regex_set(RULES)
    assert found.rows("http://f.org/t/7") == [0, 1, 3]
    assert found.match("http://f.org/t/7") == [THREAD, PAGE_FLIP]
    assert found.match("https://f.org/b/games") == [INDEX]
    assert found.match("http://fxorg/t/7") == []


def test_an_empty_set_fits_nothing():
    assert regex_set([]).match("http://f.org/") == []


def test_urls_with_characters_beyond_ascii_and_with_zeros_are_read():
    found = regex_set(RULES)
    assert found.match("http://f.org/b/日本") == [INDEX]
    assert found.match("http://f.org/b/\x00") == []


@pytest.mark.parametrize("bad", ["(", r"(a)\1", "(?=x)", "a{2000}", "[b-a]"])
def test_what_is_no_re2_expression_is_refused_with_its_place(bad: str):
    with pytest.raises(InvalidInput, match=r"patterns\[1\]: must be an RE2 expression"):
        RegexSet(["ok", bad], [1, 1])
    with pytest.raises(InvalidInput, match="query: must be an RE2 expression"):
        check_regex(bad, "query")


def test_bounds_are_kept():
    with pytest.raises(InvalidInput, match="at most 1000 patterns, got 1001"):
        RegexSet(["a"] * (MAX_PATTERNS + 1), [1] * (MAX_PATTERNS + 1))
    with pytest.raises(InvalidInput, match=r"patterns\[0\]: must have at most 4000 characters"):
        RegexSet(["a" * 4001], [1])
    with pytest.raises(InvalidInput, match="must have at most 100000 characters together"):
        RegexSet(["a" * 3000] * 40, [1] * 40)
    with pytest.raises(InvalidInput, match="types: must be one for each of 1 patterns, got 2"):
        RegexSet(["a"], [1, 2])


def test_a_full_set_still_matches():
    patterns = [rf"^http://f\.org/{i}/[^/?&.=]+/\d+(?:/p\d+)?/?$" for i in range(MAX_PATTERNS)]
    assert RegexSet(patterns, list(range(MAX_PATTERNS))).match("http://f.org/997/some-title/12/p3") == [997]


@pytest.mark.slow
def test_a_pattern_that_backtracks_elsewhere_takes_linear_time():
    found = RegexSet(["^(a+)+$"], [1])

    def cost(n: int) -> float:
        return cpu_s(lambda: [found.match("a" * n + "!") for _ in range(200)])

    assert found.match("a" * 20_000 + "!") == []
    check_growth(cost, 1_000, doublings=3)
