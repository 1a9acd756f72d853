"""Authority and hub of URL patterns, by how people go from one to the other (Liu 2011, section 4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_ITERATIONS = 200
_TOLERANCE = 1e-9


def behavior_graph(
    sources: Ids, targets: Ids, transits: Floats, f_in: Floats, f_out: Floats
) -> tuple[Floats, Floats]:
    """Return authority and hub of each pattern, (n_patterns,) float64 each, of unit length or all 0.

    Parameters
    ----------
    sources, targets, transits
        F_trans: records between patterns, (n_pairs,) each, pairs of a pattern with itself included.
    f_in, f_out
        Records into and out of each pattern, (n_patterns,) each.

    Notes
    -----
    Both updates read the step before, so even and odd steps may swing; it stops once a vector is what it was
    two steps ago, after 200 steps, or before a vector would become zero. Cost O(n_pairs) a step. References:
    Liu et al. 2011, eqs. 9 and 10, a form of Kleinberg's HITS.
    """
    n = len(f_in)
    cells = (sources, targets)
    p_out = csr_matrix((transits / np.maximum(f_out[sources], 1.0), cells), shape=(n, n))
    p_in = csr_matrix((transits / np.maximum(f_in[targets], 1.0), cells), shape=(n, n))
    auth, hub = _share(f_in), _share(f_out)  # eq. 9
    before = (auth, hub)
    for _ in range(MAX_ITERATIONS):
        new_auth, new_hub = p_out.T @ hub, p_in @ auth  # eq. 10
        if not (new_auth.any() and new_hub.any()):
            break
        new = (new_auth / np.linalg.norm(new_auth), new_hub / np.linalg.norm(new_hub))
        done = all(np.abs(x - y).max() < _TOLERANCE for x, y in zip(new, before, strict=True))
        before, (auth, hub) = (auth, hub), new
        if done:
            break
    return auth, hub


def _share(counts: Floats) -> Floats:
    return np.asarray(counts / max(float(counts.sum()), 1.0), dtype=np.float64)
