"""Follow the policy that earns most on the site at hand: harvest, until another one proves better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.errors import FieldProblem, reading_state
from linkscore_scoring.hashing import hash64
from linkscore_scoring.learners.progressive_validation import NO_ANSWER, ValidationWindow, shift_log_odds
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import CANDIDATE, PolicyTrust
from linkscore_scoring.policies.auto.trust import CrawlTrust, Trust, expected
from linkscore_scoring.policies.base import (
    Explanation,
    Params,
    Policy,
    Scored,
    Scores,
    Term,
    make_params,
    outside,
)
from linkscore_scoring.policies.capabilities import FetchesInFlight, Part, Sharing
from linkscore_scoring.policies.composite import Composite, PartInFlight, PartsKnowledge, part_problems
from linkscore_scoring.policies.registry import find_policy, policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

MAX_POLICIES = 6
"""A bound: a page costs what all of them cost, and a bucket names what each of them thinks."""

# Chosen, not measured: weighing costs O(policies x 128^2), so it is done every few links.
_WEIGH_EVERY = 4
"""Links from one choice of the active policy to the next."""
_REFRESH = 16
"""Links from one figure of quality to the next; it is for people to look at."""

_STEPS = 16
"""Buckets of a policy that is `per_url`: sixteenths of its score (ADR 8)."""

_USUAL = "harvest+in_degree+source_ucc"
"""Those it chooses from if nobody says which."""

_MARK = "*"
_BETWEEN = "|"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoParams(Params):
    """Parameters of `auto`.

    Attributes
    ----------
    policies
        Names of the policies to choose from, 1 to 6, joined by ``+``; the first one is active until another
        one proves better. They have their default parameters. Default: the best of all by measure, and two
        of other kinds that beat it early on some sites (research/notebook/auto.md).
    margin
        Reward by which another one must be expected to beat the first one, in [0, 1]; default 0.05, see
        research/notebook/auto.md.
    """

    policies: str = _USUAL
    margin: float = 0.05

    @property
    def names(self) -> list[str]:
        """The policies by name; of the default ones those that are there."""
        names = self.policies.split("+")
        return [name for name in names if find_policy(name)] if self.policies == _USUAL else names

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        names = self.names
        if len(names) > MAX_POLICIES or len(set(names)) < len(names):
            rule = f"must be 1 to {MAX_POLICIES} different policies, got {self.policies!r:.200}"
            yield FieldProblem("policies", rule)
        for name in dict.fromkeys(names[:MAX_POLICIES]):
            if name == Auto.name:
                yield FieldProblem("policies", "auto cannot choose itself")
            else:
                yield from part_problems("policies", name)
        yield from outside("margin", self.margin, 0.0, 1.0)


class AutoKnowledge(PartsKnowledge):
    """What `auto` knows of a crawl: how its policies compare, and what they know of the crawl themselves."""

    def __init__(self, parts: Sequence[Policy]) -> None:
        super().__init__(parts)
        self.trust = CrawlTrust(len(parts))

    @property
    def is_any(self) -> bool:
        """Say that how policies compare is always known of the crawl."""
        return True

    @property
    def sharing(self) -> Sharing:
        """Return what is shared: sums of how policies compared, unless a policy shares more."""
        return max(Sharing.SUMS, super().sharing)

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""
        return {"trust": self.trust.to_state(), **super().to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""
        with reading_state("auto"):
            self.trust.load_state(state["trust"])
            super().load_state(state)


class Auto(Composite):
    """The policy that earns most here, among several that all learn; the first is followed until then.

    Every policy scores each link before the page is known; the reward is feedback, else the text of the
    page's own. One is active. Another one takes over when it is expected to earn more by `margin`: by what it
    earned while it was active, and before that by how it would have ordered what was fetched (`auto.trust`).
    A wrong guess is found out within a few fetches. A new site starts from what the others of the crawl
    showed. Choose it when you do not know which policy suits your sites; where `harvest` is best it stays
    with it.

    Score = that of the first policy while it is active; of another one the value of the bucket, moved in log
    odds so that the links fetched have the scores that the first one gave them: sites with different active
    policies compare. Bucket = ``*`` and the bucket of every policy, so that a link that waits is worth what
    the active policy thinks of it today; of policies that are `per_url`, sixteenths of the score. Policies
    that need a learned site or feedback are asked once there is some. No link gets the verdict to be skipped.

    Shapes: n links in, (n,) float64 out. Cost: that of all its policies, and 0.1 ms a page. References: ours;
    progressive validation, Blum, Kalai and Langford 1999; following the leader among experts, Kalai and
    Vempala 2005.

    Examples
    --------
    A crawl of 60 pages of a generated board, of whose pages three in ten are wanted; harvest stays active:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.site import GeneratedSite
    >>> model = crawl_model(PolicyChoice("auto", {"policies": "harvest+breadth_first"}))
    >>> crawl = SimulatedCrawl(model, GeneratedSite(seed=1)).fetch(60)
    >>> crawl.wanted_share() > 0.6
    True
    >>> auto = model.shard("site.example").served
    >>> [known.policy for known in auto.policy_trust()], auto.active.name
    (['harvest', 'breadth_first'], 'harvest')
    """

    name = "auto"
    Params = AutoParams

    _shared: AutoKnowledge

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.links = ValidationWindow()
        self.trust = Trust(len(self.parts), margin=params.margin)
        self._qualities = [0.5] * len(self.parts)
        self._offset = 0.0
        self._expected: list[float] | None = None

    @classmethod
    def parts_of(cls, params: Any) -> list[Part]:
        """Return the policies to choose from, with their default parameters."""
        kinds = [policy_class(name) for name in params.names]
        return [(kind, make_params(kind, {})) for kind in kinds]

    def asked(self, site: SiteModel) -> Iterator[Policy]:
        """Yield the active policy, then the others in their order."""
        yield self.active
        yield from (part for part in self.parts if part is not self.active)

    def knowledge_of_parts(self) -> AutoKnowledge:
        """Return what the policies know of the crawl, and how they compare there."""
        return AutoKnowledge(self.parts)

    @property
    def active(self) -> Policy:
        """The policy that is followed."""
        return self.parts[self.trust.active]

    def expect(self, link: LinkBatch, site: SiteModel) -> None:
        """Let every policy that is able to score the link."""
        super().expect(link, site)
        self._expected = [
            float(part.score(link, site).scores[0]) if able else NO_ANSWER
            for part, able in zip(self.parts, self._able(site), strict=True)
        ]

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Judge the policies by the page, let them learn from it, and choose the active one anew."""
        scores, self._expected = self._expected, None
        if scores is not None and not page.refetch:
            self.links.record(page, scores, active=self.trust.active)
        self.links.update(page)
        super().observe(page, site)
        if self.links.recorded % _WEIGH_EVERY == 0:
            self._weigh(site)
        if len(self.links) and self.links.recorded % _REFRESH == 0:
            self._qualities = self.links.qualities()

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let an outside reward replace the page's own, and every policy learn from it."""
        self.links.label(event.key, event.reward)
        super().feedback(event, site)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score as the active policy does."""
        scored = [scored_by(part, links, site) for part in self.parts]
        buckets = [joined(names) for names in zip(*(each.buckets for each in scored), strict=True)]
        scores = self.value(buckets, site) if self.trust.active else scored[0].scores
        return Scored(scores, buckets)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return what the active policy thinks of each bucket, whichever policy it was named by."""
        at = self.trust.active
        names = [part_of(bucket, at) for bucket in buckets]
        distinct = list(dict.fromkeys(names))
        values = values_by(self.active, distinct, site)
        if at:
            values = shift_log_odds(values, self._offset)
        known = dict(zip(distinct, values.tolist(), strict=True))
        return np.array([known[name] for name in names], dtype=np.float64)

    def in_flight(self, site: SiteModel) -> FetchesInFlight | None:
        """Return what the active policy counts fetches under way in."""
        at, counted = self.trust.active, capabilities.in_flight(self.active, site)
        if counted is None:
            return None

        def moved(value: float) -> float:
            return float(shift_log_odds(np.array([value]), self._offset)[0]) if at else value

        return PartInFlight(counted, lambda bucket: part_of(bucket, at), moved)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the active policy, the trust in each, and the active one's own reason."""
        share = self.trust.shares[self.trust.active]
        trust = [
            Term(f"trust({known.policy})", known.trust, f"expected to earn {known.reward:.2f} a fetch")
            for known in self.policy_trust()
        ]
        if self.trust.active:
            trust.append(Term("offset", self._offset, "added to the log odds of its scores"))
        return [
            Explanation(
                f"{self.active.name} is active (trust {share:.2f}): {why.summary}", [*trust, *why.terms]
            )
            for why in self.active.explain(links, site)
        ]

    def describe(self, site: SiteModel) -> str:
        """Say which policy is active, and what the policies that go by something on the site go by."""
        said = [f"{part.name}: {text}" for part in self.parts if (text := capabilities.describe(part, site))]
        return "; ".join([f"{self.active.name} is active", *said])

    def policy_trust(self) -> list[PolicyTrust]:
        """Return trust, quality and expected reward of each policy."""
        rows = zip(self.parts, self.trust.shares, self._qualities, self.trust.values, strict=True)
        judged = self.links.recorded
        return [PolicyTrust(part.name, CANDIDATE, share, judged, q, value) for part, share, q, value in rows]

    def to_state(self) -> dict[str, Any]:
        """Return policies, judged links and trust as plain values."""
        return {
            "candidates": {part.name: part.to_state() for part in self.parts},
            "links": self.links.to_state(),
            "trust": self.trust.to_state(),
            "qualities": self._qualities,
            "move": self._offset,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over policies, judged links and trust."""
        with reading_state("auto"):
            for part in self.parts:
                part.load_state(state["candidates"][part.name])
            self.links.load_state(state["links"], len(self.parts))
            self.trust.load_state(state["trust"])
            self._qualities = [float(quality) for quality in state["qualities"]]
            self._offset = float(state["move"])

    def _able(self, site: SiteModel) -> list[bool]:
        has_feedback = self.links.has_feedback()
        return [capabilities.is_able(part, site, has_feedback=has_feedback) for part in self.parts]

    def _weigh(self, site: SiteModel) -> None:
        """Choose the active policy anew, and tell the crawl how the policies compare here."""
        crawl, key, active = self._shared.trust, hash64(site.name), self.trust.active
        evidence = self.trust.weigh(self.links, self._able(site), crawl.prior(key))
        if evidence.weight:
            own = expected(evidence, active, np.zeros(len(self.parts)))
            crawl.report(key, own - own[0], evidence.weight)
        self._offset = self.links.log_odds_offset(self.trust.active, 0)


def joined(parts: Iterable[str]) -> str:
    """Return the bucket of some policies' buckets; these may hold any character."""
    return _MARK + _BETWEEN.join(part.replace("%", "%25").replace(_BETWEEN, "%7C") for part in parts)


def part_of(bucket: str, at: int) -> str:
    """Return the part of one policy, empty if there is none; a bucket that is not joined as it is."""
    if bucket[:1] != _MARK:
        return bucket
    parts = bucket[1:].split(_BETWEEN)
    part = parts[at] if at < len(parts) else ""
    return part.replace("%7C", _BETWEEN).replace("%25", "%") if "%" in part else part


def scored_by(policy: Policy, links: LinkBatch, site: SiteModel) -> Scored:
    """Return scores and buckets of a policy; those of one that is `per_url` in steps."""
    found = policy.score(links, site)
    if not policy.per_url:
        return found
    steps = np.floor(found.scores * _STEPS)
    return Scored(steps / _STEPS, [f"{step:.0f}" for step in steps])


def values_by(policy: Policy, parts: Sequence[str], site: SiteModel) -> Scores:
    """Return what a policy thinks of its parts of buckets; 0 for what is no step of one that is `per_url`."""
    if not policy.per_url:
        return policy.value(parts, site)
    steps = [int(p) if p.isascii() and p.isdecimal() and len(p) <= 2 else 0 for p in parts]
    return np.minimum(np.array(steps, dtype=np.float64), _STEPS) / _STEPS
