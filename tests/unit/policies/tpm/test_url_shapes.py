"""URLs that look alike, and their pattern; worked by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.policies.tpm.url_shapes import UrlShape, url_levels, url_shape, url_similar


def test_levels_are_host_and_segments_and_the_query_stays_with_the_last() -> None:
    assert url_levels("http://h/a/b.php?x=/1") == ["h", "a", "b.php?x=/1"]
    assert url_levels("https://h/") == ["h", ""]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("http://h/a/b/1", "http://h/a/c/2", True),
        ("http://h/a/b/1", "http://h/x/c/2", False),
        ("http://h/a", "http://g/a", False),
        ("http://h/a", "http://h/a/b", False),
    ],
)
def test_alike_means_one_host_as_many_levels_and_two_that_differ(one: str, other: str, alike: bool) -> None:
    assert url_similar(one, other) is alike
    assert url_similar(other, one) is alike


def test_k_is_how_many_levels_may_differ() -> None:
    assert url_similar("http://h/a/b/1", "http://h/x/c/2", max_differing=3)
    assert not url_similar("http://h/a/1", "http://h/x/2", max_differing=1)


@pytest.mark.parametrize(
    ("urls", "pattern"),
    [
        (["http://h/a"], "h/a"),
        (["http://h/t/12", "http://h/t/14"], "h/t/[0-9]+"),
        (["http://h/v.php?t=1", "http://h/v.php?t=20"], r"h/v\.php\?t=[0-9]+"),
        (["http://h/one", "http://h/TWO"], "h/[A-Za-z]+"),
        (["http://h/one", "http://h/2"], r"h/\w+"),
        (["http://h/a-b", "http://h/c"], r"h/[a-z]+\-*[a-z]*"),
        (["http://h/a.html", "http://h/b-c.html"], r"h/[a-z]+\-*[a-z]*\.html"),
        (["http://h/f=1&x", "http://h/f=1&y"], r"h/f=1\&[a-z]+"),
    ],
)
def test_levels_are_generalised_token_by_token(urls: list[str], pattern: str) -> None:
    shape = url_shape(urls)
    assert str(shape) == pattern
    assert all(shape.matches(url) for url in urls)


def test_a_shape_fits_urls_it_was_not_made_of() -> None:
    shape = url_shape(["http://h/t/12", "http://h/t/14"])
    assert shape.matches("http://h/t/9700")
    assert not any(map(shape.matches, ["http://h/t/", "http://h/t/a", "http://h/t/1/2", "http://g/t/1"]))


def test_the_order_of_urls_does_not_matter() -> None:
    urls = ["http://h/a-1", "http://h/b", "http://h/C-2-d"]
    assert str(url_shape(urls)) == str(url_shape(urls[::-1]))


def test_very_long_levels_become_any_text() -> None:
    shape = url_shape(["http://h/" + "a-" * 101, "http://h/b"])
    assert str(shape) == "h/.*"
    assert shape.matches("http://h/")


def test_state_round_trip() -> None:
    shape = url_shape(["http://h/a.b-c", "http://h/d"])
    assert str(UrlShape.from_state(shape.to_state())) == str(shape)
    with pytest.raises(CorruptState):
        UrlShape.from_state([["a"]])
