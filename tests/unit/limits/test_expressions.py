"""URL patterns and query keys as expressions fit the URLs that are of them, and no others."""

from __future__ import annotations

import re

import pytest

from linkscore_scoring.exporters import portable
from linkscore_scoring.urls.pattern_tree import expression_of, url_tokens, with_key

PLAIN = [
    "http://a.org/",
    "http://a.org/x/12/",
    "https://a.org/x/12/print.html",
    "http://a.org:8080/x",
    "http://a.org/thread-12-3.html",
    "http://a.org/Category:Ships",
    "http://a.org/group_io_9.html",
    "http://a.org/t/a%20b",
    "http://a.org/t/%C3%BCber",
    "http://a.org/t/(x)+[y]$",
    "http://a.org/x?p=3",
    "http://a.org/x?p=3&q=z",
    "http://a.org/x?a=1&b=2&c=x%26y",
    "http://a.org/x?flag",
]


@pytest.mark.parametrize("url", PLAIN)
def test_a_url_fits_the_expression_of_its_own_slots(url: str) -> None:
    written = expression_of(url_tokens(url))
    assert portable(written)
    assert re.search(written, url)
    assert not re.search(written, f"{url}/more/of/it")
    assert not re.search(written, url.replace("a.org", "b.org"))


@pytest.mark.parametrize(
    ("tokens", "fits", "not_fits"),
    [
        (["a.org", "/print", "/*"], "http://a.org/print/x-1", "http://a.org/print/x/y"),
        (["a.org", "/print", "/*"], "http://a.org/print/x", "http://a.org/print/"),
        (["a.org", "/*"], "http://a.org/Ships", "http://a.org/Category:Ships"),
        (["a.org", "/*.html"], "http://a.org/x.html", "http://a.org/x.html?y=1"),
        (["a.org", "/x", "/**"], "http://a.org/x/y/z", "http://a.org/x/y?z=1"),
        (["a.org", "/x", "?*"], "http://a.org/x?y=1", "http://a.org/x"),
        (["a.org", "/x", "?p", "p=*"], "http://a.org/x?p=any", "http://a.org/x?p=1&q=2"),
        (["a.org", "/x", "?p"], "http://a.org/x?p=any", "http://a.org/x?q=1"),
        (["a.org", "/x", "?p&q", "p=#", "q=z"], "http://a.org/x?q=z&p=3", "http://a.org/x?q=y&p=3"),
    ],
)
def test_wildcards_end_where_their_slot_does(tokens: list[str], fits: str, not_fits: str) -> None:
    written = expression_of(tokens)
    assert re.search(written, fits)
    assert not re.search(written, not_fits)


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("http://a.org/x?sid=1", True),
        ("http://a.org/x?y=2&SID=1", True),
        ("http://a.org/x?sid", True),
        ("http://a.org/x?sid&y=1", True),
        ("http://a.org/x?sidecar=1", False),
        ("http://a.org/x?resid=1", False),
        ("http://a.org/x/sid=1", False),
        ("http://a.org/y?sid=1", False),
    ],
)
def test_a_key_is_found_wherever_it_stands_in_the_query(url: str, fits: bool) -> None:
    found = re.search(with_key(["a.org", "/x", "?sid", "sid=#"], "sid"), url)
    assert bool(found) is fits
