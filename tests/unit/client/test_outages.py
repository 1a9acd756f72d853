"""Without its server a crawl goes on by what it knows, fairly and within bounds."""

from __future__ import annotations

import pytest

from linkscore.frontier import TRUST, Frontier, Outlook, Place, url_shapes


def worth(outlook: Outlook, bucket: str) -> float:
    return outlook.worth(bucket, 1.0)


def take(outlook: Outlook, bucket: str, n: int) -> None:
    for _ in range(n):
        outlook.taken(bucket)


def test_a_value_holds_as_long_as_its_bucket_was_tried() -> None:
    outlook = Outlook()
    take(outlook, "tried", 9)
    outlook.turn(away=True)
    assert worth(outlook, "tried") == worth(outlook, "untried") == 1.0
    take(outlook, "tried", 2 * TRUST)
    outlook.turn(away=True)  # as the frontier is told with each answer that it misses
    take(outlook, "untried", 2 * TRUST)
    assert worth(outlook, "tried") == pytest.approx(10 * TRUST / (10 * TRUST + 2 * TRUST))
    assert worth(outlook, "untried") == pytest.approx(1 / 3)
    outlook.turn(away=False)
    assert worth(outlook, "untried") == 1.0


def test_links_to_pages_that_are_not_there_go_last() -> None:
    outlook = Outlook()
    outlook.placed("http://a.org/log-in?to=1", "door", 0.5)
    for n in range(3):
        outlook.fetched(f"http://a.org/log-in?to={n}", is_page=False)
    assert worth(outlook, "door") == 1.0  # the server knows better, while it answers
    outlook.turn(away=True)
    assert worth(outlook, "door") == pytest.approx(1 / 4)


def test_links_of_one_shape_are_trusted_and_fade_together_though_each_has_a_bucket_of_its_own() -> None:
    outlook = Outlook()
    outlook.fetched("http://a.org/tag/green", is_page=True)
    for name in ("red", "blue"):
        outlook.placed(f"http://a.org/tag/{name}", name, 0.5)
    outlook.turn(away=True)
    take(outlook, "red", 2 * TRUST)
    assert worth(outlook, "blue") == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("url", "fine", "coarse"),
    [
        ("http://a.org/2026/11/hello-world/", "a.org/#/#/hello-world/", "*a.org/#/#/*/"),
        ("http://a.org/viewtopic.php?t=5&start=10", "a.org/viewtopic.php?start&t", "*a.org/*.php?start&t"),
        ("http://a.org/123/some-title", "a.org/#/some-title", "*a.org/#/*"),
        ("http://a.org/u12/x", "a.org/u#/x", "*a.org/#/*"),
        ("http://a.org/", "a.org/", "*a.org/"),
        ("http://a.org", "a.org", "*a.org"),
        ("http://a.org/?page2=1&page3=2&&b", "a.org/?b&page#", "*a.org/?b&page#"),
        ("http://[bad/", "http://[bad/", "http://[bad/"),
    ],
)
def test_urls_of_a_kind_have_one_shape(url: str, fine: str, coarse: str) -> None:
    assert url_shapes(url) == (fine, coarse)


def test_a_guessed_link_waits_behind_the_scored_ones_of_its_bucket() -> None:
    frontier = Frontier()
    frontier.add_guess("http://a.org/thread/new", "thread", 0.5)
    frontier.add("http://a.org/thread/1", [Place("thread", 0.5, 0.5)])
    frontier.add("http://a.org/thread/2", [Place("thread", 0.1, 0.5)])
    frontier.add_unknown("http://a.org/else")
    urls = [item.url for _ in range(4) if (item := frontier.take()) is not None]
    assert [url.rpartition("/")[2] for url in urls] == ["1", "2", "new", "else"]
