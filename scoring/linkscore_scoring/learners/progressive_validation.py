"""Progressive validation: what policies expected of links before they were fetched, and what came of them.

Each policy scores a link before the outcome of its fetch is known (Blum, Kalai and Langford 1999), so no
figure is of data that was learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.learners.pairwise_auc import Floats, comparable_pairs, pairwise_auc
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Flat, State, Stateful, Stored, stored_as
from linkscore_scoring.types import PageObservation

NO_ANSWER = -1.0
"""Score of a policy that could not answer yet; scores are never negative."""

NO_POLICY = -1
"""Active policy of a link that none was followed for."""

# The constants below were set beforehand and not tuned (research/notebook/auto.md).
_MAX_LINKS = 128  # with the discount, older links would weigh .98^128 = .08 and less
_DISCOUNT = 0.98  # half a link's weight after 34 more fetches
_LABELS_TO_HALVE = 8.0  # labels after which rewards by text weigh half
_CLIP = 0.01  # sure scores, of infinite log odds, count as 1 and 99 %


@dataclass(slots=True)
class ValidatedLink:
    """One fetched link.

    Attributes
    ----------
    own_chars
        Characters that belong to the page at present.
    reward
        What the page is worth, in [0, 1].
    is_labelled
        The reward came from outside.
    active
        Number of the policy that was followed when it was fetched, or `NO_POLICY`.
    scores
        Score of each policy before the fetch, or `NO_ANSWER`.
    """

    own_chars: int
    reward: float
    is_labelled: bool
    active: int
    scores: list[float]


class ValidationWindow(Stateful):
    """The latest fetched links of a site, with the score of each policy and the reward that followed.

    The reward of a link is the text of its page's own (`site.texts`), less what later pages take over,
    until feedback replaces it. Weights fall by `discount` a link; once feedback comes, rewards without a
    label weigh 8 / (8 + number labelled).

    Parameters
    ----------
    max_links
        Links kept, the latest.
    discount
        Weight of a link against the next one, in (0, 1].

    Notes
    -----
    Source: Blum, Kalai and Langford, Beating the hold-out, COLT 1999. Difference: a discounted window instead
    of all examples, because sites and policies change. Cost: O(1) a link; figures O(policies x links^2).

    Examples
    --------
    >>> from linkscore_scoring.types import PageObservation
    >>> def page(key, own_chars):
    ...     return PageObservation(
    ...         key, key, "", key, 1, 0, [], failed=False, refetch=False, own_chars=own_chars
    ...     )
    >>> window = ValidationWindow()
    >>> window.record(page(1, 1_200), [0.9, 0.2])
    >>> window.record(page(2, 0), [0.1, 0.4])
    >>> window.rewards().tolist()
    [0.75, 0.0]
    >>> window.qualities()  # the first policy had the two in order, the second had not
    [1.0, 0.0]
    """

    recorded: Annotated[int, stored_as("judged")]
    _links: Stored[Flat[dict[int, ValidatedLink]]]

    def __init__(self, *, max_links: int = _MAX_LINKS, discount: float = _DISCOUNT) -> None:
        self.max_links = max_links
        self.discount = discount
        self.recorded = self._labelled = 0
        self._links = {}

    def __len__(self) -> int:
        return len(self._links)

    def record(self, page: PageObservation, scores: Sequence[float], *, active: int = NO_POLICY) -> None:
        """Take in a fetch with the scores its link had before."""
        self.recorded += 1
        self._forget(page.key)
        own = 0 if page.failed else page.own_chars
        self._links[page.key] = ValidatedLink(own, text_reward(own), False, active, list(scores))
        if len(self._links) > self.max_links:
            self._forget(next(iter(self._links)))

    def _forget(self, page: int) -> None:
        link = self._links.pop(page, None)
        self._labelled -= link is not None and link.is_labelled

    def update(self, page: PageObservation) -> None:
        """Note the text a page took over from pages fetched before."""
        for loser, chars in page.lost.items():
            link = self._links.get(loser)
            if link is not None:
                link.own_chars -= chars
                if not link.is_labelled:
                    link.reward = text_reward(link.own_chars)

    def label(self, page: int, reward: float) -> None:
        """Let an outside reward replace that of a page; pages that left the window are not taken in again."""
        link = self._links.get(page)
        if link is not None:
            self._labelled += not link.is_labelled
            link.reward, link.is_labelled = reward, True

    def rewards(self) -> Floats:
        """Return the reward of each link, (n,), oldest first."""
        return np.array([link.reward for link in self._links.values()], dtype=np.float64)

    def labelled(self) -> NDArray[np.bool_]:
        """Return which rewards came from outside, (n,)."""
        return np.array([link.is_labelled for link in self._links.values()], dtype=bool)

    def has_feedback(self) -> bool:
        """Say whether any of the rewards came from outside."""
        return self._labelled > 0

    def active_policies(self) -> NDArray[np.int64]:
        """Return which policy was followed at each fetch, (n,)."""
        return np.array([link.active for link in self._links.values()], dtype=np.int64)

    def scores(self) -> Floats:
        """Return the scores, (n, policies); links have as many as there were policies, none are missing."""
        return np.array([link.scores for link in self._links.values()], dtype=np.float64)

    def weights(self) -> Floats:
        """Return the weight of each link, (n,), the latest 1 unless others have labels and it has none."""
        labelled = self.labelled()
        fade = _LABELS_TO_HALVE / (_LABELS_TO_HALVE + labelled.sum())
        ages = np.arange(len(labelled), dtype=np.float64)[::-1]
        return np.asarray(self.discount**ages * np.where(labelled, 1.0, fade))

    def qualities(self) -> list[float]:
        """Return the `pairwise_auc` of each policy over the links it answered for."""
        if not self._links:
            return []
        scores, rewards, weights, labelled = self.scores(), self.rewards(), self.weights(), self.labelled()
        found = []
        for column in scores.T:
            on = column >= 0.0
            pairs = comparable_pairs(rewards[on], weights[on], labelled[on])
            found.append(pairwise_auc(column[on], pairs))
        return found

    def log_odds_offset(self, policy: int, other: int) -> float:
        """Return how far the scores of `other` lie above those of `policy`; see the function."""
        if policy == other or not self._links:
            return 0.0
        scores = self.scores()
        on = (scores[:, policy] >= 0.0) & (scores[:, other] >= 0.0)
        return log_odds_offset(scores[on, policy], scores[on, other], self.weights()[on])

    def choose(self, columns: Sequence[int]) -> None:
        """Keep some policies, in a new order; -1 stands for one that has not answered yet."""
        for link in self._links.values():
            link.scores = [link.scores[at] if at >= 0 else NO_ANSWER for at in columns]

    def load_state(self, state: State, policies: int | None = None) -> None:
        """Take over the links of `to_state`, each with the scores of so many policies if they are given.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        super().load_state(state)
        self._labelled = sum(map(attrgetter("is_labelled"), self._links.values()))
        if policies is not None and any(len(link.scores) != policies for link in self._links.values()):
            raise CorruptState(f"validation window: scores of {policies} policies expected")


def log_odds_offset(scores: Floats, other: Floats, weights: Floats) -> float:
    """Return how far the weighted mean of `other` lies above that of `scores` in log odds; 0 without links.

    Scores are taken as 0.01 to 0.99, so that sure ones do not decide alone. Shapes (n,).
    """
    total = float(weights.sum())
    return float(weights @ (_log_odds(other) - _log_odds(scores))) / total if total else 0.0


def shift_log_odds(scores: Floats, by: float) -> Floats:
    """Return scores in [0, 1] moved by a constant in log odds; the order stays, 0 and 1 stay.

    Examples
    --------
    >>> shift_log_odds(np.array([0.0, 0.5, 1.0]), np.log(3)).round(6).tolist()  # even odds become 3 : 1
    [0.0, 0.75, 1.0]
    """
    grown = scores * np.exp(by)
    return np.asarray(grown / (grown + (1.0 - scores)))


def _log_odds(scores: Floats) -> Floats:
    clipped = np.clip(scores, _CLIP, 1.0 - _CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))
