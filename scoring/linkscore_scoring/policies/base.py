"""What a policy is: parameters, knowledge, scores.

A policy reads the site model, never changes it, and may keep knowledge of its own. `score` and `value` change
nothing, so they may be asked at any time; `observe` and `feedback` are called once per event, in the order of
the log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.learners.bandits.host_bandit import HostBandit
from linkscore_scoring.policies.answers import (
    Explanation,
    KnownUrl,
    PolicyTrust,
    Scored,
    Scores,
)
from linkscore_scoring.policies.params import Params
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


class CrawlKnowledge(Protocol):
    """What the policies of all sites of a crawl know together; made of plain values like a policy's own."""

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""


class Policy(ABC):
    """A link scoring policy for one site of one crawl.

    Class attributes: `name` (file name, oneof field of the contract), `Params`, `needs_learning` (scores come
    from a fallback until the site is learned), `reads_templates` (False: neither template clusters nor the
    navigation table are looked at), `baseline` (may lose against random in the conformance suite),
    `residual` (most that the score of a link differs from the value of its bucket), `per_url` (values move
    per URL as links arrive: exact order needs a heap on scores, and buckets are steps of the score),
    `needs_feedback` (learns from reported results only), `reads_layout` (pages should come with their
    `PageLayout`), `reads_logs` (browse logs of the site should be mined).

    A policy whose knowledge is not of one site makes it in its constructor and keeps it in `crawl_wide`; the
    engine puts the crawl's in its place before the first event, keeps it, and saves it once.

    Parameters
    ----------
    params
        An instance of the class's `Params`.
    seed
        Seed of the crawl; every random draw is a function of it, the event sequence and what is drawn for.
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

    crawl_wide: CrawlKnowledge | None = None

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

    def expect(self, link: LinkBatch, site: SiteModel) -> None:  # noqa: B027
        """Note what is expected of the link, one row, that the next `observe` will tell about.

        Called before the site takes the page in, so that expectations know nothing of the outcome. Not called
        for seeds and repeated fetches.
        """

    def site_value(self, site: SiteModel) -> float:
        """Return what a fetch from the site is worth, in [0, 1], whichever of its links is taken.

        As it is here: the value of a bucket nobody knows, for bandits over links the mean of the site, for
        others the same number for all sites. With a `site_bandit`: the probability of the best link.
        """
        return float(self.value([""], site)[0])

    def site_bandit(self) -> HostBandit | None:
        """Return the bandit that decides between sites, its arms `host_arm`, or None: always the best."""
        return None

    def observe(self, page: PageObservation, site: SiteModel) -> None:  # noqa: B027 - knowing nothing is fine
        """Learn from one fetch; `site` has taken the page in already."""

    def rescored(self, site: SiteModel) -> list[KnownUrl]:
        """Return the unfetched URLs, links of the page itself aside, whose score the last `observe` changed.

        At most `MAX_RESCORED`, best first; empty before the first page and after `load_state`. Policies that
        are not `per_url` name none.
        """
        return []

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        """Return the reward expected of fetching one more link of each group, (n_groups,) float64 in [0, 1].

        A group is a URL pattern, as links had it when they were first seen, and a folded Apath. None, the
        default: the policy estimates no rewards, and what the site's fetches brought so far stands for them.
        """
        return None

    def is_able(self, site: SiteModel, *, has_feedback: bool) -> bool:
        """Say whether scores are more than a fallback: site learned, feedback come, as far as needed."""
        return (has_feedback or not self.needs_feedback) and (
            site.templates is not None or not self.needs_learning
        )

    def model_activated(self, site: SiteModel) -> None:  # noqa: B027
        """Note that a new site model became active, or that the policy was just made for a learned site."""

    @classmethod
    def wants_logs(cls, params: Any) -> bool:
        """Say whether browse logs should be mined for the policy with these parameters."""
        return cls.reads_logs

    @classmethod
    def wants_layout(cls, params: Any) -> bool:
        """Say whether pages should come with their `PageLayout` for the policy with these parameters."""
        return cls.reads_layout

    def mining_settings(self) -> dict[str, Any]:
        """Return fields of `site.browse.mining.MiningSettings` as the parameters say; as it is here: none."""
        return {}

    def logs_mined(self, site: SiteModel) -> None:  # noqa: B027
        """Note that `site.browse` is new, or that the policy was just made for a site that has it."""

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return what the policy learned about URLs, most telling first; as it is here: nothing."""
        return []

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return up to `n` pages to start a crawl of the site from, best first; as it is here: none."""
        return []

    def suggest_fetches(self, n: int, site: SiteModel) -> list[Suggestion]:
        """Return up to `n` unfetched pages that would teach the policy most; it never waits for one."""
        return []

    def thread_of(self, page: PageObservation, site: SiteModel) -> str:
        """Return the URL of the first page of the thread that a page belongs to; empty if none is known."""
        return ""

    def page_type_of(self, page: PageObservation, site: SiteModel) -> int:
        """Return the type of a page, new or observed, see `site.url_rules`; 0 if not known. Only reads."""
        return 0

    def describe(self, site: SiteModel) -> str:
        """Say in one sentence what the policy goes by on the site, and why it abstains if it does."""
        return ""

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:  # noqa: B027
        """Take over all example pages of the site; called when the policy is made and when they change."""

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return up to `n` fetched pages to ask a user about, best first; as it is here: none. Only reads."""
        return []

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:  # noqa: B027
        """Learn from what extraction found."""

    @property
    def relearned(self) -> int:
        """How often the policy forgot what it knew of a part of the site because that part had changed."""
        return 0

    def policy_trust(self) -> list[PolicyTrust]:
        """Return the policies this one chooses from, and how far it trusts each; most choose from none."""
        return []

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
