"""What policies answer: scores, verdicts and types of links, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
KnownUrl = tuple[int, str]
"""Identity hash of a URL, and the URL."""

NO_VERDICT, FOLLOW, SKIP = 0, 1, 2
"""Advice on a link; numbers as in the wire contract."""

SERVED, EXTRA, CANDIDATE = 1, 2, 3
"""What part a policy has on a site; numbers as in the wire contract."""

MAX_RESCORED = 1_000
"""Most URLs that `Policy.rescored` names."""


@dataclass(slots=True)
class Scored:
    """Scores of a batch of links.

    Attributes
    ----------
    scores
        (n_links,) float64 in [0, 1], higher is better.
    buckets
        Bucket of each link, (n_links,): links of one bucket rise and fall together.
    verdicts
        `FOLLOW` or `SKIP` of each link, or None if the policy gives no advice.
    url_types
        Type of each link's URL, see `site.url_rules`, or None if the policy tells none.
    """

    scores: Scores
    buckets: list[str]
    verdicts: list[int] | None = None
    url_types: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """One number behind a score, with its meaning in words."""

    name: str
    value: float
    description: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a link has its score: one sentence and the numbers."""

    summary: str
    terms: list[Term]


@dataclass(frozen=True, slots=True)
class PolicyTrust:
    """How a policy did on the links of a site that were fetched.

    Attributes
    ----------
    policy
        Its name.
    role
        `SERVED`, `EXTRA` or `CANDIDATE`.
    trust
        Share of the trust of the policies it is compared with, in [0, 1].
    judged
        Links it was judged on, those forgotten since included.
    quality
        Agreement of its scores with rewards over the latest of these; see `learners.pairwise_auc`.
    reward
        Mean reward of the latest of these links, whoever chose them; for a candidate the reward expected of
        the next fetch under it.
    """

    policy: str
    role: int
    trust: float
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
        order = np.argsort(-self.values, kind="stable")
        if not at_most:
            return order
        given = self.urls[order] > 0
        room = max(0, at_most - int(given.sum()))
        return order[given | (np.cumsum(~given) <= room)]
