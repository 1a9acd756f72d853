"""How uneven servers are: what a table says of it follows from groups, sites and slots."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_research.cluster_balance import Load, dealt, row, weighed

ALIKE = Load("alike", 1, 64, 400, is_polite=True)
BY_SIZE = Load("by size", 2, 8, 100, is_polite=False)


@pytest.mark.parametrize("load", [ALIKE, BY_SIZE])
def test_slots_have_what_all_crawls_have(load: Load) -> None:
    found = load.of_slots(16, 0)
    shares = [1 / (crawl + 1) for crawl in range(load.crawls)]
    assert found.sum() == pytest.approx(sum(shares))
    assert load.of_slots(16, 1).tolist() != found.tolist()  # of other names


def test_weighed_slots_are_as_even_as_the_largest_lets_them_be() -> None:
    draws = np.random.default_rng(0)
    assert dealt(np.ones(8), 4, draws) == weighed(np.ones(8), 4) == 1
    one_large = np.array([5.0, 1, 1, 1])
    assert weighed(one_large, 2) == 5 / 4
    assert dealt(one_large, 2, draws) == 6 / 4


def test_a_row_names_the_servers() -> None:
    cells = row(ALIKE, 4, (16,)).strip("| ").split(" | ")
    assert cells[:2] == ["alike", "4"]
    assert float(cells[2].split()[0]) >= float(cells[3]) >= 1
