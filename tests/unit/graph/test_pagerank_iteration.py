"""PageRank by power iteration: worked by hand, and at the size of a large site."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.policies.link_graph import pagerank


def ranks(*links: tuple[int, int], n: int, damping: float = 0.85) -> list[float]:
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    flow, rest = pagerank(pairs[:, 0], pairs[:, 1], n, damping=damping, tolerance=1e-13)
    return (flow + rest).tolist()


def test_pages_without_links_share_evenly() -> None:
    assert ranks(n=4) == pytest.approx([1 / 4] * 4)


def test_rank_of_a_page_without_links_is_spread_over_all() -> None:
    # x0 = 0.15 / 2 + 0.85 x1 / 2 and x0 + x1 = 1, so 1.425 x0 = 0.5.
    assert ranks((0, 1), n=2) == pytest.approx([0.5 / 1.425, 0.925 / 1.425])


def test_a_hub_and_its_spokes() -> None:
    # Spokes link back, so nothing dangles: h = 0.05 + 0.85 * 2 s and 2 s + h = 1.
    h = 0.9 / 1.85
    assert ranks((0, 1), (0, 2), (1, 0), (2, 0), n=3) == pytest.approx([h, (1 - h) / 2, (1 - h) / 2])


def test_without_damping_every_page_is_equal_and_with_all_of_it_the_circle_keeps_its_start() -> None:
    assert ranks((0, 1), (1, 2), n=3, damping=0.0) == pytest.approx([1 / 3] * 3)
    assert ranks((0, 1), (1, 0), n=2, damping=1.0) == pytest.approx([1 / 2] * 2)


def test_the_start_does_not_decide_the_end() -> None:
    rng = np.random.default_rng(3)
    pairs = np.unique(rng.integers(0, 50, size=(300, 2)), axis=0)
    sources, targets = pairs[pairs[:, 0] != pairs[:, 1]].T
    even = pagerank(sources, targets, 50, tolerance=1e-13)
    warm = pagerank(sources, targets, 50, tolerance=1e-13, start=rng.random(50))
    np.testing.assert_allclose(warm[0] + warm[1], even[0] + even[1], atol=1e-12)
    assert even[0].sum() + 50 * even[1] == pytest.approx(1)


def test_two_hundred_thousand_pages_are_ranked() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    sources, targets = rng.integers(0, n // 10, size=1_000_000), rng.integers(0, n, size=1_000_000)
    flow, rest = pagerank(sources, targets, n)
    assert flow.sum() + n * rest == pytest.approx(1, abs=1e-6)
    assert flow.min() >= 0
