"""What a visit discovers that better patterns do not show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.browse_logs.behavior.discovery_gain import discovery_gain

MANY = 1_000.0
"""Transits after which a page shows its target for sure."""


def gains(
    links: list[tuple[int, int, float]], demand: list[float], patterns: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    sources, targets, transits = (np.array(column) for column in zip(*links, strict=True))
    sizes = np.bincount(patterns).astype(float)
    return discovery_gain(
        sources.astype(np.int64), targets.astype(np.int64), transits.astype(float), np.array(demand),
        np.array(patterns), sizes,
    )  # fmt: skip


def test_a_second_hub_of_the_same_pages_is_worth_nothing() -> None:
    """Pages 0 and 1 are hubs of pages 2 and 3; 0 shows both, 1 only what 0 shows."""
    by_pattern, by_page = gains(
        [(0, 2, MANY), (0, 3, MANY), (1, 3, MANY)], [0.0, 0.0, 5.0, 4.0], [0, 1, 2, 2]
    )
    assert by_pattern == pytest.approx([9.0, 0.0, 0.0])
    assert by_page == pytest.approx([9.0, 0.0, 0.0, 0.0])


def test_a_page_shows_a_target_with_the_chance_of_its_transits() -> None:
    by_pattern, _ = gains([(0, 1, 2.0)], [0.0, 10.0], [0, 1])
    assert by_pattern[0] == pytest.approx(10.0 * (1.0 - math.exp(-2.0)))


def test_pages_of_a_pattern_share_its_gain_and_keep_half_of_their_own() -> None:
    """Pages 0 and 1 of one pattern: only 0 leads to page 2. G = 8 (1 - e^-5), g = 8 and 0, M = 4."""
    by_pattern, by_page = gains([(0, 2, 10.0), (1, 0, 1e-9)], [0.0, 0.0, 8.0], [0, 0, 1])
    G, g = 8 * (1 - math.exp(-5)), 8 * (1 - math.exp(-10))
    assert by_pattern[0] == pytest.approx(math.sqrt(G * g / 2), rel=1e-6)
    assert by_page[0] == pytest.approx(math.sqrt(G * (g + g / 2) / 2), rel=1e-6)
    assert by_page[1] == pytest.approx(math.sqrt(G * g / 4), rel=1e-6)


def test_without_transits_nothing_is_discovered() -> None:
    none = np.zeros(0, dtype=np.int64)
    by_pattern, by_page = discovery_gain(
        none, none, np.zeros(0), np.ones(2), np.array([0, 0]), np.array([2.0])
    )
    assert not by_pattern.any()
    assert not by_page.any()
