"""Progressive validation: the policies of a site, judged on the links that are fetched.

Each policy scores a link before the outcome of its fetch is known (Blum, Kalai and Langford, Beating the
hold-out, COLT 1999), so no figure is of data that was learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from linkscore_scoring.columns import Floats, drop_oldest
from linkscore_scoring.engine.links import link_of
from linkscore_scoring.policies.answers import EXTRA, SERVED, PolicyQuality
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import Fetch, SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, PageObservation

_NO_ANSWER = -1.0
"""Score of a policy that could not answer yet; scores are never negative."""
_REFRESH = 16
"""Links between two figures of quality, a bound: one costs O(links kept^2)."""
_ALL, _SAMPLE = 64, 4
"""Links of which each counts, and from then on every how many; chosen, not measured: an answer
of every policy for each page would cost a tenth of it."""
_MAX_LINKS = 128
"""Links that count, the latest: older ones are of another site by now. Chosen."""
_LABELS = 8
"""Labels from which on links without one count no more. Chosen."""


@dataclass(slots=True)
class ValidatedLink:
    """One fetched link: text that is its page's own by now, reward in [0, 1], and what policies had said.

    `is_labelled`: the reward came from outside. `scores`: of each policy before the fetch, or `_NO_ANSWER`.
    """

    own_chars: int
    reward: float
    is_labelled: bool
    scores: list[float]


def pairwise_auc(scores: Floats, rewards: Floats) -> float:
    """Return how often the better of two links had the higher score, by the reward at stake, in [0, 1].

    1/2 is no better than chance, or all rewards equal; with rewards of 0 and 1 it is the AUC. Links chosen by
    the very scores they are judged by differ little in them, which draws it towards 1/2. Cost O(n^2).

    Examples
    --------
    >>> pairwise_auc(np.array([0.9, 0.5, 0.5]), np.array([1.0, 0.0, 0.5]))  # stakes 1, .5, .5: the last a tie
    0.875
    """
    difference = rewards[:, None] - rewards[None, :]
    stakes = np.abs(difference)
    agreement = 0.5 + 0.5 * np.sign(scores[:, None] - scores[None, :]) * np.sign(difference)
    total = float(stakes.sum())
    return float((agreement * stakes).sum()) / total if total else 0.5


class PolicyValidation(Stateful):
    """Scores of the served policy and of those beside it, before each fetch, against what came of it.

    The reward of a link is the text of its page's own (`site.texts`), less what later pages take over, until
    feedback replaces it.
    """

    recorded: Stored[int]
    _links: Stored[dict[int, ValidatedLink]]

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._expected: list[float] = []
        self._judged: tuple[list[str], int, list[float]] = ([], 0, [])

    def configure(self, keys: Sequence[str]) -> None:
        """Take over the policies of the crawl, by key; one that is kept keeps its record."""
        columns = [self._keys.index(key) if key in self._keys else -1 for key in keys]
        for link in self._links.values():
            link.scores = [link.scores[at] if at >= 0 else _NO_ANSWER for at in columns]
        self._keys = list(keys)

    def expect(self, fetch: Fetch, policies: Iterable[Policy], site: SiteModel) -> None:
        """Ask every policy for the score of the link that is fetched, if it is one of the sample."""
        if (self.recorded >= _ALL and site.pages % _SAMPLE) or (link := link_of(site, fetch)) is None:
            return
        has_feedback = any(map(attrgetter("is_labelled"), self._links.values()))
        self._expected = [
            float(policy.score(link, site).scores[0])
            if policy.is_able(site, has_feedback=has_feedback)
            else _NO_ANSWER
            for policy in policies
        ]

    def record(self, page: PageObservation) -> None:
        """Set the scores against what came of the fetch, and note the text it took over from other pages."""
        scores, self._expected = self._expected, []
        if scores and not page.refetch:
            self.recorded += 1
            self._links.pop(page.key, None)
            own = 0 if page.failed else page.own_chars
            self._links[page.key] = ValidatedLink(own, text_reward(own), False, scores)
            drop_oldest(self._links, _MAX_LINKS)
        for loser in self._links.keys() & page.lost.keys():
            link = self._links[loser]
            link.own_chars -= page.lost[loser]
            if not link.is_labelled:
                link.reward = text_reward(link.own_chars)

    def label(self, event: FeedbackObservation) -> None:
        """Let feedback replace the reward of a page; pages that left the window are not taken in again."""
        if event.key in self._links:
            link = self._links[event.key]
            link.reward, link.is_labelled = event.reward, True

    def columns(self) -> tuple[Floats, Floats]:
        """Return the scores of policies, (policies, n), and the reward of each link that counts, (n,)."""
        n, links = len(self._keys), list(self._links.values())  # at once: metrics are read in a thread
        labelled = [link for link in links if link.is_labelled]
        links = labelled if len(labelled) >= _LABELS else links
        said = [(link.scores, link.reward) for link in links]
        said = [row for row in said if len(row[0]) == n]  # others while the policies change
        scores = np.array([scores for scores, _ in said]).reshape(len(said), n)
        return scores.T, np.array([reward for _, reward in said])

    def figures(self, policies: Sequence[Policy]) -> list[PolicyQuality]:
        """Return what is known of each policy, in their order; the first one serves."""
        keys, (columns, rewards) = self._keys, self.columns()
        of, at, qualities = self._judged
        if of is not keys:
            at, qualities = 0, [0.5] * len(keys)
        answered = [column >= 0.0 for column in columns]
        if self.recorded >= at + _REFRESH:
            at, pairs = self.recorded, zip(columns, answered, strict=True)
            qualities = [pairwise_auc(column[on], rewards[on]) for column, on in pairs]
        self._judged = keys, at, qualities
        reward = float(rewards.mean()) if len(rewards) else 0.0
        rows = zip(policies, answered, qualities, strict=False)  # fewer while the policies change
        return [
            PolicyQuality(policy.name, EXTRA if row else SERVED, int(on.sum()), quality, reward)
            for row, (policy, on, quality) in enumerate(rows)
        ]

    def after_load(self) -> None:
        """Refuse scores of other policies than those of the crawl."""
        if any(len(link.scores) != len(self._keys) for link in self._links.values()):
            raise ValueError(f"figures of {len(self._keys)} policies expected")
