"""Authority and hub of patterns, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.browse_logs.behavior import rankings


def scores(trans: list[list[int]], f_in: list[int], f_out: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return authority and hub of a small graph."""
    matrix = np.array(trans, dtype=float)
    sources, targets = np.nonzero(matrix)
    return rankings.behavior_graph(
        sources, targets, matrix[sources, targets], np.array(f_in, float), np.array(f_out, float)
    )


def test_one_step_is_eq_10(monkeypatch: pytest.MonkeyPatch) -> None:
    """Home 0 and posts 1; 10 records home -> post, 5 post -> home; 5 more of each from outside.

    auth0 = (10, 15) / 25, hub0 = (10, 5) / 15. auth(0) = 5/5 hub(1) = 1/3, auth(1) = 10/10 hub(0) = 2/3;
    hub(0) = 10/15 auth(1) = .4, hub(1) = 5/10 auth(0) = .2.
    """
    monkeypatch.setattr(rankings, "MAX_ITERATIONS", 1)
    auth, hub = scores([[0, 10], [5, 0]], [10, 15], [10, 5])
    assert auth == pytest.approx(np.array([1, 2]) / np.sqrt(5))
    assert hub == pytest.approx(np.array([2, 1]) / np.sqrt(5))


def test_it_starts_from_shares_of_visits_and_referrals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "MAX_ITERATIONS", 0)
    auth, hub = scores([[0, 10], [5, 0]], [10, 15], [10, 5])
    assert auth == pytest.approx([0.4, 0.6])
    assert hub == pytest.approx([2 / 3, 1 / 3])


def test_the_result_is_a_fixed_point_of_two_steps() -> None:
    trans = [[2, 10, 1], [5, 0, 3], [4, 1, 0]]
    f_in, f_out = [20, 15, 8], [13, 8, 5]
    auth, hub = scores(trans, f_in, f_out)
    matrix = np.array(trans, dtype=float)
    A, B = matrix / np.array(f_out, float)[:, None], matrix / np.array(f_in, float)
    for _ in range(2):
        auth2, hub2 = A.T @ hub, B @ auth
        auth, hub = auth2 / np.linalg.norm(auth2), hub2 / np.linalg.norm(hub2)
    assert scores(trans, f_in, f_out)[0] == pytest.approx(auth, abs=1e-6)
    assert scores(trans, f_in, f_out)[1] == pytest.approx(hub, abs=1e-6)


def test_a_pattern_with_itself_counts() -> None:
    auth, hub = scores([[5]], [5], [5])
    assert (auth.tolist(), hub.tolist()) == ([1.0], [1.0])


def test_without_transits_the_start_is_kept() -> None:
    auth, hub = scores([[0, 0], [0, 0]], [3, 1], [0, 0])
    assert auth.tolist() == [0.75, 0.25]
    assert hub.tolist() == [0.0, 0.0]
