"""HITS and its target mode on graphs of three clusters."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.site.navigation import hits, multi_hop_hubs, target_hits

CHAIN = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def test_three_clusters_converge_to_the_principal_eigenvectors() -> None:
    h, a = hits(CHAIN)
    golden = (1 + 5**0.5) / 2
    size = (1 + golden**2) ** 0.5
    assert h == pytest.approx([golden / size, 1 / size, 0.0], abs=1e-6)
    assert a == pytest.approx([0.0, 1 / size, golden / size], abs=1e-6)


def test_multi_hop_reaches_two_hops_with_half_the_weight() -> None:
    A = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    assert multi_hop_hubs(A, 2) == pytest.approx([0.5, 1.0, 0.0])
    assert target_hits(A, 2)[0].tolist() == [0.0, 1.0, 0.0]
