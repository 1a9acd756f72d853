"""Fetched links with what policies expected of them beforehand, and what they turned out to be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.common_scale import log_odds_between
from linkscore_scoring.learners.pairwise_auc import Floats, pairs_of, quality
from linkscore_scoring.learners.rewards import text_reward
from linkscore_scoring.types import PageObservation

NO_ANSWER = -1.0
"""Score of a policy that could not answer yet."""

UNLED = -1
_MAX_LINKS = 128
_DISCOUNT = 0.98
_TOLD = 8.0


@dataclass(slots=True)
class JudgedLink:
    """One fetched link.

    Attributes
    ----------
    own_chars
        Characters that belong to the page at present.
    reward
        What the page is worth, in [0, 1].
    is_told
        The reward came from outside.
    leader
        Which policy led when it was fetched, `UNLED` if none.
    scores
        Score of each policy before the fetch, or `NO_ANSWER`.
    """

    own_chars: int
    reward: float
    is_told: bool
    leader: int
    scores: list[float]


class JudgedLinks:
    """The latest fetched links of a site for progressive validation: scored before their outcome was known.

    The reward of a link is the text of its page's own (`learners.rewards`), less what later pages take over,
    until feedback replaces it. Weights fall by `discount` a link; once feedback comes, rewards nobody told
    weigh 8 / (8 + number told).

    Parameters
    ----------
    max_links
        Links kept, the latest.
    discount
        Weight of a link against the next one.
    """

    def __init__(self, *, max_links: int = _MAX_LINKS, discount: float = _DISCOUNT) -> None:
        self.max_links = max_links
        self.discount = discount
        self.judged = 0
        self._links: dict[int, JudgedLink] = {}

    def __len__(self) -> int:
        return len(self._links)

    def add(self, page: PageObservation, scores: Sequence[float], *, leader: int = UNLED) -> None:
        """Take in a fetch with the scores its link had before."""
        self.judged += 1
        self._links.pop(page.key, None)
        own = 0 if page.failed else page.own_chars
        self._links[page.key] = JudgedLink(own, text_reward(own), False, leader, list(scores))
        if len(self._links) > self.max_links:
            del self._links[next(iter(self._links))]

    def take(self, page: PageObservation) -> None:
        """Note the text a page took over from pages fetched before."""
        for key, chars in page.lost.items():
            link = self._links.get(key)
            if link is not None:
                link.own_chars -= chars
                if not link.is_told:
                    link.reward = text_reward(link.own_chars)

    def tell(self, key: int, reward: float) -> None:
        """Let an outside reward replace that of a page; forgotten pages are not judged again."""
        link = self._links.get(key)
        if link is not None:
            link.reward, link.is_told = reward, True

    def rewards(self) -> Floats:
        """Return the reward of each link, (n,), oldest first."""
        return np.array([link.reward for link in self._links.values()], dtype=np.float64)

    def told(self) -> NDArray[np.bool_]:
        """Return which rewards came from outside, (n,)."""
        return np.array([link.is_told for link in self._links.values()], dtype=bool)

    def any_told(self) -> bool:
        """Say whether any of the rewards came from outside."""
        return any(link.is_told for link in self._links.values())

    def leaders(self) -> NDArray[np.int64]:
        """Return which policy led at each fetch, (n,)."""
        return np.array([link.leader for link in self._links.values()], dtype=np.int64)

    def scores(self) -> Floats:
        """Return the scores, (n, policies); links have as many as there were policies, none are missing."""
        return np.array([link.scores for link in self._links.values()], dtype=np.float64)

    def weights(self) -> Floats:
        """Return the weight of each link, (n,), the latest 1 unless others were told."""
        told = self.told()
        fade = _TOLD / (_TOLD + told.sum())
        ages = np.arange(len(told), dtype=np.float64)[::-1]
        return np.asarray(self.discount**ages * np.where(told, 1.0, fade))

    def qualities(self) -> list[float]:
        """Return the quality of each policy over the links it answered for; see `concordance.quality`."""
        if not self._links:
            return []
        scores, rewards, weights, told = self.scores(), self.rewards(), self.weights(), self.told()
        found = []
        for column in scores.T:
            on = column >= 0.0
            found.append(quality(column[on], pairs_of(rewards[on], weights[on], told[on])))
        return found

    def log_odds_between(self, policy: int, other: int) -> float:
        """Return how far the scores of `other` lie above those of `policy`; see `common_scale`."""
        if policy == other or not self._links:
            return 0.0
        scores = self.scores()
        on = (scores[:, policy] >= 0.0) & (scores[:, other] >= 0.0)
        return log_odds_between(scores[on, policy], scores[on, other], self.weights()[on])

    def choose(self, columns: Sequence[int]) -> None:
        """Keep some policies, in a new order; -1 stands for one that has not answered yet."""
        for link in self._links.values():
            link.scores = [link.scores[at] if at >= 0 else NO_ANSWER for at in columns]

    def to_state(self) -> dict[str, Any]:
        """Return the links as plain values."""
        return {"judged": self.judged, "links": [[key, *astuple(link)] for key, link in self._links.items()]}

    def load_state(self, state: dict[str, Any], policies: int) -> None:
        """Take over the links of `to_state`, each with the scores of so many policies.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("judged links"):
            self.judged = int(state["judged"])
            self._links = {key: JudgedLink(*link) for key, *link in state["links"]}
            if any(len(link.scores) != policies for link in self._links.values()):
                raise ValueError(f"scores of {policies} policies expected")
