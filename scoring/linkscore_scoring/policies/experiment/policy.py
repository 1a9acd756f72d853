"""Divide the sites of a crawl over two policies, and keep what the first fetches of each site brought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.errors import CorruptState, FieldProblem, reading_state
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import CANDIDATE, KnownUrl, PolicyTrust
from linkscore_scoring.policies.base import (
    Explanation,
    Params,
    Policy,
    Scored,
    Scores,
    make_params,
    outside,
)
from linkscore_scoring.policies.capabilities import FetchesInFlight, Part
from linkscore_scoring.policies.composite import Composite, part_problems
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Flat, Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import FeedbackObservation, LinkBatch, PageObservation

MAX_HORIZON = 1_000
"""A bound: rewards are kept page by page as far as that, since feedback may come late."""
_MOST_SALT_CHARS = 64
"""A bound: a salt is part of the settings of a crawl, and of what is hashed for each site."""
_HASHES = 2.0**64
"""Values that `hash64` may take."""
_CHANCE = 0.5
"""Quality of a policy whose order nobody judged, as of `PolicyTrust`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentParams(Params):
    """Parameters of `experiment`.

    Attributes
    ----------
    policies
        Names of the two policies, joined by ``+``, with their default parameters.
    share
        Share of the sites that the second one gets, [0.01, 0.99]; default a half, which needs the fewest
        sites in all.
    horizon
        First fetches of a site that count, 1 to 1,000; default 100: chosen, not measured.
    salt
        Divides the sites otherwise; at most 64 characters.
    by_text
        Count new text of pages in place of feedback.
    """

    policies: str = "harvest+breadth_first"
    share: float = 0.5
    horizon: int = 100
    salt: str = ""
    by_text: bool = False

    @property
    def names(self) -> list[str]:
        """The policies by name."""
        return self.policies.split("+")

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        names = self.names
        if len(names) != 2 or names[0] == names[1]:
            yield FieldProblem("policies", f"must be two different policies, got {self.policies!r:.200}")
        for name in dict.fromkeys(names[:2]):
            if name == Experiment.name:
                yield FieldProblem("policies", "an experiment cannot be part of one")
            else:
                yield from part_problems("policies", name)
        yield from outside("share", self.share, 0.01, 0.99)
        yield from outside("horizon", self.horizon, 1, MAX_HORIZON)
        if len(self.salt) > _MOST_SALT_CHARS:
            rule = f"must have at most {_MOST_SALT_CHARS} characters, got {len(self.salt)}"
            yield FieldProblem("salt", rule)

    def number_of(self, site: str) -> int:
        """Return which policy a site gets, 0 or 1: by its name and the salt, so always the same.

        Examples
        --------
        >>> params = ExperimentParams(share=0.3)
        >>> sum(params.number_of(f"site{n}.example") for n in range(1_000))
        278
        """
        return int(hash64(f"{self.salt}\n{site}") < self.share * _HASHES)


class FirstFetches(Stateful):
    """Rewards of the first fetches of a site, each replaced by feedback when it comes.

    Attributes
    ----------
    count
        Fetches so far, at most the horizon; failed ones and copies bring nothing and count.
    """

    count: Stored[int]
    _rewards: Stored[Flat[dict[int, float]]]  # by identity hash of the page

    def __init__(self) -> None:
        self.count = 0
        self._rewards = {}

    @property
    def mean(self) -> float:
        """Mean reward of a fetch, [0, 1]; 0 before the first."""
        return left_sum(list(self._rewards.values())) / self.count if self.count else 0.0

    def observe(self, page: PageObservation, *, by_text: bool) -> None:
        """Count a fetch; one of a page that was asked for before is none of the crawl's order."""
        if page.refetch and page.requested == page.key:
            return
        self.count += 1
        if not page.refetch:
            self._rewards[page.key] = text_reward(page.novel_chars) if by_text else 0.0

    def feedback(self, event: FeedbackObservation) -> None:
        """Take over the reward of a page that counts; others are left out."""
        if event.key in self._rewards:
            self._rewards[event.key] = event.reward


class Experiment(Composite):
    """Two policies side by side, each on sites of its own: which one does better on sites like these?

    A hash of the site's name says which policy scores and learns there; the other one is not asked and costs
    nothing. What the first `horizon` fetches of a site brought is kept as one number, which no later fetch
    changes: sites are then independent draws of one quantity, whatever happens to them later, and the means
    of both sides can be compared at any time (`linkscore compare --live`). See ADR 35.

    Scores, buckets, verdicts: those of the policy that the site has. Policies that learn one model of all
    sites learn it from their own sites alone.

    Shapes: n links in, (n,) float64 out. Cost: that of one of its policies. References: ours; dividing by a
    hash, Kohavi, Tang and Xu 2020, Trustworthy online controlled experiments, chapter 12.

    Examples
    --------
    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.site import GeneratedSite
    >>> choice = PolicyChoice("experiment", {"policies": "harvest+breadth_first", "horizon": 30})
    >>> crawl = SimulatedCrawl(crawl_model(choice), GeneratedSite(seed=1)).fetch(60)
    >>> [(known.policy, known.judged) for known in crawl.model.shard("site.example").served.policy_trust()]
    [('breadth_first', 30)]
    """

    name = "experiment"
    Params = ExperimentParams
    per_url = True  # as one of its policies may be
    baseline = True  # as one of its policies may be

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.first = FirstFetches()
        self._chosen: Policy | None = None

    @classmethod
    def parts_of(cls, params: Any) -> list[Part]:
        """Return the two policies, with their default parameters."""
        kinds = [policy_class(name) for name in params.names]
        return [(kind, make_params(kind, {})) for kind in kinds]

    def chosen(self, site: SiteModel) -> Policy:
        """Return the policy that the site has."""
        if self._chosen is None:
            self._chosen = self.parts[self.params.number_of(site.name)]
        return self._chosen

    def asked(self, site: SiteModel) -> Iterator[Policy]:
        """Yield the policy that the site has."""
        yield self.chosen(site)

    def told(self, site: SiteModel) -> Sequence[Policy]:
        """Return the policy that the site has."""
        return [self.chosen(site)]

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Let the policy learn, and count what the fetch brought if it is one of the first.

        A site that was fetched from before the experiment began has had its first fetches: it never counts.
        """
        super().observe(page, site)
        is_begun = self.first.count > 0 or site.pages == 1
        if is_begun and self.first.count < self.params.horizon:
            self.first.observe(page, by_text=self.params.by_text)

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Let the policy learn, and count the reward of one of the first fetches."""
        super().feedback(event, site)
        if not self.params.by_text:
            self.first.feedback(event)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score as the policy of the site does, verdicts included."""
        return self.chosen(site).score(links, site)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return what the policy of the site thinks of its buckets."""
        return self.chosen(site).value(buckets, site)

    def in_flight(self, site: SiteModel) -> FetchesInFlight | None:
        """Return what the policy of the site counts fetches under way in."""
        return capabilities.in_flight(self.chosen(site), site)

    def rescored(self, site: SiteModel) -> list[KnownUrl]:
        """Return the URLs that the last page changed elsewhere, if the policy of the site moves any."""
        return capabilities.rescored(self.chosen(site), site)

    def is_able(self, site: SiteModel, *, has_feedback: bool) -> bool:
        """Say whether the policy of the site knows more than a fallback."""
        return capabilities.is_able(self.chosen(site), site, has_feedback=has_feedback)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the policy of the site, and its own reason."""
        chosen = self.chosen(site)
        return [
            Explanation(f"{chosen.name} has this site: {why.summary}", why.terms)
            for why in chosen.explain(links, site)
        ]

    def describe(self, site: SiteModel) -> str:
        """Say which policy the site has, and what that goes by."""
        chosen = self.chosen(site)
        said = capabilities.describe(chosen, site)
        return f"{chosen.name} has this site" + (f": {said}" if said else "")

    def policy_trust(self) -> list[PolicyTrust]:
        """Return the policy of the site, how many of the first fetches were made, and what they brought."""
        if self._chosen is None:
            return []
        return [PolicyTrust(self._chosen.name, CANDIDATE, 1.0, self.first.count, _CHANCE, self.first.mean)]

    def to_state(self) -> dict[str, Any]:
        """Return which policy the site has, what it knows, and the first fetches, as plain values."""
        return {
            "policy": self._chosen.name if self._chosen is not None else "",
            "inner": self._chosen.to_state() if self._chosen is not None else {},
            "first": self.first.to_state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the policy of the site with what it knows, and the first fetches."""
        with reading_state(self.name):
            if state["policy"]:
                found = [part for part in self.parts if part.name == state["policy"]]
                if not found:
                    raise CorruptState(f"{self.name}: state of the policy {state['policy']!r:.100}")
                self._chosen = found[0]
                self._chosen.load_state(state["inner"])
            self.first.load_state(state["first"])
