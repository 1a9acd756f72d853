"""Patterns as text and as expressions that RE2 reads."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import pytest
import re2

from linkscore_scoring.browse_logs.behavior.key_values import key_values
from linkscore_scoring.browse_logs.behavior.pattern_text import regex_of, text_of
from linkscore_scoring.browse_logs.behavior.pattern_tree import pattern_tree
from linkscore_scoring.urls.identity import identity

SHOW = {"host": "=h", "p0": "=show.php", "p1": "-", "?start": "#", "?t": "#", "?u": "-"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ({}, "*/**"),
        ({"host": "=h", "p0": "-"}, "h/"),
        ({"host": "=h", "p0": "=tag", "p1": "*", "p2": "-"}, "h/tag/*"),
        ({"host": "=h", "p1": "=page"}, "h/*/page/**"),
        (SHOW, "h/show.php?start=#&t=#"),
        ({"host": "=h", "p0": "-", "?": "*"}, "h/?*"),
    ],
)
def test_a_pattern_reads_like_a_url(pattern: dict[str, str], text: str) -> None:
    assert text_of(pattern) == text


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ({"host": "=h", "p0": "=tag", "p1": "*", "p2": "-"}, ["http://h/tag/a", "https://h/tag/a/?x=1"],
         ["http://h/tag", "http://h/tag/a/b", "http://g/tag/a", "http://h.h/tag/a"]),
        (SHOW, ["http://h/show.php?t=1&start=20", "http://h/show.php?start=20&t=1"],
         ["http://h/show.php?t=1", "http://h/show.php?t=1&start=20&u=3", "http://h/showXphp?t=1&start=2"]),
        ({"host": "=h", "p0": "=a b", "?q": "-"}, ["http://h/a%20b", "http://h/a%20b/c"], ["http://h/a%20b?z=1"]),
        ({"host": "=h", "p0": "-"}, ["http://h", "http://h/"], ["http://h/x"]),
    ],
)  # fmt: skip
def test_an_expression_fits_what_the_pattern_fits(
    pattern: dict[str, str], fits: list[str], fits_not: list[str]
) -> None:
    expression = re2.compile(regex_of(pattern))
    assert [url for url in fits if not expression.search(url)] == []
    assert [url for url in fits_not if expression.search(url)] == []


def test_every_url_of_a_split_pattern_fits_its_expression() -> None:
    urls = [f"http://h/{kind}/{n}?{query}={n}" for kind in "abc" for query in ("x", "y+z") for n in range(12)]
    tree, leaf = pattern_tree(urls)
    for at in np.unique(leaf).tolist():
        expression = re2.compile(regex_of(tree.pattern(at)))
        of_leaf = [url for url, of in zip(urls, leaf.tolist(), strict=True) if of == at]
        assert all(expression.search(url) for url in of_leaf)
        assert all(tree.match(key_values(url)) == (at, True) for url in of_leaf)


@pytest.mark.parametrize("value", ["a:b", "c++", "50%", "kde qt", "größe", "日本", "(x)", "a/b"])
def test_a_value_fits_as_it_is_and_escaped(value: str) -> None:
    fits = re2.compile(regex_of({"host": "=a.org", "?q": f"={value}"})).fullmatch
    raw = f"https://a.org/?q={quote(value, safe=':+()')}"
    assert fits(raw)
    assert fits(identity(f"https://a.org/?q={quote(value, safe='')}"))
    assert fits(f"https://a.org/?q={quote(value, safe='').lower()}")
    assert not fits(f"https://a.org/?q=x{quote(value, safe='')}")
