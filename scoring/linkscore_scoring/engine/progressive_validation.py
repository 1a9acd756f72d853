"""Progressive validation: the policies of a site, judged on the links that are fetched.

Each policy scores a link before the outcome of its fetch is known (Blum, Kalai and Langford, Beating the
hold-out, COLT 1999), so no figure is of data that was learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.policies.answers import EXTRA, SERVED, PolicyQuality
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import State, Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

Floats = NDArray[np.float64]

NO_ANSWER = -1.0
"""Score of a policy that could not answer yet; scores are never negative."""

_OFTEN, _REFRESH = 16, 64
"""Links between two sets of figures, up to the second number and from then on, a bound: they cost O(links
kept^2) and only reports read them."""
_CHANCE = 0.5
"""Quality of a policy nothing is known of: that of a coin."""

# The constants below were set beforehand and not tuned.
_MAX_LINKS = 128  # with the discount, older links would weigh .98^128 = .08 and less
_DISCOUNT = 0.98  # half a link's weight after 34 more fetches
_LABELS_TO_HALVE = 8.0  # labels after which rewards by text weigh half


@dataclass(slots=True)
class ValidatedLink:
    """One fetched link: text that is its page's own by now, reward in [0, 1], and what policies had said.

    `is_labelled`: the reward came from outside. `scores`: of each policy before the fetch, or `NO_ANSWER`.
    """

    own_chars: int
    reward: float
    is_labelled: bool
    scores: list[float]


class ValidationWindow(Stateful):
    """The latest 128 fetched links of a site, with the score of each policy and the reward that followed.

    The reward of a link is the text of its page's own (`site.texts`), less what later pages take over,
    until feedback replaces it. Weights fall by `_DISCOUNT` a link, because sites and policies change; once
    feedback comes, rewards without a label weigh 8 / (8 + number labelled).
    """

    recorded: Stored[int]
    _links: Stored[dict[int, ValidatedLink]]

    def __init__(self) -> None:
        self.recorded = self._labelled = 0
        self._links = {}

    def __len__(self) -> int:
        return len(self._links)

    def record(self, page: PageObservation, scores: Sequence[float]) -> None:
        """Take in a fetch with the scores its link had before."""
        self.recorded += 1
        self._forget(page.key)
        own = 0 if page.failed else page.own_chars
        self._links[page.key] = ValidatedLink(own, text_reward(own), False, list(scores))
        if len(self._links) > _MAX_LINKS:
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

    def has_feedback(self) -> bool:
        """Say whether any of the rewards came from outside."""
        return self._labelled > 0

    def scores(self) -> Floats:
        """Return the scores, (n, policies); links have as many as there were policies, none are missing."""
        return np.array([link.scores for link in self._links.values()], dtype=np.float64)

    def mean_reward(self) -> float:
        """Return the weighted mean of the rewards."""
        weights = self._weights(self._is_labelled())
        return float(weights @ self.rewards() / weights.sum())

    def _is_labelled(self) -> NDArray[np.bool_]:
        return np.array([link.is_labelled for link in self._links.values()], dtype=bool)

    def _weights(self, labelled: NDArray[np.bool_]) -> Floats:
        """Return the weight of each link, (n,), the latest 1 unless others have labels and it has none."""
        fade = _LABELS_TO_HALVE / (_LABELS_TO_HALVE + labelled.sum())
        ages = np.arange(len(labelled), dtype=np.float64)[::-1]
        return np.asarray(_DISCOUNT**ages * np.where(labelled, 1.0, fade))

    def qualities(self) -> list[float]:
        """Return the `pairwise_auc` of each policy over the links it answered for."""
        if not self._links:
            return []
        labelled = self._is_labelled()
        rewards, weights = self.rewards(), self._weights(labelled)
        found = []
        for column in self.scores().T:
            on = column >= 0.0
            found.append(pairwise_auc(column[on], rewards[on], weights[on], labelled[on]))
        return found

    def choose(self, columns: Sequence[int]) -> None:
        """Keep some policies, in a new order; -1 stands for one that has not answered yet."""
        for link in self._links.values():
            link.scores = [link.scores[at] if at >= 0 else NO_ANSWER for at in columns]

    def load_state(self, state: State) -> None:
        """Take over the links of `to_state`."""
        super().load_state(state)
        self._labelled = sum(map(attrgetter("is_labelled"), self._links.values()))


def pairwise_auc(scores: Floats, rewards: Floats, weights: Floats, kinds: NDArray[np.bool_]) -> float:
    """Return how often the better of two links of one kind had the higher score, by the reward at stake.

    In [0, 1]; 1/2 is no better than chance, or all rewards equal. With rewards of 0 and 1 it is the AUC.
    Links chosen by the very scores they are judged by differ little in them, which draws it towards 1/2.
    Shapes (n,), cost O(n^2).

    Examples
    --------
    >>> scores, rewards = np.array([0.9, 0.5, 0.5]), np.array([1.0, 0.0, 0.5])
    >>> pairwise_auc(scores, rewards, np.ones(3), np.zeros(3, bool))  # stakes 1, .5 and .5; the last is a tie
    0.875
    """
    difference = rewards[:, None] - rewards[None, :]
    stakes = np.abs(difference) * weights[:, None] * weights[None, :] * (kinds[:, None] == kinds[None, :])
    agreement = 0.5 + 0.5 * np.sign(scores[:, None] - scores[None, :]) * np.sign(difference)
    total = float(stakes.sum())
    return float((agreement * stakes).sum()) / total if total else 0.5


class PolicyValidation(Stateful):
    """Scores of the served policy and of those beside it, before each fetch, against what came of it.

    The figures are made anew every 16 links, and every 64 from 64 links on.
    """

    links: Stored[ValidationWindow]
    _judged: Stored[list[int]]
    _qualities: Stored[list[float]]
    _reward: Stored[float]

    def __init__(self) -> None:
        self.links = ValidationWindow()
        self._keys: list[str] = []
        self._judged = []
        self._qualities = []
        self._reward = 0.0
        self._expected: list[float] | None = None

    def configure(self, keys: Sequence[str]) -> None:
        """Take over the policies of the crawl, by key; one that is kept keeps its record."""
        columns = [self._keys.index(key) if key in self._keys else -1 for key in keys]
        self.links.choose(columns)
        self._judged = [self._judged[at] if at >= 0 else 0 for at in columns]
        self._qualities = [self._qualities[at] if at >= 0 else _CHANCE for at in columns]
        self._keys = list(keys)

    def expect(self, link: LinkBatch, policies: Iterable[Policy], site: SiteModel) -> None:
        """Ask every policy for the score of the link that was fetched."""
        has_feedback = self.links.has_feedback()
        self._expected, expected = None, []
        for policy in policies:
            policy.expect(link, site)
            able = policy.is_able(site, has_feedback=has_feedback)
            expected.append(float(policy.score(link, site).scores[0]) if able else NO_ANSWER)
        self._expected = expected

    def record(self, page: PageObservation) -> None:
        """Set the scores against what came of the fetch."""
        scores, self._expected = self._expected, None
        if scores is not None and not page.refetch:
            self.links.record(page, scores)
            answered = zip(self._judged, scores, strict=True)
            self._judged = [count + (score != NO_ANSWER) for count, score in answered]
        self.links.update(page)
        recorded = self.links.recorded
        if recorded and scores is not None and recorded % (_OFTEN if recorded < _REFRESH else _REFRESH) == 0:
            self._refresh()

    def label(self, event: FeedbackObservation) -> None:
        """Let feedback replace the reward of a page."""
        self.links.label(event.key, event.reward)

    def figures(self, policies: Sequence[Policy]) -> list[PolicyQuality]:
        """Return what is known of each policy, in their order; the first one serves."""
        roles = [SERVED, *[EXTRA] * len(policies)]
        rows = zip(policies, roles, self._judged, self._qualities, strict=False)
        return [
            PolicyQuality(policy.name, role, judged, quality, self._reward)
            for policy, role, judged, quality in rows
        ]

    def _refresh(self) -> None:
        self._qualities = self.links.qualities()
        self._reward = self.links.mean_reward()

    def after_load(self) -> None:
        """Refuse figures of other policies than those of the crawl."""
        columns = {len(self._keys), len(self._judged), len(self._qualities)}
        if len(self.links):
            columns.add(self.links.scores().shape[1])
        if len(columns) > 1:
            raise ValueError(f"figures of {len(self._keys)} policies expected")
