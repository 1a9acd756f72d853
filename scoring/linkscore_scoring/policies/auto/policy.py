"""Follow the policy that earns most on the site at hand: harvest, until another one proves better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.errors import FieldProblem, InvalidParams, NotFound, reading_state
from linkscore_scoring.hashing import hash64
from linkscore_scoring.learners.progressive_validation import NO_ANSWER, ValidationWindow, shift_log_odds
from linkscore_scoring.policies.answers import CANDIDATE, Explanation, PolicyTrust, Scored, Scores, Term
from linkscore_scoring.policies.auto.crawl_trust import CrawlTrust
from linkscore_scoring.policies.auto.joined_buckets import joined, part_of, scored_by, values_by
from linkscore_scoring.policies.auto.trust import Trust, expected
from linkscore_scoring.policies.base import CrawlKnowledge, Policy
from linkscore_scoring.policies.ensemble import Ensemble
from linkscore_scoring.policies.params import Params, make_params, outside
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

MAX_CANDIDATES = 6
_WEIGH_EVERY, _REFRESH = 4, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoParams(Params):
    """Parameters of `auto`.

    Attributes
    ----------
    policies
        Names of the policies to choose from, 1 to 6, joined by ``+``; the first one leads until another one
        proves better. They have their default parameters.
    margin
        Reward by which another one must be expected to beat the first one, in [0, 1].
    """

    policies: str = "harvest+in_degree+source_ucc"
    margin: float = 0.05

    @property
    def names(self) -> list[str]:
        """The policies by name."""
        return self.policies.split("+")

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        names = self.names
        if len(names) > MAX_CANDIDATES or len(set(names)) < len(names):
            rule = f"must be 1 to {MAX_CANDIDATES} different policies, got {self.policies!r:.200}"
            yield FieldProblem("policies", rule)
        for name in dict.fromkeys(names[:MAX_CANDIDATES]):
            yield from _name_problems(name)
        yield from outside("margin", self.margin, 0.0, 1.0)


class AutoKnowledge:
    """What `auto` knows of a crawl: how its policies compare, and what they know of the crawl themselves."""

    def __init__(self, candidates: Sequence[Policy]) -> None:
        self.trust = CrawlTrust(len(candidates))
        self.candidates = {c.name: c.crawl_wide for c in candidates if c.crawl_wide is not None}

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""
        known = {name: known.to_state() for name, known in self.candidates.items()}
        return {"trust": self.trust.to_state(), "candidates": known}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""
        with reading_state("auto"):
            self.trust.load_state(state["trust"])
            for name, known in self.candidates.items():
                known.load_state(state["candidates"][name])


class Auto(Ensemble):
    """The policy that earns most here, among several that all learn; the first is followed until then.

    Every policy scores each link before the page is known; the reward is feedback, else the text of the
    page's own. One leads. Another one takes over when it is expected to earn more by `margin`: by what it
    earned while it led, and before that by how it would have ordered what was fetched (`learners.trust`). A
    wrong guess is found out within a few fetches. A new site starts from what the others of the crawl showed.
    Choose it when you do not know which policy suits your sites; where `harvest` is best it stays with it.

    Score = that of the first policy while it leads; of another leader the value of the bucket, moved in log
    odds so that the links fetched have the scores that the first one gave them: sites with different leaders
    compare. Bucket = ``*`` and the bucket of every policy, so that a link that waits is worth what the leader
    of the day thinks of it; of policies that are `per_url`, sixteenths of the score. Policies that need a
    learned site or feedback are asked once there is some. No link is ever told to be skipped.

    Shapes: n links in, (n,) float64 out. Cost: that of all its policies, and 0.1 ms a page. References: ours;
    progressive validation, Blum, Kalai and Langford 1999; following the leader among experts, Kalai and
    Vempala 2005.
    """

    name = "auto"
    Params = AutoParams
    residual = 0.05

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        classes = [policy_class(name) for name in params.names]
        self.candidates = [kind(make_params(kind, {}), seed=seed) for kind in classes]
        self.links = ValidationWindow()
        self.trust = Trust(len(classes), margin=params.margin)
        self._qualities = [0.5] * len(classes)
        self._move = 0.0
        self._shared = AutoKnowledge(self.candidates)
        self._expected: list[float] | None = None

    @property
    def crawl_wide(self) -> AutoKnowledge:
        """What is known of the crawl; setting it hands the policies their part."""
        return self._shared

    @crawl_wide.setter
    def crawl_wide(self, shared: CrawlKnowledge | None) -> None:
        if not isinstance(shared, AutoKnowledge):
            raise TypeError(f"auto: {type(shared).__name__} is not its knowledge")
        self._shared = shared
        for candidate in self.candidates:
            candidate.crawl_wide = shared.candidates.get(candidate.name)

    @property
    def active(self) -> Policy:
        """The policy that is followed."""
        return self.candidates[self.trust.leader]

    def expect(self, link: LinkBatch, site: SiteModel) -> None:
        """Let every policy that is able to score the link."""
        self._expected = [
            float(candidate.score(link, site).scores[0]) if able else NO_ANSWER
            for candidate, able in zip(self.candidates, self._able(site), strict=True)
        ]

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Judge the policies by the page, let them learn from it, and choose the leader anew."""
        scores, self._expected = self._expected, None
        if scores is not None and not page.refetch:
            self.links.record(page, scores, active=self.trust.leader)
        self.links.update(page)
        for candidate in self.candidates:
            candidate.observe(page, site)
        if self.links.recorded % _WEIGH_EVERY == 0:
            self._weigh(site)
        if len(self.links) and self.links.recorded % _REFRESH == 0:
            self._qualities = self.links.qualities()

    @classmethod
    def wants_logs(cls, params: Any) -> bool:
        """Say whether one of the policies reads browse logs."""
        return any(policy_class(name).reads_logs for name in params.names)

    @classmethod
    def wants_layout(cls, params: Any) -> bool:
        """Say whether one of the policies reads layouts."""
        return any(policy_class(name).reads_layout for name in params.names)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let an outside reward replace the page's own, and every policy learn from it."""
        self.links.label(event.key, event.reward)
        for candidate in self.candidates:
            candidate.feedback(event, site)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score as the leader does."""
        scored = [scored_by(candidate, links, site) for candidate in self.candidates]
        buckets = [joined(parts) for parts in zip(*(each.buckets for each in scored), strict=True)]
        scores = self.value(buckets, site) if self.trust.leader else scored[0].scores
        return Scored(scores, buckets)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return what the leader thinks of each bucket; one of another policy is worth what it says."""
        at = self.trust.leader
        parts = [part_of(bucket, at) for bucket in buckets]
        distinct = list(dict.fromkeys(parts))
        values = values_by(self.active, distinct, site)
        if at:
            values = shift_log_odds(values, self._move)
        known = dict(zip(distinct, values.tolist(), strict=True))
        return np.array([known[part] for part in parts], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the leader, the trust in each policy, and the leader's own reason."""
        own = self.active.explain(links, site)
        share = self.trust.shares[self.trust.leader]
        trust = [
            Term(f"trust({known.policy})", known.trust, f"expected to earn {known.reward:.2f} a fetch")
            for known in self.policy_trust()
        ]
        return [
            Explanation(f"{self.active.name} leads (trust {share:.2f}): {why.summary}", [*trust, *why.terms])
            for why in own
        ]

    def policy_trust(self) -> list[PolicyTrust]:
        """Return trust, quality and expected reward of each policy."""
        rows = zip(self.candidates, self.trust.shares, self._qualities, self.trust.values, strict=True)
        judged = self.links.recorded
        return [PolicyTrust(c.name, CANDIDATE, share, judged, q, value) for c, share, q, value in rows]

    def to_state(self) -> dict[str, Any]:
        """Return policies, judged links and trust as plain values."""
        return {
            "candidates": {candidate.name: candidate.to_state() for candidate in self.candidates},
            "links": self.links.to_state(),
            "trust": self.trust.to_state(),
            "qualities": self._qualities,
            "move": self._move,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over policies, judged links and trust."""
        with reading_state("auto"):
            for candidate in self.candidates:
                candidate.load_state(state["candidates"][candidate.name])
            self.links.load_state(state["links"], len(self.candidates))
            self.trust.load_state(state["trust"])
            self._qualities = [float(quality) for quality in state["qualities"]]
            self._move = float(state["move"])

    def _able(self, site: SiteModel) -> list[bool]:
        has_feedback = self.links.has_feedback()
        return [candidate.is_able(site, has_feedback=has_feedback) for candidate in self.candidates]

    def _weigh(self, site: SiteModel) -> None:
        """Choose the leader anew, and tell the crawl how the policies compare here."""
        crawl, key, leader = self._shared.trust, hash64(site.name), self.trust.leader
        evidence = self.trust.weigh(self.links, self._able(site), crawl.prior(key))
        if evidence.weight:
            own = expected(evidence, leader, np.zeros(len(self.candidates)))
            crawl.report(key, own - own[0], evidence.weight)
        self._move = self.links.log_odds_offset(self.trust.leader, 0)


def _name_problems(name: str) -> Iterator[FieldProblem]:
    """Yield a problem if a policy cannot be chosen from: unknown, `auto` itself, or in need of parameters."""
    try:
        kind = policy_class(name)
        make_params(kind, {})
    except NotFound as exc:
        yield FieldProblem("policies", str(exc), "UNKNOWN_POLICY")
        return
    except InvalidParams as exc:
        yield FieldProblem("policies", f"{name} needs parameters: {exc}")
        return
    if name == Auto.name:
        yield FieldProblem("policies", "auto cannot choose itself")
