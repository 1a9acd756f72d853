"""What a policy is: parameters, knowledge, scores.

A policy reads the site model, never changes it, and may keep knowledge of its own. `score` and `value` change
nothing, so they may be asked at any time; `observe` and `feedback` are called once per event, in the order of
the log. What some policies can do besides is in `policies.capabilities`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.policies.answers import Explanation, Scored, Scores
from linkscore_scoring.policies.params import Params
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation


class Policy(ABC):
    """A link scoring policy for one site of one crawl.

    A new policy defines `name`, `score`, `value` and `explain`, and whatever it learns in `observe` and
    `feedback` goes into `to_state`. Anything more it can do it says by methods of `policies.capabilities`.

    Parameters
    ----------
    params
        An instance of the class's `Params`.
    seed
        Seed of the crawl; every random draw is a function of it, the event sequence and what is drawn for.

    Attributes
    ----------
    name
        Name of the module or package it lives in, and of its field in the contract.
    Params
        Class of its parameters.
    needs_learning
        Scores come from a fallback until the site is learned.
    needs_feedback
        It learns from reported results only.
    reads_templates
        False: neither template clusters nor the navigation table are looked at.
    reads_layout
        Pages should come with their `PageLayout`.
    reads_logs
        Browse logs of the site should be mined.
    per_url
        Values move per URL as links arrive: exact order needs a heap on scores, and buckets are steps of the
        score.
    residual
        Most that the score of a link differs from the value of its bucket, in [0, 1].
    baseline
        It may lose against random order in the conformance suite.

    Examples
    --------
    >>> class ShortUrls(Policy):
    ...     '''Short URLs first. Bucket: the length of the URL.'''
    ...     name = "short_urls"
    ...     def score(self, links, site):
    ...         buckets = [str(len(url)) for url in links.urls]
    ...         return Scored(self.value(buckets, site), buckets)
    ...     def value(self, buckets, site):
    ...         return np.array([1 / (1 + int(bucket or 0)) for bucket in buckets])
    ...     def explain(self, links, site):
    ...         return [Explanation(f"{len(url)} characters", []) for url in links.urls]
    >>> import numpy as np
    >>> from linkscore_scoring.site.config import LearningConfig, SiteBounds
    >>> site = SiteModel("a.org", LearningConfig(), SiteBounds())
    >>> ShortUrls(Params()).value(["9", "19"], site).tolist()
    [0.1, 0.05]
    """

    name: ClassVar[str]
    Params: ClassVar[type[Params]] = Params
    needs_learning: ClassVar[bool] = False
    reads_templates: ClassVar[bool] = True
    baseline: ClassVar[bool] = False
    residual: ClassVar[float] = 0.0
    per_url: ClassVar[bool] = False
    needs_feedback: ClassVar[bool] = False
    reads_layout: ClassVar[bool] = False
    reads_logs: ClassVar[bool] = False

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        self.params = params
        self.seed = seed

    @abstractmethod
    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score links; `(n_links,)` in, `(n_links,)` out, row by row independent."""

    @abstractmethod
    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of buckets, (n_buckets,) float64 in [0, 1]; modest for an unknown bucket."""

    @abstractmethod
    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Say why, one explanation per link."""

    def observe(self, page: PageObservation, site: SiteModel) -> None:  # noqa: B027 - knowing nothing is fine
        """Learn from one fetch; `site` has taken the page in already."""

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:  # noqa: B027
        """Learn from what extraction found."""

    def to_state(self) -> dict[str, Any]:
        """Return what the policy knows as plain values (dict, list, str, int, float, bool, bytes)."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`.

        Raises
        ------
        CorruptState
            If the state is not one of this policy.
        """
        if state:
            raise CorruptState(f"{self.name}: unexpected state fields {sorted(state)}")
