"""Progressive validation: the policies of a site, judged on the links that are fetched.

Each policy scores a link before the outcome of its fetch is known (Blum, Kalai and Langford, Beating the
hold-out, COLT 1999), so no figure is of data that was learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.policies.answers import EXTRA, SERVED, PolicyQuality
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

Floats = NDArray[np.float64]

NO_ANSWER = -1.0
"""Score of a policy that could not answer yet; scores are never negative."""

_REFRESH = 16
"""Links between two sets of figures, a bound: they cost O(links kept^2) and only reports read them."""
_ALL, _SAMPLE = 64, 4
"""Links of which each counts, and from then on every how many; chosen, not measured: an answer
of every policy for each page would cost a tenth of it."""
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

    The latest 128 links count, of the fetched ones every fourth after the first 64.
    The reward of a link is the text of its page's own (`site.texts`),
    less what later pages take over, until feedback replaces it. Weights fall by `_DISCOUNT` a link, because
    sites and policies change; once feedback comes, rewards without a label weigh 8 / (8 + number labelled).
    The figures are made anew every 16 links.
    """

    recorded: Stored[int]
    _links: Stored[dict[int, ValidatedLink]]
    _judged: Stored[list[int]]
    _qualities: Stored[list[float]]
    _reward: Stored[float]

    def __init__(self) -> None:
        self.recorded = 0
        self._links = {}
        self._keys: list[str] = []
        self._judged, self._qualities, self._reward = [], [], 0.0
        self._expected: list[float] = []

    def configure(self, keys: Sequence[str]) -> None:
        """Take over the policies of the crawl, by key; one that is kept keeps its record."""
        columns = [self._keys.index(key) if key in self._keys else -1 for key in keys]
        for link in self._links.values():
            link.scores = [link.scores[at] if at >= 0 else NO_ANSWER for at in columns]
        self._judged = [self._judged[at] if at >= 0 else 0 for at in columns]
        self._qualities = [self._qualities[at] if at >= 0 else _CHANCE for at in columns]
        self._keys = list(keys)

    def expect(self, link: LinkBatch, policies: Iterable[Policy], site: SiteModel) -> None:
        """Ask every policy for the score of the link that was fetched, if it is one of the sample."""
        if self.recorded >= _ALL and site.pages % _SAMPLE:
            return
        has_feedback = any(known.is_labelled for known in self._links.values())
        self._expected = [
            float(policy.score(link, site).scores[0])
            if policy.is_able(site, has_feedback=has_feedback)
            else NO_ANSWER
            for policy in policies
        ]

    def record(self, page: PageObservation) -> None:
        """Set the scores against what came of the fetch, and note the text it took over from other pages."""
        scores, self._expected = self._expected, []
        is_judged = bool(scores) and not page.refetch
        if is_judged:
            self.recorded += 1
            self._links.pop(page.key, None)
            own = 0 if page.failed else page.own_chars
            self._links[page.key] = ValidatedLink(own, text_reward(own), False, scores)
            drop_oldest(self._links, _MAX_LINKS)
            answered = zip(self._judged, scores, strict=True)
            self._judged = [count + (score != NO_ANSWER) for count, score in answered]
        for loser in self._links.keys() & page.lost.keys():
            link = self._links[loser]
            link.own_chars -= page.lost[loser]
            if not link.is_labelled:
                link.reward = text_reward(link.own_chars)
        if is_judged and self.recorded % _REFRESH == 0:
            self._refresh()

    def label(self, event: FeedbackObservation) -> None:
        """Let feedback replace the reward of a page; pages that left the window are not taken in again."""
        if event.key in self._links:
            link = self._links[event.key]
            link.reward, link.is_labelled = event.reward, True

    def lookback(self) -> list[tuple[int, list[float]]]:
        """Return, for each policy, the links it was judged on and what its order would have given.

        The mean reward of its best tenth, two tenths, ... of them; nothing with fewer than ten links.
        """
        scores, rewards = self.columns()
        found = []
        for column in scores.T:
            on = column != NO_ANSWER
            best_first = rewards[on][np.argsort(-column[on], kind="stable")]
            n = len(best_first)
            cuts = [-(-n * tenth // 10) for tenth in range(1, 11)] if n >= 10 else []
            found.append((n, [float(best_first[:cut].mean()) for cut in cuts]))
        return found

    def columns(self) -> tuple[Floats, Floats]:
        """Return the scores of policies, (n, policies), and the reward of each link, (n,), oldest first."""
        links = self._links.values()
        return np.array([link.scores for link in links]), np.array([link.reward for link in links])

    def figures(self, policies: Sequence[Policy]) -> list[PolicyQuality]:
        """Return what is known of each policy, in their order; the first one serves."""
        return [
            PolicyQuality(policy.name, EXTRA if row else SERVED, judged, quality, self._reward)
            for row, (policy, judged, quality) in enumerate(
                zip(policies, self._judged, self._qualities, strict=False)
            )
        ]

    def _refresh(self) -> None:
        """Make the figures anew: the latest link weighs 1 unless others have labels and it has none."""
        scores, rewards = self.columns()
        labelled = np.array([link.is_labelled for link in self._links.values()])
        fade = _LABELS_TO_HALVE / (_LABELS_TO_HALVE + labelled.sum())
        weights = _DISCOUNT ** np.arange(len(rewards), dtype=np.float64)[::-1] * np.where(labelled, 1.0, fade)
        self._reward = float(weights @ rewards / weights.sum())
        self._qualities = [
            pairwise_auc(column[on], rewards[on], weights[on], labelled[on])
            for column in scores.T
            for on in [column >= 0.0]
        ]

    def after_load(self) -> None:
        """Refuse figures of other policies than those of the crawl."""
        columns = {len(self._keys), len(self._judged), len(self._qualities)}
        columns |= {len(link.scores) for link in self._links.values()}
        if len(columns) > 1:
            raise ValueError(f"figures of {len(self._keys)} policies expected")
