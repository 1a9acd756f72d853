"""What visiting a page of each pattern shows that pages of better patterns did not show already.

Ours, where the paper ranks hubs: two hubs that show the same pages are worth one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linkscore_scoring.browse_logs.behavior.tally import tally

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_MAX_ROUNDS = 500


def discovery_gain(
    sources: Ids, targets: Ids, transits: Floats, demand: Floats, patterns: Ids, sizes: Floats
) -> tuple[Floats, Floats]:
    """Return the demand that a visit discovers, of a page of each pattern and of each page; float64.

    That is sqrt(G M), (n_patterns,), and sqrt(G (g + M) / 2), (n_urls,): G the gain of the pattern, g that of
    the page, M the mean of g over the pattern's pages.

    Patterns are taken greedily, the one with the largest mean gain of a page first. A page shows a target
    with probability 1 - exp(-transits), the transits of a page of the pattern being the pattern's by its
    pages; what all pages of a pattern showed does not count for the next one. A page's own gain is counted
    when its pattern is taken, from its own transits.

    Parameters
    ----------
    sources, targets, transits
        Pairs of different pages of the log, (n_pairs,) each.
    demand
        Visits a day of each page, (n_urls,).
    patterns, sizes
        Pattern of each page, (n_urls,), and pages of each pattern, (n_patterns,), > 0 where there are some.

    Notes
    -----
    Cost O(rounds x n_pairs) in compiled code, a round a pattern, at most 500: the patterns left then have
    the gain of that moment. References: greedy covering,
    Nemhauser, Wolsey and Fisher 1978.
    """
    n_patterns, n_urls = len(sizes), len(demand)
    shown = csr_matrix((transits, (patterns[sources], targets)), shape=(n_patterns, n_urls))
    by_page = shown.multiply(1.0 / np.maximum(sizes, 1.0)[:, None]).tocsr()
    own = csr_matrix((transits, (sources, targets)), shape=(n_urls, n_urls))
    by_page.data, own.data = -np.expm1(-by_page.data), -np.expm1(-own.data)
    gain, own_gain = np.zeros(n_patterns), np.zeros(n_urls)
    left, hidden = np.ones(n_patterns, dtype=np.bool_), demand.astype(np.float64)
    for _ in range(min(n_patterns, _MAX_ROUNDS)):
        gains = np.where(left, by_page @ hidden, -1.0)
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            break
        pages = np.flatnonzero(patterns == best)
        gain[best], left[best] = gains[best], False
        own_gain[pages] = own[pages] @ hidden
        row = shown[[best]]
        hidden[row.indices] *= np.exp(-row.data)
    gain[left] = (by_page @ hidden)[left]
    waiting = np.flatnonzero(left[patterns])
    own_gain[waiting] = own[waiting] @ hidden
    mean = tally(patterns, own_gain, n_patterns) / np.maximum(sizes, 1.0)
    return np.sqrt(gain * mean), np.sqrt(gain[patterns] * 0.5 * (own_gain + mean[patterns]))
