"""The in-memory frontier of adapters."""

from __future__ import annotations

from linkscore.frontier import Frontier, Place
from linkscore.v1.link_scoring_service_pb2 import RankBucketsResponse


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


def test_links_handed_out_go_first_and_places_stay_empty_until_something_is_done() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.9, 0.9)])
    frontier.add("b", [Place("y", 0.1, 0.1)])
    frontier.add_unknown("u")
    ranked = RankBucketsResponse(order=[0], values=[0.1], urls=[1])
    frontier.allotment.read(ranked, waiting={"y": 1, "x": 1}, n=2)
    item = frontier.take()
    assert item is not None
    assert item.url == "b"
    assert frontier.take() is None
    assert frontier.held
    frontier.done(item)
    assert not frontier.held
    item = frontier.take()
    assert item is not None
    assert item.url == "a"
    assert frontier.held  # the unknown one waits for the answer


def test_a_full_download_slot_leaves_the_turn_to_another() -> None:
    frontier = Frontier()
    frontier.add("a", [Place("x", 0.9, 0.9, slot="busy")])
    frontier.add("b", [Place("x", 0.9, 0.9, slot="free"), Place("y", 0.1, 0.1, slot="free")])
    assert frontier.waiting == {"x": 2, "y": 1}
    assert frontier.best(idle=True, has_room=lambda slot: slot == "free") == ("x", "free")
    assert frontier.best(idle=True) == ("x", "busy")
    assert frontier.best(idle=True, has_room=lambda slot: False) is None
