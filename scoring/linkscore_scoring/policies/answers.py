"""What policies answer besides scores: URLs whose score changed, how policies did, sites in their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KnownUrl = tuple[int, str]
"""Identity hash of a URL, and the URL."""

SERVED, EXTRA = 1, 2
"""What part a policy has on a site; numbers as in the wire contract."""

MAX_RESCORED = 1_000
"""Most URLs that `Policy.rescored` names."""


@dataclass(frozen=True, slots=True)
class PolicyQuality:
    """How a policy did on the links of a site that were fetched.

    Attributes
    ----------
    policy
        Its name.
    role
        `SERVED` or `EXTRA`.
    judged
        Links it was judged on, those forgotten since included.
    quality
        Agreement of its scores with rewards over the latest of these; see `learners.pairwise_auc`.
    reward
        Mean reward of the latest of these links, whoever chose them.
    """

    policy: str
    role: int
    judged: int
    quality: float
    reward: float


@dataclass(slots=True)
class SitesRanked:
    """What sites are worth and how many fetches each gets, all of it in the order of the question.

    Attributes
    ----------
    values
        (n_sites,) float64 in [0, 1]: what the best decision goes by, without exploration; of a value that is
        drawn the median.
    urls
        (n_sites,) int64, fetches handed out.
    probs
        (n_sites,) float64: the probability with which a decision takes the site while none has fallen asleep;
        None if nothing is drawn, or if values are drawn over more than 500 sites.
    """

    values: NDArray[np.float64]
    urls: NDArray[np.int64]
    probs: NDArray[np.float64] | None = None

    def order(self, at_most: int = 0) -> NDArray[np.int64]:
        """Return sites best first, ties as given; `at_most` (0: all) cuts sites without fetches only."""
        return best_first(self.values, self.urls, at_most)


def best_first(values: NDArray[np.float64], urls: NDArray[np.int64], at_most: int = 0) -> NDArray[np.int64]:
    """Return rows best first, ties as given; `at_most` (0: all) cuts rows that were given no fetches only."""
    order = np.argsort(-values, kind="stable")
    if not at_most:
        return order
    given = urls[order] > 0
    room = max(0, at_most - int(given.sum()))
    return order[given | (np.cumsum(~given) <= room)]
