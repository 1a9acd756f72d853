"""What a policy is: parameters, knowledge, scores.

A policy reads the site model, never changes it, and may keep knowledge of its own. `score` and `value` change
nothing, so they may be asked at any time; `observe` and `feedback` are called once per event, in the order of
the log. Whatever else a policy can do it says by overriding a method that has a neutral default.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import FieldProblem, InvalidParams, broken_fields
from linkscore_scoring.errors import among as among
from linkscore_scoring.errors import within as within
from linkscore_scoring.policies.answers import (
    NOTHING,
    CrawlKnowledge,
    Experience,
    FetchesInFlight,
    PageNote,
    SiteBandit,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful
from linkscore_scoring.types import (
    ExamplePage,
    ExampleWanted,
    FeedbackObservation,
    LinkBatch,
    PageObservation,
    SeedWanted,
    SiteWarning,
    UrlRule,
)
from linkscore_scoring.wanted import Wanted

Scores = NDArray[np.float64]
"""(n,), in [0, 1]."""

NO_VERDICT, FOLLOW, SKIP = 0, 1, 2
"""Advice on a link; numbers as in the wire contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Base of policy parameters: a frozen dataclass whose fields all have defaults, and most a range."""

    def problems(self) -> Iterator[FieldProblem]:
        """Yield one problem for each field that is out of range."""
        return broken_fields(self)


@dataclass(slots=True)
class Scored:
    """Scores of a batch of links."""

    scores: Scores  # (n_links,) float64 in [0, 1], higher is better
    # (n_links,): links of one bucket rise and fall together. A list, or `Repeated`, which saves who has few
    # buckets naming each link's
    buckets: Sequence[str]
    verdicts: list[int] | None = None  # `FOLLOW` or `SKIP` of each link; None: no advice
    url_types: list[int] | None = None  # see `types.INDEX`; None: the policy tells none
    skip_reasons: list[int] | None = None  # a `SkipReason` of the wire contract each, 0: not to skip


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


class Policy(Stateful, ABC):
    """A link scoring policy for one site of one crawl.

    A new policy defines `name`, `score`, `value` and `explain`, and whatever it learns in `observe` and
    `feedback` it declares as `Stored`, see `state`. What else it can do it says by methods with a default.

    `params` is an instance of the class's `Params`, `seed` that of the crawl: every random draw is a function
    of it, the event sequence and what is drawn for.

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
    >>> from linkscore_scoring.site.learning import LearningConfig, SiteBounds
    >>> site = SiteModel("a.org", LearningConfig(), SiteBounds())
    >>> ShortUrls(Params()).value(["9", "19"], site).tolist()
    [0.1, 0.05]
    """

    name: ClassVar[str]  # of its line in the registry, and of its field in the contract
    Params: ClassVar[type[Params]] = Params  # class of its parameters
    baseline: ClassVar[bool] = False  # it may lose against random order in the conformance suite
    # Values move per URL as links arrive: buckets are steps of the score, and exact order needs a heap of
    # scores that are asked for again.
    per_url: ClassVar[bool] = False
    residual: float = 0.0  # most that the score of a link differs from the value of its bucket, in [0, 1]
    needs_feedback: bool = False  # it learns from reported results only
    reads_templates: bool = True  # False: neither template clusters nor the navigation table are looked at
    reads_layout: bool = False  # pages should come with the signals of their layout, and their page links
    reads_words: bool = False  # pages should come with `PageWords` if the crawl says what is wanted in words
    reads_logs: bool = False  # browse logs of the site should be mined
    takes_wanted: bool = False  # it goes by what the crawl says it wants in words, see `set_wanted`
    # What it knows of all sites of a crawl together, made in its constructor: the engine puts the crawl's in
    # its place before the first event, keeps it, and saves it once.
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

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Learn from one fetch; `site` has taken the page in already."""

    def feedback(self, event: FeedbackObservation, site: SiteModel) -> None:
        """Learn from what extraction found."""

    def model_activated(self, site: SiteModel) -> None:
        """Note that a new site model became active, or that the policy was just made for a learned site."""

    def logs_mined(self, site: SiteModel) -> None:
        """Note that `site.browse` is new, or that the policy was just made for a site that has it."""

    def expected_rewards(self, groups: Sequence[tuple[int, int]], site: SiteModel) -> Scores | None:
        """Return the reward expected of one more link of each group, (n_groups,) float64 in [0, 1].

        A group is a URL pattern, as links had it when they were first seen, and a folded link path. None:
        what the site's fetches brought so far stands for it.
        """
        return None

    def latest_rewards(self, n: int, site: SiteModel) -> Scores | None:
        """Return rewards of up to `n` latest fetches, as of `expected_rewards`; None: the site's history."""
        return None

    def warnings(self, expected: float, site: SiteModel) -> Iterable[SiteWarning]:
        """Return what goes wrong and what a user can do about it, worst first. Only reads.

        `expected`: mean reward of the best waiting links, as many as 100 fetches take, by `expected_rewards`.
        """
        return []

    def in_flight(self, site: SiteModel) -> FetchesInFlight | None:
        """Return what fetches under way will be counted in; None: they make no difference now."""
        return None

    def site_value(self, site: SiteModel) -> float:
        """Return what a fetch from the site is worth, in [0, 1]; with a `site_bandit`, what that goes by.

        By default the value of a bucket nobody knows, which is the mean of the site for bandits over links.
        """
        return float(self.value([""], site)[0])

    def site_bandit(self) -> SiteBandit | None:
        """Return the bandit that decides between sites, or None: always the best."""
        return None

    def set_examples(self, examples: Sequence[ExamplePage], site: SiteModel) -> None:
        """Take over all example pages of the site; called when the policy is made and when they change."""

    def suggest_examples(self, n: int, site: SiteModel) -> list[ExampleWanted]:
        """Return up to `n` fetched pages to ask a user about, best first. Only reads."""
        return []

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return up to `n` pages to start a crawl of the site from, best first."""
        return []

    def set_experience(self, experiences: Sequence[Experience], site: SiteModel) -> None:
        """Start from what was learned elsewhere; called once, when the policy is made."""

    def experience(self, site: SiteModel) -> Experience | None:
        """Return what was learned on this site, without what it started from. Only reads."""
        return None

    def set_wanted(self, wanted: Wanted | None, site: SiteModel) -> None:
        """Crawl for this from now on, None: nothing is said; the same as before changes nothing."""

    def page_note(self, page: PageObservation, site: SiteModel) -> PageNote:
        """Return what is known of a page, new or observed. Only reads."""
        return NOTHING

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return what the policy learned about URLs, most telling first."""
        return []

    def describe(self, site: SiteModel) -> str:
        """Say in one sentence what the policy goes by on the site, and why it abstains if it does."""
        return ""

    def load_libraries(self) -> None:
        """Import what the policy would import while it learns; it may take seconds."""


def sampling_reason(key: int, depth: int, site: SiteModel) -> Explanation:
    """Say why a link of a site that is not learned yet has its score."""
    return Explanation(
        f"{site.name} is {site.stage.name}: sampling plan first, then breadth-first",
        [
            Term("planned", float(site.plan.is_drawn(key)), "1 if the sampling plan has it, else 0"),
            Term("depth", depth, "clicks from a seed"),
        ],
    )


def make_params(policy: type[Policy], values: dict[str, Any]) -> Params:
    """Return the parameters of a policy from a mapping of field to value; fields left out keep their default.

    Raises InvalidParams, naming every unknown field and every field out of range.
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
    """Return a value as the kind of its field's default, or raise ValueError; a Struct has floats alone."""
    if kind not in _KINDS or (type(value) is kind and kind in (bool, str)):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and (kind is float or (kind is int and value == int(value))):
        return kind(value)
    raise ValueError(f"must be {_KINDS[kind]}, got {value!r:.100}")
