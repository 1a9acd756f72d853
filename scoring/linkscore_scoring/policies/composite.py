"""A policy made of policies that all learn, and one that hands over to another one where it knows nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.errors import CorruptState, FieldProblem, InvalidParams, NotFound, reading_state
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, make_params
from linkscore_scoring.policies.capabilities import CrawlKnowledge, FetchesInFlight, Part, Sharing
from linkscore_scoring.policies.experience import Experience
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import (
    ExamplePage,
    ExampleWanted,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
    SeedWanted,
    Suggestion,
    UrlRule,
)
from linkscore_scoring.wanted import Wanted


class PartsKnowledge:
    """What the parts of a policy know of the crawl, by the name of the part."""

    def __init__(self, parts: Sequence[Policy]) -> None:
        found = {part.name: capabilities.crawl_wide(part) for part in parts}
        self.of_parts = {name: known for name, known in found.items() if known is not None}

    @property
    def is_any(self) -> bool:
        """Whether there is anything to keep with the crawl."""
        return bool(self.of_parts)

    @property
    def sharing(self) -> Sharing:
        """Return the most that a part shares."""
        return max((known.sharing for known in self.of_parts.values()), default=Sharing.NOTHING)

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""
        return {"candidates": {name: known.to_state() for name, known in self.of_parts.items()}}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""
        with reading_state("knowledge of the crawl"):
            for name, known in self.of_parts.items():
                known.load_state(state["candidates"][name])


class PartInFlight:
    """What a part makes of fetches under way, by the names that a composite gives the part's buckets.

    Parameters
    ----------
    counted
        The part's own.
    own_name
        Gives the part's name of a bucket.
    moved
        Gives what the composite makes of a value of the part.
    """

    def __init__(
        self,
        counted: FetchesInFlight,
        own_name: Callable[[str], str],
        moved: Callable[[float], float] = float,
    ) -> None:
        self._counted, self._own_name, self._moved = counted, own_name, moved

    @property
    def places(self) -> int:
        """See `FetchesInFlight.places`."""
        return self._counted.places

    @property
    def floor(self) -> float:
        """See `FetchesInFlight.floor`."""
        return self._moved(self._counted.floor) if self._counted.floor else 0.0

    def begin(self, bucket: str, n: int = 1) -> None:
        """See `FetchesInFlight.begin`."""
        self._counted.begin(self._own_name(bucket), n)

    def value(self, bucket: str) -> float:
        """See `FetchesInFlight.value`."""
        return self._moved(self._counted.value(self._own_name(bucket)))


class Composite(Policy):
    """A policy made of parts, policies of different names that all learn side by side.

    Whatever happens the parts of `told` are told of: fetches, feedback, models, browse logs. Whatever can be
    asked beyond scores is answered by the first part that has an answer, in the order of `asked`. What parts
    know of the crawl is kept with the crawl.

    Two capabilities are not handed on. Which site is next (`RanksSites`) is decided across sites, and the
    part that answers differs from site to site: a composite is worth what its unknown bucket is worth. And
    its buckets hold the buckets of parts, so values never move per URL (`MovesUrls`).
    """

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.parts = [kind(own, seed=seed) for kind, own in self.parts_of(params)]
        self._shared = self.knowledge_of_parts()

    @classmethod
    @abstractmethod
    def parts_of(cls, params: Any) -> list[Part]:
        """Return class and parameters of each part."""

    @abstractmethod
    def asked(self, site: SiteModel) -> Iterator[Policy]:
        """Yield the parts that may answer for the site, the one that counts most first."""

    def told(self, site: SiteModel) -> Sequence[Policy]:
        """Return the parts that learn on the site: all."""
        return self.parts

    def knowledge_of_parts(self) -> PartsKnowledge:
        """Return what the parts know of the crawl, and what the policy itself does; made once."""
        return PartsKnowledge(self.parts)

    @property
    def crawl_wide(self) -> CrawlKnowledge | None:
        """What is known of the crawl, None if nothing; setting it hands the parts their share."""
        return self._shared if self._shared.is_any else None

    @crawl_wide.setter
    def crawl_wide(self, shared: CrawlKnowledge | None) -> None:
        if not isinstance(shared, type(self._shared)):
            raise TypeError(f"{self.name}: {type(shared).__name__} is not its knowledge")
        self._shared = shared
        for part in self.parts:
            if part.name in shared.of_parts:
                capabilities.share(part, shared.of_parts[part.name])

    def expect(self, link: LinkBatch, site: SiteModel) -> None:
        """Let every part say what it expects."""
        for part in self.told(site):
            capabilities.expect(part, link, site)

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Let every part learn from a fetch."""
        for part in self.told(site):
            part.observe(page, site)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let every part learn from feedback."""
        for part in self.told(site):
            part.feedback(event, site)

    def model_activated(self, site: SiteModel) -> None:
        """Tell every part of the new model."""
        for part in self.told(site):
            capabilities.model_activated(part, site)

    def mining_settings(self) -> dict[str, Any]:
        """Return what the parts want logs mined with, the first one's where they differ."""
        return {
            name: value
            for part in reversed(self.parts)
            for name, value in capabilities.mining_settings(part).items()
        }

    def logs_mined(self, site: SiteModel) -> None:
        """Tell every part of new browse logs."""
        for part in self.told(site):
            capabilities.logs_mined(part, site)

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Give every part the example pages."""
        for part in self.parts:
            capabilities.set_examples(part, examples, site)

    def set_wanted(self, wanted: Wanted | None, site: SiteModel) -> None:
        """Tell every part what is wanted in words."""
        for part in self.parts:
            capabilities.set_wanted(part, wanted, site)

    def set_experience(self, experiences: Sequence[Experience], site: SiteModel) -> None:
        """Let every part start from what was learned elsewhere."""
        for part in self.parts:
            capabilities.set_experience(part, experiences, site)

    def experience(self, site: SiteModel) -> Experience:
        """Return what the first part learned that learned anything for others."""
        found = (capabilities.experience(part, site) for part in self.parts)
        return next((learned for learned in found if learned is not None), Experience(()))

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return what the first part asks that asks anything."""
        found = (capabilities.suggest_examples(part, n, site) for part in self.asked(site))
        return next(filter(None, found), [])

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the seeds of the first part that knows any."""
        found = (capabilities.suggest_seeds(part, n, site) for part in self.asked(site))
        return next(filter(None, found), [])

    def suggest_fetches(self, n: int, site: SiteModel) -> list[Suggestion]:
        """Return what the part that counts most would like fetched; a fetch costs, so others do not ask."""
        part = next(self.asked(site), None)
        return capabilities.suggest_fetches(part, n, site) if part is not None else []

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the rules of the first part that has any."""
        return next(filter(None, (capabilities.rules(part, site) for part in self.asked(site))), [])

    def page_type_of(self, page: PageObservation, site: SiteModel) -> int:
        """Return the type of a page by the first part that knows it."""
        return next(filter(None, (capabilities.page_type_of(p, page, site) for p in self.asked(site))), 0)

    def thread_of(self, page: PageObservation, site: SiteModel) -> str:
        """Return the thread of a page by the first part that knows one."""
        return next(filter(None, (capabilities.thread_of(p, page, site) for p in self.asked(site))), "")

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        """Return the estimate of the first part that has one."""
        found = (capabilities.expected_rewards(part, groups, site) for part in self.asked(site))
        return next((rewards for rewards in found if rewards is not None), None)

    @property
    def relearned(self) -> int:
        """How often a part forgot what it knew of a part of the site."""
        return sum(map(capabilities.relearned, self.parts))


_MARK = "~"
"""Ends the own part of a bucket of `WithFallback`; own buckets are free of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackParams(Params):
    """Parameters of a policy that falls back.

    Attributes
    ----------
    fallback
        Policy that scores while this one abstains; it learns all the time. Its parameters are the defaults.
        Default `harvest`, the best of all by measure where nothing is known of a site
        (docs/reference/policies/index.md).
    """

    fallback: str = "harvest"

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem if the fallback cannot be one."""
        problems = list(part_problems("fallback", self.fallback))
        yield from problems
        if problems:
            return
        kind = policy_class(self.fallback)
        if issubclass(kind, Composite) or kind.per_url:
            rule = f"must be a policy that neither falls back nor moves values per URL, got {self.fallback!r}"
            yield FieldProblem("fallback", rule)


def part_problems(field: str, name: str) -> Iterator[FieldProblem]:
    """Yield a problem if a policy cannot be a part: it is unknown, or in need of parameters."""
    try:
        make_params(policy_class(name), {})
    except NotFound as exc:
        yield FieldProblem(field, str(exc), "UNKNOWN_POLICY")
    except InvalidParams as exc:
        yield FieldProblem(field, f"{name} needs parameters: {exc}")


class WithFallback(Composite):
    """Score by own knowledge where the site `is_ready`, else by the policy `params.fallback`.

    Bucket = ``<own bucket>~<bucket of the fallback>``, so that links found before the policy was ready, or
    after it is so no longer, are worth what they are worth today. The fallback learns from everything, and
    answers what else is asked while the policy is not ready.
    """

    @classmethod
    def parts_of(cls, params: Any) -> list[Part]:
        """Return the fallback, with its default parameters."""
        kind = policy_class(params.fallback)
        return [(kind, make_params(kind, {}))]

    @property
    def fallback(self) -> Policy:
        """The policy that scores sites that are not ready."""
        return self.parts[0]

    def asked(self, site: SiteModel) -> Iterator[Policy]:
        """Yield the fallback if the site is not ready."""
        if not self.is_ready(site):
            yield self.fallback

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

    @abstractmethod
    def describe(self, site: SiteModel) -> str:
        """Say in one sentence what the policy goes by on the site, and why it abstains if it does."""

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
        counted = None if self.is_ready(site) else capabilities.in_flight(self.fallback, site)
        return (
            PartInFlight(counted, lambda bucket: bucket.partition(_MARK)[2]) if counted is not None else None
        )

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Say why, in the words of whoever scores."""
        if self.is_ready(site):
            return self.explain_own(links, site)
        why = self.describe(site)
        return [
            Explanation(f"{why}; {self.fallback.name}: {found.summary}", found.terms)
            for found in self.fallback.explain(links, site)
        ]

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
