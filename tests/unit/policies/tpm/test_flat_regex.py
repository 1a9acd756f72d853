"""Rows of classes are matched as `re` would, in linear time."""

from __future__ import annotations

import re

import pytest

from linkscore_scoring.policies.tpm.url_shapes import Element, FlatRegex, common_class, tokens_of
from support.growth import check_growth, cpu_s

ROWS: list[list[Element]] = [
    [],
    [("a", "")],
    [("t", ""), ("=", ""), ("[0-9]", "+")],
    [("[a-z]", "+"), ("-", "*"), ("[a-z]", "*"), ("-", "*"), ("[a-z]", "*")],
    [(r"\w", "+"), (".", "*"), ("[A-Z]", "+"), (r"\.", ""), ("x", "")],
    [(r"\.", ""), (".", "+")],
    [("[A-Za-z]", "*"), ("_", "*")],
]
TEXTS = ["", "a", "ab", "t=", "t=1", "t=123", "t=12a", "one", "one-two", "one-two-three", "one--two", "one2",
         "aB.x", "aBx", "A_B.x", "..", ".", "abC__", "é"]  # fmt: skip


@pytest.mark.parametrize("elements", ROWS, ids=lambda row: str(FlatRegex(row)))
@pytest.mark.parametrize("text", TEXTS)
def test_it_matches_what_re_matches(elements: list[Element], text: str) -> None:
    regex = FlatRegex(elements)
    assert regex.matches(text) == bool(re.fullmatch(str(regex), text, re.ASCII | re.DOTALL))


@pytest.mark.slow
def test_no_text_makes_a_match_slow() -> None:
    """Thirty overlapping repeats would take a backtracking matcher longer than the universe is old."""
    regex = FlatRegex([*[("[a-z]", "*"), (r"\w", "+")] * 15, ("!", "")])

    def cost(n: int) -> float:
        return cpu_s(lambda: regex.matches("a" * n))

    assert not regex.matches("a" * 2_000)
    check_growth(cost, 500, doublings=3)


def test_tokens_are_runs_of_one_leaf_class() -> None:
    assert tokens_of("viewTopic.php?t=12_é") == [
        "view", "T", "opic", ".", "php", "?", "t", "=", "12", "_", "é"]  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "name"),
    [
        (["abc", "de"], "[a-z]"),
        (["abc", "DE"], "[A-Za-z]"),
        (["abc", "12"], r"\w"),
        (["12", "_"], r"\w"),
        (["-", "-"], "-"),
        (["-", "."], "."),
        (["-", "a"], "."),
        (["."], r"\."),
    ],
)
def test_tokens_have_the_deepest_common_class(tokens: list[str], name: str) -> None:
    assert common_class(tokens) == name
