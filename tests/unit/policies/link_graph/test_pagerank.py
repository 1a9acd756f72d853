"""PageRank of what was crawled so far, and what is added between two computations."""

from __future__ import annotations

from functools import partial

import pytest

from support.link_graph.webs import Web

# a links b and c, nothing else is known: mean 1, all have r, b and c 0.425 r more, so 3.85 r = 3.
REST = 3 / 3.85
GAIN = 0.425 * REST
near = partial(pytest.approx, rel=1e-4)


def exact(every: int = 1, **more: object) -> Web:
    return Web("pagerank", every=every, **more)


def test_ranks_after_the_first_page_are_those_of_the_equation() -> None:
    web = exact()
    web.fetch("a", "b", "c")
    assert web.policy.rest == near(REST)
    assert web.values("abc") == near([0, GAIN, GAIN])


def test_in_a_circle_all_ranks_are_one() -> None:
    web = exact(damping=0.5)
    for page, link in ("ab", "bc", "ca"):
        web.fetch(page, link)
    assert web.policy.rest == near(0.5)
    assert web.values("abc") == near([0.5, 0.5, 0.5])


def test_the_second_computation_comes_after_the_pages_asked_for() -> None:
    often, seldom = exact(every=1), exact(every=2)
    for web in (often, seldom):
        web.fetch("a", "b", "c")
        web.fetch("b", "c", "d")
        web.fetch("c", "a", "d", "d", "c")
    assert seldom.values("abcd") == near(often.values("abcd"))
    # Rest 1 - d + d x(d): d has no links. x = rest + gain satisfies the equations with these gains.
    x = [value + often.policy.rest for value in often.values("abcd")]
    assert sum(x) == near(4)
    assert often.policy.rest == near(0.15 + 0.85 * x[3] / 4)
    assert often.values("abcd") == near(
        [0.425 * x[2], 0.425 * x[0], 0.425 * (x[0] + x[1]), 0.425 * (x[1] + x[2])]
    )


def test_the_graph_is_bounded_and_still_ranked() -> None:
    web = exact(every=1, max_urls=32)
    for n in range(40):
        web.fetch(f"p{n}", f"p{n + 1}", *(f"x{n}.{i}" for i in range(3)))
        assert len(web.policy.values) <= 32
    assert web.value("p40") > 0
