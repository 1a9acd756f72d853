"""Slots of URLs are the same whether they are cut here or, for want of a plain scheme, by `urlsplit`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.urls.pattern_tree import url_tokens

REST = st.text(alphabet="aB1/?#[]@:.;&=% \t\u00e9\u2100-_", max_size=30)


@given(REST)
def test_any_url_has_the_slots_that_urlsplit_finds(rest: str) -> None:
    by_urlsplit = url_tokens(f"HTTP://{rest}")
    # A URL that cannot be split is one slot as it stands.
    by_urlsplit[0] = by_urlsplit[0].replace("HTTP://", "http://", 1)
    assert url_tokens(f"http://{rest}") == by_urlsplit


@pytest.mark.parametrize(
    ("url", "slots"),
    [
        ("http://h", ["h"]),
        ("http://h/", ["h", "/"]),
        ("https://H:80/a/b7", ["h:80", "/a", "/b#"]),
        ("http://h?q=1&p=x", ["h", "?p&q", "p=x", "q=#"]),
        ("http://h/a?b=/c?d", ["h", "/a", "?b", "b=/c?d"]),
        ("http://h/a#b?c", ["h", "/a"]),
    ],
)
def test_host_path_and_query_end_where_they_do_in_urls(url: str, slots: list[str]) -> None:
    assert url_tokens(url) == slots
