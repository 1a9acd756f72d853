"""Which link is next, whatever the requests are and wherever they are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkscore.scrapy.frontier import BucketRanking, FrontierIndex

A, B, C = ("a", "h"), ("b", "h"), ("c", "h")


def drain(index: FrontierIndex, queue: tuple[str, str]) -> list[int]:
    taken = []
    while (number := index.head(queue)) is not None:
        index.take(number)
        taken.append(number)
    return taken


def test_a_room_is_first_in_first_out_among_equals() -> None:
    index = FrontierIndex()
    for number in (1, 2, 3):
        index.push(number, bytes([number]), [(A, 0.0)])
    assert drain(index, A) == [1, 2, 3]


def test_a_higher_own_part_goes_first() -> None:
    index = FrontierIndex()
    for number, own in ((1, 0.0), (2, 0.2), (3, -0.1), (4, 0.2)):
        index.push(number, bytes([number]), [(A, own)])
    assert drain(index, A) == [2, 4, 1, 3]


def test_a_link_taken_through_one_room_is_gone_from_the_others() -> None:
    index = FrontierIndex()
    index.push(1, b"1", [(A, 0.0), (B, 0.0)])
    index.push(2, b"2", [(B, 0.0)])
    assert index.take(1) == [A]
    assert index.head(A) is None
    assert index.head(B) == 2
    assert list(index.queues()) == [B]


def test_a_waiting_link_enters_further_rooms_up_to_four() -> None:
    index = FrontierIndex()
    index.push(1, b"1", [(A, 0.0), (B, 0.0)])
    wanted = [((name, "h"), 0.0) for name in "bcdef"]
    assert index.also(b"1", wanted) == (1, [(("c", "h"), 0.0), (("d", "h"), 0.0)])
    assert index.also(b"1", wanted) == (1, [])
    assert index.head(C) == 1


def test_a_link_that_was_taken_enters_no_queue() -> None:
    index = FrontierIndex()
    index.push(1, b"1", [(A, 0.0)])
    index.take(1)
    assert index.also(b"1", [(B, 0.0)]) == (0, [])


def test_the_same_fingerprint_may_wait_twice() -> None:
    index = FrontierIndex()
    index.push(1, b"1", [(A, 0.0)])
    index.push(2, b"1", [(A, 0.0)])
    assert index.take(1) == []
    assert index.also(b"1", [(B, 0.0)]) == (2, [(B, 0.0)])
    assert len(index) == 1


queues = st.lists(st.sampled_from([A, B, C]), min_size=1, max_size=3, unique=True)


@given(st.lists(st.tuples(queues, queues, st.booleans()), max_size=30))
def test_sizes_count_what_waits(steps) -> None:
    index = FrontierIndex()
    waiting: dict[int, set] = {}
    for number, (first, more, take) in enumerate(steps, 1):
        index.push(number, bytes([number]), [(queue, 0.0) for queue in first])
        index.also(bytes([number]), [(queue, 0.0) for queue in more])
        waiting[number] = {*first, *more}
        if take:
            gone = min(waiting)
            emptied = index.take(gone)
            left = waiting.pop(gone)
            assert set(emptied) == {r for r in left if not any(r in w for w in waiting.values())}
    for queue in (A, B, C):
        numbers = [n for n, w in waiting.items() if queue in w]
        assert index.size(queue) == len(numbers)
        assert index.head(queue) == (min(numbers) if numbers else None)
    assert len(index) == len(waiting)


def test_rooms_come_by_value_and_equals_together() -> None:
    ranking = BucketRanking()
    for queue, value in ((A, 0.1), (B, 0.9), (C, 0.1)):
        assert ranking.add(queue, value)
    assert list(ranking.groups()) == [[B], [A, C]]


def test_a_known_bucket_keeps_its_value_when_it_comes_back() -> None:
    ranking = BucketRanking()
    ranking.add(A, 0.1)
    ranking.refresh({"a": 0.8})
    ranking.drop(A)
    assert not ranking.add(A, 0.2)
    assert ranking.values == {"a": 0.8}


def test_new_values_move_rooms_and_absent_ones_stay() -> None:
    ranking = BucketRanking()
    for queue, value in ((A, 0.1), (B, 0.9), (C, 0.5)):
        ranking.add(queue, value)
    ranking.refresh({"a": 1.0, "gone": 0.3})
    assert list(ranking.groups()) == [[A], [B], [C]]
    ranking.drop(B)
    ranking.drop(B)
    assert list(ranking.groups()) == [[A], [C]]


def test_a_room_is_listed_once() -> None:
    ranking = BucketRanking()
    ranking.add(A, 0.1)
    ranking.add(A, 0.7)
    assert list(ranking.groups()) == [[A]]
