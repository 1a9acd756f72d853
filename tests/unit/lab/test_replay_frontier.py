"""Frontiers: buckets sleep when empty, scores are the latest, nothing is handed out twice."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from replay_sites import page, write_site

from linkscore_lab.replay.crawl import CrawlPlan, crawl
from linkscore_lab.replay.frontier import BucketFrontier, ScoreFrontier, Waiting
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.scorer import CrawlSetup


def link(number: int) -> Waiting:
    return Waiting(number, f"http://s.test/{number}", b"")


def numbers(frontier: BucketFrontier | ScoreFrontier) -> list[int]:
    found = []
    while (waiting := frontier.pop()) is not None:
        found.append(waiting.number)
    return found


def test_buckets_are_emptied_best_first_and_first_in_first_out() -> None:
    frontier = BucketFrontier(lambda names: [{"a": 0.1, "b": 0.9}[name] for name in names])
    for number, bucket in ((1, "a"), (2, "b"), (3, "a"), (4, "b")):
        frontier.offer(link(number), bucket, 0.0)
    assert numbers(frontier) == [2, 4, 1, 3]


def test_among_equal_buckets_the_link_found_first_comes_first() -> None:
    frontier = BucketFrontier(lambda names: [0.5] * len(names))
    for number, bucket in ((1, "b"), (2, "a"), (3, "b"), (4, "a"), (5, "c")):
        frontier.offer(link(number), bucket, 0.0)
    frontier.offer(link(3), "a", 0.0)
    assert numbers(frontier) == [1, 2, 3, 4, 5]


def test_a_link_found_long_ago_waits_in_a_later_bucket_behind_what_is_there() -> None:
    values = {"low": 0.1, "b|x": 0.9, "b|y": 0.9}
    frontier = BucketFrontier(lambda names: [values[name] for name in names])
    for number, bucket in ((1, "low"), (2, "b|x"), (1, "b|y")):
        frontier.offer(link(number), bucket, 0.0)
    assert numbers(frontier) == [2, 1]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 2))), st.integers(1, 4))
def test_buckets_split_into_parts_of_equal_value_keep_their_order(
    offers: list[tuple[int, int, int]], every: int
) -> None:
    whole = BucketFrontier(lambda names: [float(name) for name in names], every=every)
    split = BucketFrontier(lambda names: [float(name.partition("|")[0]) for name in names], every=every)
    for number, bucket, part in offers:
        whole.offer(link(number), f"{bucket}", 0.0)
        split.offer(link(number), f"{bucket}|{part}", 0.0)
    assert numbers(split) == numbers(whole)


def test_auto_keeps_the_order_of_harvest_while_harvest_leads(tmp_path: Path) -> None:
    """Items stand on lists of three kinds of places, so that their links wait in several buckets."""
    items = [f"/item/{n}" for n in range(24)]
    menu = page(items[::5]).replace("<li>", '<li class="menu">')
    pages = {f"/list/{k}": menu + page(items[k::3][::-1], f"list {k}") for k in range(3)}
    pages |= {
        item: page(["/list/0", *items[n::7]], f"{item} is told in full " * n) for n, item in enumerate(items)
    }
    warc = write_site(tmp_path / "s.warc.gz", "s.test", {"/": page(list(pages)[:3]), **pages})
    with prepare_site([SiteSource([warc])], workers=1) as site:
        plan = CrawlPlan(["http://s.test/"], budget=26)
        orders = [
            crawl(site, plan, InProcessScorer(CrawlSetup(policy, params))).order
            for policy, params in (("harvest", {}), ("auto", {"margin": 1.0}))
        ]
    assert orders[1] == orders[0]


def test_a_link_waits_in_every_bucket_it_was_given_and_comes_once() -> None:
    frontier = BucketFrontier(lambda names: [{"a": 0.1, "b": 0.9}[name] for name in names])
    frontier.offer(link(1), "a", 0.0)
    frontier.offer(link(2), "b", 0.0)
    frontier.offer(link(1), "b", 0.0)
    assert numbers(frontier) == [2, 1]


def test_only_buckets_with_links_are_asked_for() -> None:
    asked: list[list[str]] = []

    def values(names: list[str]) -> list[float]:
        asked.append(list(names))
        return [float(len(name)) for name in names]

    frontier = BucketFrontier(values)
    frontier.offer(link(1), "long", 0.0)
    frontier.offer(link(2), "s", 0.0)
    assert numbers(frontier) == [1, 2]
    assert asked == [["long", "s"], ["s"]]


def test_a_fetched_record_is_not_taken_in_again() -> None:
    frontier = BucketFrontier(lambda names: [0.0] * len(names))
    frontier.taken(1)
    frontier.offer(link(1), "a", 0.0)
    assert frontier.pop() is None


def test_between_two_questions_the_last_order_is_used() -> None:
    worth = {"a": 0.9, "b": 0.1}
    frontier = BucketFrontier(lambda names: [worth[name] for name in names], every=3)
    for number in range(4):
        frontier.offer(link(number), "a", 0.0)
        frontier.offer(link(number + 10), "b", 0.0)
    first = [frontier.pop()]
    worth["a"] = 0.0
    rest = [frontier.pop() for _ in range(3)]
    assert [waiting.number for waiting in (*first, *rest) if waiting] == [0, 1, 2, 10]


def test_scores_order_links_and_ties_go_to_the_first_found() -> None:
    frontier = ScoreFrontier()
    for number, score in ((1, 0.5), (2, 0.7), (3, 0.5)):
        frontier.offer(link(number), "", score)
    assert numbers(frontier) == [2, 1, 3]


def test_the_latest_score_of_a_link_counts() -> None:
    frontier = ScoreFrontier()
    frontier.offer(link(1), "", 0.9)
    frontier.offer(link(2), "", 0.5)
    frontier.rescore(1, 0.1)
    frontier.offer(link(3), "", 0.05)
    frontier.offer(link(3), "", 0.6)
    assert numbers(frontier) == [3, 2, 1]


def test_a_rescored_link_that_never_came_or_was_taken_is_passed_over() -> None:
    frontier = ScoreFrontier()
    frontier.rescore(7, 0.9)
    frontier.offer(link(1), "", 0.5)
    assert numbers(frontier) == [1]
    frontier.rescore(1, 0.9)
    assert frontier.pop() is None
