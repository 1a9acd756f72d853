"""What a policy is: parameters, knowledge, scores.

A policy reads the site model, never changes it, and may keep knowledge of its own. `score` and `value` change
nothing, so they may be asked at any time; `observe` and `feedback` are called once per event, in the order of
the log.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState, FieldProblem, InvalidParams
from linkscore_scoring.learners.bandits.host_bandit import HostBandit
from linkscore_scoring.site.examples import ExamplePage, ExampleWanted
from linkscore_scoring.site.links import FeedbackObservation, LinkBatch, PageObservation
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.suggestion import Suggestion
from linkscore_scoring.site.url_rules import SeedWanted, UrlRule

Scores = NDArray[np.float64]
KnownUrl = tuple[int, str]
"""Identity hash of a URL, and the URL."""

NO_VERDICT, FOLLOW, SKIP = 0, 1, 2

SERVED, EXTRA, CANDIDATE = 1, 2, 3
"""What part a policy has on a site; numbers as in the wire contract."""

MAX_RESCORED = 1_000
"""Most URLs that `Policy.rescored` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Base of policy parameters: a frozen dataclass whose fields all have defaults."""

    def problems(self) -> Iterator[FieldProblem]:
        """Yield one problem for each field that is out of range."""
        return iter(())


@dataclass(slots=True)
class Scored:
    """Scores of a batch of links.

    Attributes
    ----------
    scores
        (n_links,) float64 in [0, 1], higher is better.
    buckets
        Bucket of each link, (n_links,): links of one bucket rise and fall together.
    verdicts
        `FOLLOW` or `SKIP` of each link, or None if the policy gives no advice.
    url_types
        Type of each link's URL, see `site.url_rules`, or None if the policy tells none.
    """

    scores: Scores
    buckets: list[str]
    verdicts: list[int] | None = None
    url_types: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """One number behind a score, with its meaning in words."""

    name: str
    value: float
    description: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a link has its score: one sentence and the numbers."""

    summary: str
    terms: list[Term]


@dataclass(frozen=True, slots=True)
class PolicyTrust:
    """How a policy did on the links of a site that were fetched.

    Attributes
    ----------
    policy
        Its name.
    role
        `SERVED`, `EXTRA` or `CANDIDATE`.
    trust
        Share of the trust of the policies it is compared with, in [0, 1].
    judged
        Links it was judged on, those forgotten since included.
    quality
        Agreement of its scores with rewards over the latest of these; see `concordance.quality`.
    reward
        Mean reward of the latest of these links, whoever chose them; for a candidate the reward expected of
        the next fetch under it.
    """

    policy: str
    role: int
    trust: float
    judged: int
    quality: float
    reward: float


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

    def is_able(self, site: SiteModel, *, told: bool) -> bool:
        """Say whether scores are more than a fallback: site learned, feedback come, as far as needed."""
        return (told or not self.needs_feedback) and (site.templates is not None or not self.needs_learning)

    def activated(self, site: SiteModel) -> None:  # noqa: B027
        """Note that a new site model became active, or that the policy was just made for a learned site."""

    @classmethod
    def wants_logs(cls, params: Any) -> bool:
        """Say whether browse logs should be mined for the policy with these parameters."""
        return cls.reads_logs

    @classmethod
    def wants_layout(cls, params: Any) -> bool:
        """Say whether pages should come with their `PageLayout` for the policy with these parameters."""
        return cls.reads_layout

    def mining(self) -> dict[str, Any]:
        """Return fields of `site.browse.mining.MiningSettings` as the parameters say; as it is here: none."""
        return {}

    def mined(self, site: SiteModel) -> None:  # noqa: B027
        """Note that `site.browse` is new, or that the policy was just made for a site that has it."""

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return what the policy learned about URLs, most telling first; as it is here: nothing."""
        return []

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return up to `n` pages to start a crawl of the site from, best first; as it is here: none."""
        return []

    def fetches_wanted(self, n: int, site: SiteModel) -> list[Suggestion]:
        """Return up to `n` unfetched pages that would teach the policy most; it never waits for one."""
        return []

    def thread_of(self, page: PageObservation, site: SiteModel) -> str:
        """Return the URL of the first page of the thread that a page belongs to; empty if none is known."""
        return ""

    def page_type_of(self, page: PageObservation, site: SiteModel) -> int:
        """Return the type of a page, new or observed, see `site.url_rules`; 0 if not known. Only reads."""
        return 0

    def state_of(self, site: SiteModel) -> str:
        """Say in one sentence what the policy goes by on the site, and why it abstains if it does."""
        return ""

    def exemplify(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:  # noqa: B027
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

    def trusted(self) -> list[PolicyTrust]:
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


def make_params(policy: type[Policy], values: dict[str, Any]) -> Params:
    """Return the parameters of a policy from a mapping of field to value; fields left out keep their default.

    Raises
    ------
    InvalidParams
        Naming every unknown field and every field out of range.
    """
    kinds = {f.name: type(f.default) for f in fields(policy.Params)}
    given, problems = {}, list[FieldProblem]()
    for name, value in values.items():
        try:
            given[name] = _typed(value, kinds[name])
        except KeyError:
            has = ", ".join(sorted(kinds)) or "none"
            problems.append(FieldProblem(name, f"{policy.name} has no such parameter (it has: {has})"))
        except ValueError as exc:
            problems.append(FieldProblem(name, str(exc)))
    params = policy.Params(**given)
    broken = list(params.problems())
    problems += [problem for problem in broken if problem.field in given] if problems else broken
    if problems:
        raise InvalidParams(problems)
    return params


_KINDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}


def _typed(value: Any, kind: type) -> Any:
    """Return a value as the kind of its field's default; numbers of a Struct are all floats.

    Raises
    ------
    ValueError
        If the value is of another kind.
    """
    if kind not in _KINDS or (type(value) is kind and kind in (bool, str)):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and (kind is float or (kind is int and value == int(value))):
        return kind(value)
    raise ValueError(f"must be {_KINDS[kind]}, got {value!r:.100}")


def outside(field: str, value: float, low: float, high: float) -> Iterator[FieldProblem]:
    """Yield a problem if `value` is not in [low, high]."""
    if not low <= value <= high:
        yield FieldProblem(field, f"must be in [{low:g}, {high:g}], got {value!r}")


def one_of(field: str, value: str, known: Iterable[str]) -> Iterator[FieldProblem]:
    """Yield a problem if `value` is not among the known names."""
    names = list(known)
    if value not in names:
        yield FieldProblem(field, f"must be one of {', '.join(names)}, got {value!r:.100}")
