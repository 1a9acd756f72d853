"""Frontiers: buckets sleep when empty, scores are the latest, nothing is handed out twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from linkscore_lab.replay.frontier import BucketFrontier, PlanFetches, ScoreFrontier, Waiting
from linkscore_lab.replay.scorer import best_first


def link(number: int) -> Waiting:
    return Waiting(number, f"http://s.test/{number}", b"")


def by_values(values: Callable[[Sequence[str]], Sequence[float]]) -> PlanFetches:
    """Plan the best buckets first, whatever is under way."""
    return lambda names, waiting, in_flight, n: best_first(values(names), waiting, n)


def numbers(frontier: BucketFrontier | ScoreFrontier) -> list[int]:
    found = []
    while (waiting := frontier.pop()) is not None:
        found.append(waiting.number)
    return found


def test_buckets_are_emptied_best_first_and_first_in_first_out() -> None:
    frontier = BucketFrontier(by_values(lambda names: [{"a": 0.1, "b": 0.9}[name] for name in names]))
    for number, bucket in ((1, "a"), (2, "b"), (3, "a"), (4, "b")):
        frontier.offer(link(number), bucket, 0.0)
    assert numbers(frontier) == [2, 4, 1, 3]


def test_a_link_waits_in_every_bucket_it_was_given_and_comes_once() -> None:
    frontier = BucketFrontier(by_values(lambda names: [{"a": 0.1, "b": 0.9}[name] for name in names]))
    frontier.offer(link(1), "a", 0.0)
    frontier.offer(link(2), "b", 0.0)
    frontier.offer(link(1), "b", 0.0)
    assert numbers(frontier) == [2, 1]


def test_what_is_under_way_is_told_until_it_ended() -> None:
    told: list[tuple[list[int], dict[str, int]]] = []

    def plan(
        names: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        told.append((list(waiting), dict(in_flight)))
        return best_first([0.5] * len(names), waiting, n)

    frontier = BucketFrontier(plan)
    for number in (1, 2, 3):
        frontier.offer(link(number), "a", 0.0)
    assert [frontier.pop(), frontier.pop()] == [link(1), link(2)]
    frontier.ended(1)
    assert frontier.pop() == link(3)
    assert told == [([3], {}), ([2], {"a": 1}), ([1], {"a": 1})]


def test_nothing_is_handed_out_before_an_answer_if_the_plan_says_so() -> None:
    room = [1]
    frontier = BucketFrontier(lambda names, waiting, in_flight, n: ([0.5], [room.pop() if room else 0]))
    frontier.offer(link(1), "a", 0.0)
    frontier.offer(link(2), "a", 0.0)
    assert (frontier.pop(), frontier.pop()) == (link(1), None)
    room.append(1)
    assert frontier.pop() == link(2)


def test_the_latest_score_of_a_link_counts() -> None:
    frontier = ScoreFrontier()
    frontier.offer(link(1), "", 0.9)
    frontier.offer(link(2), "", 0.5)
    frontier.rescore(1, 0.1)
    frontier.offer(link(3), "", 0.05)
    frontier.offer(link(3), "", 0.6)
    assert numbers(frontier) == [3, 2, 1]
