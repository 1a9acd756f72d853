"""Pages linked most often first."""

from __future__ import annotations

from support.link_graph.webs import Web


def diamond() -> Web:
    """a links b and c, b links c and d, c links a and d; c links d twice and itself."""
    web = Web("in_degree")
    web.fetch("a", "b", "c")
    web.fetch("b", "c", "d")
    web.fetch("c", "a", "d", "d", "c")
    return web


def test_a_failed_fetch_counts_for_nothing_and_a_later_success_does() -> None:
    web = diamond()
    web.fail("d")
    assert web.values("abcd") == [1, 1, 2, 2]
    web.fetch("d", "b")
    assert web.values("abcd") == [1, 2, 2, 2]


def test_urls_found_first_are_forgotten_at_the_bound() -> None:
    web = Web("in_degree", max_urls=32)
    web.fetch("a", "b")
    web.fetch("c", *(f"x{n}" for n in range(30)))
    assert len(web.policy.values) == 30, (
        "33 were found; the bound leaves 32, less a sixteenth for the next ones"
    )
    assert web.values("ab") == [0, 0]
    assert web.value("x29") == 1
    web.fetch("d", "b")
    assert web.value("b") == 1
