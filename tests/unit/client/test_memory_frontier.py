"""The in-memory frontier of adapters."""

from __future__ import annotations

from linkscore.frontier import MAX_PLACES, Frontier, Place


def taken(frontier: Frontier) -> str:
    urls = []
    while (item := frontier.take()) is not None:
        urls.append(item.url)
    return " ".join(urls)


def test_seeds_go_first_buckets_by_value_and_the_unknown_last() -> None:
    frontier = Frontier()
    frontier.add_unknown("u")
    frontier.add("low", [Place("l", 0.2, 0.2)])
    frontier.add("high", [Place("h", 0.9, 0.9)])
    frontier.add_seed("s")
    assert len(frontier) == 4
    assert frontier.waiting == {"l": 1, "h": 1}  # the one that waits longest first
    assert taken(frontier) == "s high low u"
    assert len(frontier) == 0
    assert frontier.waiting == {}


def test_within_a_bucket_the_own_part_counts_then_who_came_first() -> None:
    frontier = Frontier()
    for url, score in (("a", 0.5), ("b", 0.7), ("c", 0.7)):
        frontier.add(url, [Place("x", score, 0.5)])
    assert taken(frontier) == "b c a"


def test_equal_buckets_are_taken_in_the_order_their_links_came() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("z", 0.5, 0.5)])
    frontier.add("b", [Place("x", 0.5, 0.5)])
    assert taken(frontier) == "a b"


def test_a_link_found_again_waits_in_further_buckets_and_has_the_ticket_of_the_one_it_is_taken_from() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.1, 0.1, b"x")], value="kept")
    frontier.add("a", [Place("y", 0.8, 0.9, b"y")])
    frontier.add("b", [Place("x", 0.1, 0.1, b"b")])
    item = frontier.take()
    assert item is not None
    assert (item.url, item.ticket, item.value, round(item.score, 6)) == ("a", b"y", "kept", 0.8)
    assert "a" not in frontier
    assert taken(frontier) == "b"


def test_a_link_that_was_unknown_may_turn_out_to_be_good() -> None:
    frontier = Frontier()
    frontier.add_unknown("a")
    frontier.add("b", [Place("x", 0.5, 0.5)])
    frontier.add("a", [Place("y", 0.9, 0.9)])
    assert taken(frontier) == "a b"


def test_buckets_of_a_link_are_bounded() -> None:
    frontier = Frontier()
    for n in range(MAX_PLACES + 2):
        frontier.add("a", [Place(f"b{n}", 0.5, 0.5)])
    assert len(frontier.waiting) == MAX_PLACES
    frontier.clear()
    assert taken(frontier) == ""


def test_what_is_taken_is_under_way_until_it_is_done() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.5, 0.5)])
    frontier.add("b", [Place("x", 0.5, 0.5)])
    first = frontier.take()
    assert first is not None
    assert (first.bucket, frontier.waiting, frontier.under_way) == ("x", {"x": 1}, {"x": 1})
    frontier.done(first)
    assert frontier.under_way == {}


def test_links_handed_out_go_first_and_places_stay_empty_until_something_is_done() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.9, 0.9)])
    frontier.add("b", [Place("y", 0.1, 0.1)])
    frontier.add_unknown("u")
    frontier.allotment.renew({"y": 1}, short=True)
    item = frontier.take()
    assert item is not None
    assert item.url == "b"
    assert frontier.take() is None
    assert frontier.held
    frontier.done(item)
    assert not frontier.held
    assert taken(frontier) == "a"
    assert frontier.held  # the unknown one waits for the answer


def test_seeds_go_whatever_is_under_way() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.9, 0.9)])
    frontier.take()
    frontier.allotment.renew({}, short=True)
    frontier.add_seed("s")
    assert not frontier.held
    assert taken(frontier) == "s"


def test_a_full_download_slot_leaves_the_turn_to_another() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.9, 0.9, slot="busy")])
    frontier.add("b", [Place("x", 0.9, 0.9, slot="free"), Place("y", 0.1, 0.1, slot="free")])
    assert frontier.waiting == {"x": 2, "y": 1}
    assert frontier.best(idle=True, has_room=lambda slot: slot == "free") == ("x", "free")
    assert frontier.best(idle=True) == ("x", "busy")
    assert frontier.best(idle=True, has_room=lambda slot: False) is None
