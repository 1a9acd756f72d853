"""Pages of one list or thread are joined, and lead to the first."""

from __future__ import annotations

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.page_links import FirstPages, find_page_links
from linkscore_scoring.types import LinkBatch, PageObservation

HOST = "http://f.org"


def key_of(url: str) -> int:
    """Return the identity hash of a path of the site."""
    return hash64(HOST + url)


def page(
    url: str, *links: tuple[str, str], place: int = 7, cluster: int = -2, paths: PathTrie | None = None
) -> PageObservation:
    """Return the observation of a page with (anchor, path) links, all at one place."""
    urls, anchors = [HOST + to for _, to in links], [anchor for anchor, _ in links]
    n = len(links)
    batch = LinkBatch(urls, list(map(hash64, urls)), [place] * n, [-2] * n, [1] * n, [0] * n, anchors)
    return PageObservation(
        seq=1,
        key=key_of(url),
        url=HOST + url,
        requested=key_of(url),
        depth=0,
        pattern=0,
        contexts=[],
        failed=False,
        refetch=False,
        cluster=cluster,
        links=batch,
        paths=paths or PathTrie(),
        page_links=find_page_links(HOST + url, urls, anchors),
    )


def chains(*pages: PageObservation) -> FirstPages:
    found = FirstPages()
    for one in pages:
        found.observe(one)
    return found


def test_later_pages_lead_to_the_first_whatever_the_order_they_came_in():
    third = page(
        "/t?id=7&start=30", ("1", "/t?id=7"), ("2", "/t?id=7&start=15"), ("Prev", "/t?id=7&start=15")
    )
    first = page("/t?id=7", ("2", "/t?id=7&start=15"), ("3", "/t?id=7&start=30"))
    for order in ([third, first], [first, third], [third]):
        found = chains(*order)
        for url in ("/t?id=7", "/t?id=7&start=15", "/t?id=7&start=30"):
            assert found.first_page(key_of(url)) == f"{HOST}/t?id=7"
    assert found.first_page(key_of("/t?id=8")) == ""


def test_a_permalink_belongs_to_the_thread_it_names_as_canonical():
    one = page("/t?p=99", ("A thread", "/t?id=7"))
    one.is_copy, one.canonical = True, key_of("/t?id=7")
    assert chains(one).first_page(one.key) == f"{HOST}/t?id=7"
    thread = page("/t?id=7", ("2", "/t?id=7&start=15"), ("3", "/t?id=7&start=30"))
    later = page("/t?p=120", ("Title", "/t?id=7&start=15"))
    later.is_copy, later.canonical = True, key_of("/t?id=7&start=15")
    for order in ([one, thread, later], [later, thread, one]):
        found = chains(*order)
        assert {found.first_page(p.key) for p in order} == {f"{HOST}/t?id=7"}


def test_page_numbers_of_threads_on_a_board_join_their_threads_not_the_board():
    board = page(
        "/b/1",
        ("A thread", "/t?id=7"),
        ("2", "/t?id=7&start=15"),
        ("3", "/t?id=7&start=30"),
        ("Another thread", "/t?id=8"),
        ("2", "/t?id=8&start=15"),
        ("2", "/b/1?page=2"),
        ("Next", "/b/1?page=2"),
    )
    found = chains(board)
    assert found.first_page(key_of("/t?id=7&start=30")) == f"{HOST}/t?id=7"
    assert found.first_page(key_of("/t?id=8&start=15")) == f"{HOST}/t?id=8"
    assert found.first_page(key_of("/b/1?page=2")) == f"{HOST}/b/1"


def test_old_pages_are_forgotten():
    found = FirstPages()
    found.max_pages = 60
    for i in range(50):
        found.observe(page(f"/t?id={i}", ("2", f"/t?id={i}&page=2"), ("3", f"/t?id={i}&page=3")))
    assert found.first_page(key_of("/t?id=49&page=2")) == f"{HOST}/t?id=49"
    assert found.first_page(key_of("/t?id=0&page=2")) == ""
