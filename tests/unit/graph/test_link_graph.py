"""URLs as numbers, redirects, bounds and state of the link graph."""

from __future__ import annotations

from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.link_graph import LINKS_PER_URL, Arrival, LinkGraph
from linkscore_scoring.types import LinkBatch, PageObservation


def seen(name: str, *links: str, asked: str = "", failed: bool = False) -> PageObservation:
    keys = [hash64(link) for link in links]
    zeros = [0] * len(links)
    batch = LinkBatch(links, keys, zeros, zeros, zeros, zeros, [""] * len(links))
    key, requested = hash64(name), hash64(asked or name)
    return PageObservation(1, key, name, requested, 0, 0, [], failed, refetch=False, links=batch)


def visit(graph: LinkGraph, name: str, *links: str, asked: str = "") -> Arrival:
    page = seen(name, *links, asked=asked)
    arrival = graph.arrive(page)
    if arrival.is_first:
        graph.link(arrival.node, graph.targets(page))
    return arrival


def test_numbers_follow_the_order_of_finding_and_a_page_does_not_link_itself() -> None:
    graph = LinkGraph()
    assert visit(graph, "a", "b", "c", "b", "a") == Arrival(0, is_seed=True, is_first=True)
    assert graph.out(0) == [1, 2]
    assert visit(graph, "c") == Arrival(2, is_seed=False, is_first=True)
    assert visit(graph, "c") == Arrival(2, is_seed=False, is_first=False)


def test_a_failed_page_is_dead_until_it_comes() -> None:
    graph = LinkGraph()
    visit(graph, "a", "b", "c")
    graph.arrive(seen("b", failed=True))
    assert not graph.is_open(1)
    assert not graph.is_fetched(1)
    visit(graph, "c", "a", "b")
    assert graph.out(2) == [0]
    assert visit(graph, "b").is_first


def test_a_redirect_to_a_known_url_moves_value_and_links() -> None:
    graph = LinkGraph()
    visit(graph, "a", "old", "new")
    graph[1], graph[2] = 7.0, 1.0
    assert visit(graph, "new", "b", asked="old").node == 2
    assert [graph[1], graph[2]] == [0, 8]
    assert graph.out(0) == [2]
    assert [column.tolist() for column in graph.edges()] == [[0, 2], [2, 3]]
    assert not visit(graph, "new", asked="old").is_first


def test_urls_found_first_go_first_and_their_values_are_told() -> None:
    graph = LinkGraph()
    graph.max_urls = 32
    visit(graph, "a", "b")
    graph[0], graph[1] = 2.0, 3.0
    visit(graph, "c", "a", *(f"x{n}" for n in range(30)))
    assert graph.trim() == 5
    assert (graph.first, len(graph)) == (3, 30)
    assert graph.value_of(hash64("b")) == 0
    assert graph.trim() == 0
    assert graph.edges()[0].tolist() == []


def test_links_are_bounded_and_the_oldest_page_loses_its_own() -> None:
    graph = LinkGraph()
    graph.max_urls = 20
    names = [f"n{n}" for n in range(20)]
    for page in range(20):
        visit(graph, names[page], *names)
    assert graph.links == 20 * 19 <= LINKS_PER_URL * 20
    graph.max_urls = 19
    graph.trim()
    assert graph.links <= LINKS_PER_URL * 19
    graph.link(graph.first, [])
    assert graph.out(graph.first) == []
