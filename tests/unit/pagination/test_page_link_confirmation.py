"""What destinations say about page links, in whatever order pages come."""

from __future__ import annotations

import math

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.pagination.lists import (
    CONFIRMED,
    DENIED,
    UNKNOWN,
    PageLinkConfirmation,
    bag_of_hashes,
    cosine,
    family_of,
)
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.pages import trie_of
from linkscore_scoring.types import PageObservation
from support.observed_page_links import HOST, page

LIST = trie_of(["html/body/ul/li/text()"] * 20 + ["html/body/nav/a/text()"] * 5)
OTHER = trie_of(["html/body/table/tr/td/text()"] * 20)


def listing(
    number: int, last: int = 5, *, paths: PathTrie = LIST, place: int = 7, slug: str = ""
) -> PageObservation:
    url = f"/l{slug}?page={number}"
    links = [(str(n), f"/l{slug}?page={n}") for n in range(1, last + 1) if n != number]
    return page(url, *links, paths=paths, place=place)


def seen(*pages: PageObservation, **bounds: int) -> PageLinkConfirmation:
    found = PageLinkConfirmation(**bounds)
    for one in pages:
        found.observe(one, one.links.link_paths)
    return found


def statuses(found: PageLinkConfirmation, one: PageObservation) -> list[int]:
    links = one.links
    return [
        found.status(family_of(url, place)) for url, place in zip(links.urls, links.link_paths, strict=True)
    ]


def without_denied(found: PageLinkConfirmation, one: PageObservation) -> list[int]:
    return found.without_denied(one.page_links, one.links.urls, one.links.link_paths)


def test_page_links_hold_if_destinations_look_alike_and_have_some_at_the_same_place():
    for order in ([listing(1), listing(2), listing(3)], [listing(3), listing(1), listing(2)]):
        found = seen(*order)
        assert set(statuses(found, order[0])) == {CONFIRMED}
        assert found.verdict_of_link(order[0].key, order[1].key) == CONFIRMED


def test_they_fail_if_destinations_look_otherwise():
    first = listing(1)
    shapes = [trie_of([f"html/body/{tag}/td/text()"] * 20) for tag in ("table", "dl", "form")]
    found = seen(first, *(listing(n + 2, paths=shape) for n, shape in enumerate(shapes)))
    assert found.verdict_of_link(first.key, listing(2).key) == DENIED
    assert statuses(found, first) == [DENIED] * 4
    assert without_denied(found, first) == [0] * 4
    elsewhere = [place + 1 for place in first.links.link_paths]
    assert found.without_denied(first.page_links, first.links.urls, elsewhere) == first.page_links == [1] * 4


def test_one_link_is_no_proof_and_page_links_elsewhere_prove_nothing():
    first = listing(1)
    assert set(statuses(seen(first, listing(2)), first)) == {CONFIRMED}  # there and back
    assert set(statuses(seen(first, listing(2, place=8)), first)) == {UNKNOWN}
    assert seen(first).status(family_of(f"{HOST}/l?page=2", 7)) == UNKNOWN


def test_the_same_cluster_is_as_good_as_like_paths():
    one, two = listing(1), listing(2, paths=OTHER)
    one.cluster = two.cluster = 4
    assert seen(one, two).verdict_of_link(one.key, two.key) == CONFIRMED


def test_a_named_page_link_holds_if_its_word_leads_on_and_fails_if_it_leads_back_and_forth():
    chain = [page(f"/b?page={n}", ("Older posts", f"/b?page={n + 1}"), paths=LIST) for n in range(2, 6)]
    assert statuses(seen(*chain), chain[0]) == [CONFIRMED]
    loop = [
        page("/b?page=2", ("Next page", "/b?page=3"), paths=LIST),
        page("/b?page=3", ("Next page", "/b?page=2"), paths=LIST),
    ]
    assert statuses(seen(*loop), loop[0]) == [DENIED]


def test_pages_of_threads_on_a_board_are_not_judged():
    board = page(
        "/b/1", ("A thread", "/t?id=7"), ("2", "/t?id=7&start=15"), ("3", "/t?id=7&start=30"), paths=LIST
    )
    thread = page("/t?id=7&start=15", ("1", "/t?id=7"), ("3", "/t?id=7&start=30"), paths=OTHER)
    found = seen(board, thread)
    assert found.verdict_of_link(board.key, thread.key) == UNKNOWN
    assert set(statuses(found, board)) == {UNKNOWN}


def test_settled_families_cost_no_more_pages():
    found = seen(*(listing(n, 9) for n in range(1, 9)), enough=4)
    assert len(found.to_state()["pages"]) == 3  # 1 and 2, there and back; the third makes more than four
    assert set(statuses(found, listing(8))) == {CONFIRMED}


def test_memory_is_bounded():
    found = seen(*(listing(n, 400) for n in range(1, 300)), max_pages=10, max_families=1, enough=9_999)
    state = found.to_state()
    assert len(state["pages"]) == 10
    assert len(state["held"]) == 1
    assert len(state["sources"]) < 500


def test_what_is_known_survives_as_plain_values():
    found = seen(listing(1), listing(2), listing(4))
    other = PageLinkConfirmation()
    other.load_state(unpacked(packed(found.to_state())))
    assert other.to_state() == found.to_state()
    denied = seen(*(listing(n, paths=trie_of([f"html/body/{n}/text()"] * 9)) for n in (1, 2, 3)))
    other.load_state(denied.to_state())
    assert without_denied(other, listing(1)) == without_denied(denied, listing(1)) == [0] * 4
    with pytest.raises(CorruptState, match="page link confirmation"):
        other.load_state({"pages": [[1, 2]]})


def test_likeness_is_the_cosine_of_logarithmic_counts():
    one, other = {1: 1, 2: 3}, {1: 1}
    expected = math.log(2) ** 2 / (math.log(2) * math.hypot(math.log(2), math.log(4)))
    assert cosine(one, other) == pytest.approx(expected)
    assert cosine({}, one) == 0.0
    assert list(bag_of_hashes({f"p{i}": i for i in range(500)}).values()) == list(range(499, 199, -1))
