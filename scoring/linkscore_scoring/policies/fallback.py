"""Policies that know what to do on some sites and hand over to another one on the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.errors import CorruptState, FieldProblem, NotFound, reading_state
from linkscore_scoring.policies.answers import Explanation, Scored, Scores
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.params import Params, make_params
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import ExamplePage, FeedbackObservation, LinkBatch, PageObservation

_MARK = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackParams(Params):
    """Parameters of a policy that falls back.

    Attributes
    ----------
    fallback
        Policy that scores while this one abstains; it learns all the time. Its parameters are the defaults.
    """

    fallback: str = "harvest"

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem if the fallback cannot be one."""
        try:
            kind = policy_class(self.fallback)
        except NotFound as exc:
            yield FieldProblem("fallback", str(exc))
            return
        if issubclass(kind, WithFallback) or kind.per_url or kind.name == "auto":
            rule = f"must be a policy that neither falls back nor moves values per URL, got {self.fallback!r}"
            yield FieldProblem("fallback", rule)


class WithFallback(Policy):
    """Score by own knowledge where the site `is_ready`, else by the policy `params.fallback`.

    Bucket = ``<own place>~<bucket of the fallback>``, so that links found before the policy was ready, or
    after it is so no longer, are worth what they are worth today. The fallback learns from everything.
    """

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        kind = policy_class(params.fallback)
        self.fallback = kind(make_params(kind, {}), seed=seed)

    @abstractmethod
    def is_ready(self, site: SiteModel) -> bool:
        """Say whether the policy knows what to do on the site."""

    @abstractmethod
    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score links of a site that is ready; the buckets are own places."""

    @abstractmethod
    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return the own place of each link, ready or not: what `value_own` can tell the worth by."""

    @abstractmethod
    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of own places of a site that is ready, (n_places,); modest for unknown ones."""

    @abstractmethod
    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Say why, for a site that is ready."""

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by own knowledge if the site is ready, else as the fallback does, without verdicts."""
        inner = self.fallback.score(links, site)
        ready = self.is_ready(site)
        own = self.score_own(links, site) if ready else None
        places = own.buckets if own is not None else self.own_buckets(links, site)
        buckets = [f"{place}{_MARK}{bucket}" for place, bucket in zip(places, inner.buckets, strict=True)]
        if own is None:
            return Scored(inner.scores, buckets)
        return Scored(own.scores, buckets, own.verdicts, own.url_types)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of own places, or of the fallback's buckets."""
        parts = [bucket.partition(_MARK) for bucket in buckets]
        if self.is_ready(site):
            return self.value_own([place for place, _, _ in parts], site)
        return self.fallback.value([bucket for _, _, bucket in parts], site)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Say why, in the words of whoever scores."""
        if self.is_ready(site):
            return self.explain_own(links, site)
        why = self.describe(site)
        return [
            Explanation(f"{why}; {self.fallback.name}: {found.summary}", found.terms)
            for found in self.fallback.explain(links, site)
        ]

    def expect(self, link: LinkBatch, site: SiteModel) -> None:
        """Let the fallback say what it expects."""
        self.fallback.expect(link, site)

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Let the fallback learn from a fetch."""
        self.fallback.observe(page, site)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let the fallback learn from feedback."""
        self.fallback.feedback(event, site)

    def model_activated(self, site: SiteModel) -> None:
        """Tell the fallback of a new site model."""
        self.fallback.model_activated(site)

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Give the fallback the example pages."""
        self.fallback.set_examples(examples, site)

    def is_able(self, site: SiteModel, *, has_feedback: bool) -> bool:
        """Say whether the policy itself, not its fallback, scores the site."""
        return self.is_ready(site)

    def to_state(self) -> dict[str, Any]:
        """Return what the fallback knows; subclasses add their own."""
        return {"policy": self.name, "inner": self.fallback.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Give the fallback its knowledge back; subclasses take their own first."""
        if state.get("policy") != self.name:
            raise CorruptState(f"{self.name}: state of the policy {state.get('policy')!r:.100}")
        with reading_state(self.name):
            self.fallback.load_state(state["inner"])
