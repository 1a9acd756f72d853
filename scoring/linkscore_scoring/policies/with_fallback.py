"""A policy that hands over to another one where it knows nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.errors import FieldProblem, InvalidParams, NotFound
from linkscore_scoring.policies.answers import CrawlKnowledge, FetchesInFlight
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, make_params
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch

_MARK = "~"
"""Ends the own part of a bucket of `WithFallback`; own buckets are free of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackParams(Params):
    """Parameters of a policy that falls back."""

    # policy that scores while this one abstains; it learns all the time. Its parameters are the defaults.
    # Default `harvest`, the best of all by measure where nothing is known of a site
    # (docs/reference/policies/index.md)
    fallback: str = "harvest"

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem if the fallback cannot be one: it is unknown, or in need of parameters."""
        yield from super(FallbackParams, self).problems()
        try:
            kind = policy_class(self.fallback)
            make_params(kind, {})
        except NotFound as exc:
            yield FieldProblem("fallback", str(exc), "UNKNOWN_POLICY")
        except InvalidParams as exc:
            yield FieldProblem("fallback", f"{self.fallback} needs parameters: {exc}")
        else:
            if issubclass(kind, WithFallback) or kind.per_url:
                rule = "must be a policy that neither falls back nor moves values per URL"
                yield FieldProblem("fallback", f"{rule}, got {self.fallback!r}")


class _FallbackInFlight:
    """What the fallback makes of fetches under way, by the names that its policy gives the buckets."""

    def __init__(self, counted: FetchesInFlight) -> None:
        self._counted = counted
        self.places = counted.places

    @property
    def floor(self) -> float:
        return self._counted.floor

    def begin(self, bucket: str, n: int = 1) -> None:
        self._counted.begin(bucket.partition(_MARK)[2], n)

    def values(self, buckets: Sequence[str]) -> Scores:
        return self._counted.values([bucket.partition(_MARK)[2] for bucket in buckets])


class WithFallback(Policy):
    """Score by own knowledge where the site `is_ready`, else by the policy `params.fallback`.

    Bucket = ``<own bucket>~<bucket of the fallback>``, so that links found before the policy was ready, or
    after it is so no longer, are worth what they are worth today. The fallback learns from everything, and
    answers what else is asked while the policy is not ready.

    Which site is next is not handed on: the part that answers differs from site to site, so a policy that
    falls back is worth what its unknown bucket is worth. Its buckets hold those of the fallback, so values
    never move per URL.
    """

    fallback: Stored[Policy]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        kind = policy_class(params.fallback)
        self.fallback = kind(make_params(kind, {}), seed=seed)
        self.residual = max(self.residual, self.fallback.residual)
        for name in ("needs_feedback", "reads_templates", "reads_layout", "reads_words", "takes_wanted"):
            setattr(self, name, getattr(self, name) or getattr(self.fallback, name))

    @property
    def crawl_wide(self) -> CrawlKnowledge | None:
        """What the fallback knows of the crawl."""
        return self.fallback.crawl_wide

    @crawl_wide.setter
    def crawl_wide(self, shared: CrawlKnowledge | None) -> None:
        self.fallback.crawl_wide = shared

    @abstractmethod
    def is_ready(self, site: SiteModel) -> bool:
        """Say whether the policy knows what to do on the site."""

    @abstractmethod
    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score links of a site that is ready, in own buckets."""

    @abstractmethod
    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return the own bucket of each link, ready or not: what `value_own` can tell the worth by."""

    @abstractmethod
    def value_own(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of own buckets of a site that is ready, (n_buckets,); modest for unknown ones."""

    @abstractmethod
    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Say why, for a site that is ready."""

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by own knowledge if the site is ready, else as the fallback does, without verdicts."""
        theirs = self.fallback.score(links, site)
        own = self.score_own(links, site) if self.is_ready(site) else None
        names = own.buckets if own is not None else self.own_buckets(links, site)
        buckets = [f"{name}{_MARK}{bucket}" for name, bucket in zip(names, theirs.buckets, strict=True)]
        if own is None:
            return Scored(theirs.scores, buckets)
        return Scored(own.scores, buckets, own.verdicts, own.url_types)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of own buckets, or of the fallback's."""
        parts = [bucket.partition(_MARK) for bucket in buckets]
        if self.is_ready(site):
            return self.value_own([own for own, _, _ in parts], site)
        return self.fallback.value([theirs for _, _, theirs in parts], site)

    def in_flight(self, site: SiteModel) -> FetchesInFlight | None:
        """Return what the fallback counts fetches under way in, while it scores."""
        counted = None if self.is_ready(site) else self.fallback.in_flight(site)
        return _FallbackInFlight(counted) if counted is not None else None

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Say why, in the words of whoever scores."""
        if self.is_ready(site):
            return self.explain_own(links, site)
        why = self.describe(site)
        return [
            Explanation(f"{why}; {self.fallback.name}: {found.summary}", found.terms)
            for found in self.fallback.explain(links, site)
        ]


def _told_always(name: str) -> Callable[..., Any]:
    def told(self: WithFallback, *args: Any) -> Any:
        return getattr(self.fallback, name)(*args)

    return told


def _asked_before_ready(name: str) -> Callable[..., Any]:
    """Return a method whose last argument is the site: a ready policy answers as if it had no fallback."""

    def asked(self: WithFallback, *args: Any) -> Any:
        is_ready = self.is_ready(args[-1])
        return getattr(Policy, name)(self, *args) if is_ready else getattr(self.fallback, name)(*args)

    return asked


for _name in (
    *("observe", "feedback", "model_activated", "logs_mined"),
    *("set_examples", "set_wanted", "set_experience", "experience", "load_libraries"),
):
    setattr(WithFallback, _name, _told_always(_name))
for _name in (
    *("suggest_examples", "suggest_seeds", "rules", "page_note"),
    *("expected_rewards", "latest_rewards", "warnings"),
):
    setattr(WithFallback, _name, _asked_before_ready(_name))
