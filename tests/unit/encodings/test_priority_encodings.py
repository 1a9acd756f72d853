"""Each crawler gets numbers in its range and in its direction."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.encodings import ENCODINGS, LEVELS, PriorityScale

# Crawler -> (what comes first, lowest number, highest number, whole numbers)
TABLE = {
    "scrapy": ("high", 0, 31, True),
    "nutch": ("high", 0, 1, False),
    "frontera": ("high", 0, 1, False),
    "ache": ("high", 1e-9, 1, False),
    "heritrix": ("low", 1, 127, True),
    "urlfrontier": ("low", 1, 1_000_001, True),
    "crawlee": ("high", 0, 1, True),
    "crawler4j": ("low", -128, 127, True),
}
SCORES = np.linspace(0.0, 1.0, 41)


def scale_of(scores: np.ndarray) -> PriorityScale:
    scale = PriorityScale()
    scale.update(scores)
    return scale


def test_every_encoding_has_its_line_in_the_table() -> None:
    assert set(ENCODINGS) == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("seen", [0, 20, 41])
def test_numbers_keep_direction_and_range(name: str, seen: int) -> None:
    first, low, high, whole = TABLE[name]
    numbers = ENCODINGS[name](SCORES, scale_of(SCORES[:seen]))
    steps = np.diff(numbers)
    assert (steps >= 0).all() if first == "high" else (steps <= 0).all()
    assert numbers[0] != numbers[-1]
    assert low <= numbers.min() <= numbers.max() <= high
    assert not whole or (numbers == np.round(numbers)).all()


def test_few_distinct_scores_have_a_level_each_from_the_top() -> None:
    levels = scale_of(np.array([0.1, 0.5, 0.9])).levels(np.array([0.9, 0.5, 0.1, 0.05]))
    assert levels.tolist() == [31.0, 30.0, 29.0, 28.0]


def test_many_scores_are_spread_over_all_levels() -> None:
    scores = np.random.default_rng(1).random(4_096)
    counts = np.bincount(scale_of(scores).levels(scores).astype(int), minlength=LEVELS)
    assert counts.min() > 64
    assert counts.max() < 256


def test_a_scale_restored_gives_the_same_levels() -> None:
    scale, again = scale_of(np.random.default_rng(1).random(3_000)), PriorityScale()
    again.load_state(scale.to_state())
    assert again.levels(SCORES).tolist() == scale.levels(SCORES).tolist()
