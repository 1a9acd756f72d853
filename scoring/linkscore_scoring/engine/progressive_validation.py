"""Progressive validation: the policies of a site, judged on the links that are fetched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscore_scoring.learners.progressive_validation import NO_ANSWER, ValidationWindow
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import EXTRA, SERVED, PolicyTrust
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

_OFTEN, _REFRESH = 16, 64
"""Links between two sets of figures, up to the second number and from then on, a bound: they cost O(links
kept^2) and only reports read them."""
_CHANCE = 0.5
"""Quality of a policy nothing is known of: that of a coin."""


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
            capabilities.expect(policy, link, site)
            able = capabilities.is_able(policy, site, has_feedback=has_feedback)
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

    def figures(self, policies: Sequence[Policy]) -> list[PolicyTrust]:
        """Return what is known of each policy, in their order; the first one serves and has all the trust."""
        roles = [SERVED, *[EXTRA] * len(policies)]
        rows = zip(policies, roles, self._judged, self._qualities, strict=False)
        return [
            PolicyTrust(policy.name, role, float(role == SERVED), judged, quality, self._reward)
            for policy, role, judged, quality in rows
        ]

    def _refresh(self) -> None:
        self._qualities = self.links.qualities()
        weights = self.links.weights()
        self._reward = float(weights @ self.links.rewards() / weights.sum())

    def after_load(self) -> None:
        """Refuse figures of other policies than those of the crawl."""
        columns = {len(self._keys), len(self._judged), len(self._qualities)}
        if len(self.links):
            columns.add(self.links.scores().shape[1])
        if len(columns) > 1:
            raise ValueError(f"figures of {len(self._keys)} policies expected")
