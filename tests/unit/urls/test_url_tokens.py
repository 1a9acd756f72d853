"""The slots of a URL."""

from __future__ import annotations

import pytest

from linkscore_scoring.urls.pattern_tree import url_tokens


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
