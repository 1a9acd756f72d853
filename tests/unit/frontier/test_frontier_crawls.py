"""Many crawls below one folder: few of them open, none forgotten, no more than there may be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_frontier.crawls import Crawls, TooManyCrawlsError
from linkscore_frontier.records import Arrival, State

NOW = 1_000.0
OPEN = 4


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    made = Crawls(tmp_path, max_crawls=12, max_open=OPEN)
    yield made
    made.close()


def put(crawls: Crawls, crawl: str, *names: str) -> None:
    crawls.open(crawl).put([Arrival(f"http://{crawl}.org/{name}", f"{crawl}.org") for name in names], NOW)


def take(crawls: Crawls, asked: list[str], queues: int = 0, now: float = NOW) -> list[str]:
    given = crawls.take(asked, queues=queues, each=1, lease_s=60, now=now)
    return [f"{crawl}/{one.url.rpartition('/')[2]}" for crawl, one in given]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_descriptors_do_not_grow_with_crawls(crawls: Crawls) -> None:
    for n in range(OPEN):
        put(crawls, f"c{n}", "1")
    before = descriptors()
    for n in range(OPEN, 12):
        put(crawls, f"c{n}", "1")
    assert descriptors() == before
    assert crawls.names() == sorted(f"c{n}" for n in range(12))


def test_a_crawl_that_was_closed_goes_on_as_it_was(crawls: Crawls) -> None:
    put(crawls, "a", "1", "2")
    assert take(crawls, ["a"]) == ["a/1"]
    for n in range(OPEN):
        put(crawls, f"c{n}", "1")
    summary = crawls.all()["a"]
    assert (summary.queues, summary.active, summary.states[State.LEASED], summary.new) == (1, 2, 1, 1)
    assert take(crawls, ["a"], now=NOW + 100) == ["a/1"]  # its lease ran out: what was given goes first


def test_what_linkscore_was_not_asked_about_is_remembered_of_closed_crawls(crawls: Crawls) -> None:
    put(crawls, "a", "1")
    for n in range(OPEN):
        crawls.open(f"c{n}")
    assert crawls.busy() == ["a"]
    crawls.open("a").place([(1, [])])
    assert crawls.busy() == []


def test_a_call_for_any_crawl_takes_turns_with_all_of_them(crawls: Crawls) -> None:
    for n in range(10):
        put(crawls, f"c{n}", "1")
    got = [take(crawls, crawls.turns(lambda _: True)) for _ in range(4)]
    assert [len(found) for found in got] == [4, 4, 2, 0]
    assert len({name for found in got for name in found}) == 10


def test_a_call_for_any_crawl_asks_those_the_caller_may_touch(crawls: Crawls) -> None:
    put(crawls, "a", "1")
    put(crawls, "b", "1")
    assert crawls.turns(lambda name: name == "b") == ["b"]


def test_no_more_crawls_are_made_than_there_may_be(crawls: Crawls) -> None:
    for n in range(12):
        put(crawls, f"c{n}", "1")
    with pytest.raises(TooManyCrawlsError, match="max_crawls: there are 12 crawls"):
        crawls.open("one-more")
    assert crawls.delete("c0") == 1
    put(crawls, "one-more", "1")


def test_all_are_there_again_after_a_restart(tmp_path: Path) -> None:
    first = Crawls(tmp_path, max_open=2)
    for n in range(5):
        put(first, f"c{n}", "1", "2")
    before = first.all()
    first.close()
    again = Crawls(tmp_path, max_open=2)
    assert again.all() == before
    again.close()


def test_an_answer_ends_at_so_many_bytes_and_the_rest_is_given_next(crawls: Crawls) -> None:
    large = [Arrival(f"http://a.org/{n}", f"k{n}", b"x" * 1_000_000) for n in range(20)]
    crawls.open("a").put(large, NOW)
    sizes = [len(take(crawls, ["a"], now=NOW + n)) for n in range(4)]
    assert sizes == [9, 9, 2, 0]
