"""Runs of a replay: which crawls a comparison consists of, and each one carried out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from linkscore_lab.datasets.site import PageFacts
from linkscore_lab.metrics import composition, harvest_curve, run_metrics
from linkscore_lab.replay.crawl import CrawlPlan, FeedbackPlan, Trace, crawl
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import PolicyText
from linkscore_lab.replay.results import RunResult, order_digest
from linkscore_lab.replay.scorer import (
    GREEDY,
    ORACLES,
    CrawlScorer,
    CrawlSetup,
    GivenExample,
    GreedyOracle,
)
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import Task, draw_examples
from linkscore_scoring.policies.base import any_part, make_params
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.wanted import Wanted, WantedQuery

NONE, EXAMPLES, FEEDBACK = MODES = ("none", "examples", "feedback")

_PAGE_TYPES = "page_types"

MakeScorer = Callable[[CrawlSetup], CrawlScorer]


@dataclass(frozen=True, slots=True)
class ReplayProtocol:
    """How crawls are carried out and charged.

    Attributes
    ----------
    budget
        Of the user-content task: ``"25%"`` of the reachable pages or a number.
    n_examples
        Example pages per type in mode ``examples``.
    delay, share
        Of feedback: fetches late, and share of the pages reported.
    every
        Fetches between two questions for the order of the buckets.
    clusterer, paper
        How sites are learned; empty means the library's default.
    free_sampling
        Charge nothing until the site is learned, for policies that need that (the protocol of Xu 2018).
    leave_site_out
        Policies with a parameter `page_types` use the model that was trained without the site, unless their
        own parameters say otherwise. Of a site no model was trained with the whole one is without it.
    wanted, languages
        What policies which go by words are told: a query, and languages. See `Wanted`.
    experience
        What crawls start from: documents learned elsewhere, `Experience.to_bytes`.
    limits
        Settings that forbid links, by the name of their field of `Crawl`: ``{"budget": {"max_trap_share":
        .05}}``.
    obey_verdicts, obey_requests, in_flight, latency_spread
        See `CrawlPlan`.
    """

    budget: str = "25%"
    n_examples: int = 3
    delay: int = 0
    share: float = 1.0
    every: int = 1
    clusterer: str = ""
    paper: bool = False
    free_sampling: bool = False
    leave_site_out: bool = False
    obey_verdicts: bool = False
    obey_requests: bool = False
    in_flight: int = 1
    latency_spread: float = 0.0
    wanted: str = ""
    languages: tuple[str, ...] = ()
    experience: tuple[bytes, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_words(self) -> Wanted | None:
        """What is wanted in words; None if nothing is."""
        if not (self.wanted or self.languages):
            return None
        queries = (WantedQuery(self.wanted),) if self.wanted else ()
        return Wanted(queries, languages=tuple(self.languages))


@dataclass(frozen=True, slots=True)
class Case:
    """One crawl of a comparison."""

    task: Task
    mode: str
    policy: PolicyText
    seed: int
    start: str = ""


@dataclass(slots=True)
class Experiment:
    """A site with everything its runs share."""

    site: StoredSite  # The stored site
    protocol: ReplayProtocol = field(default_factory=ReplayProtocol)  # How crawls are carried out
    # Kind (ENTRY, INDEX, THREAD, OTHER) of each page type, where known
    kinds: Mapping[str, str] = field(default_factory=dict)
    make_scorer: MakeScorer = InProcessScorer  # What orders them: the library here, or a server
    pages: list[int] = field(default_factory=list)
    facts: dict[str, PageFacts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pages = self.site.reachable()
        self.facts = {self.site.records[n].key: self.site.records[n].facts for n in self.pages}

    def applies(self, case: Case) -> bool:
        """Say whether a crawl makes sense: a policy that wants an example needs a mode or a task with one."""
        needs = _takes_example(case.policy) and not _example_given(case.policy)
        return not needs or case.task.is_target or case.mode == EXAMPLES

    def budget(self, case: Case) -> int:
        """Return the fetches a crawl may make."""
        return case.task.budget(self.protocol.budget, len(self.pages))

    def run(self, case: Case) -> RunResult:
        """Carry out one crawl."""
        started, cpu = time.perf_counter(), time.process_time()
        examples = self._examples(case)
        free = {self.site.records[n].key for n in examples}
        wanted = {key: kind for key, kind in case.task.wanted.items() if key not in free}
        budget = self.budget(case)
        scorer = self._scorer(case, examples, wanted)
        trace = crawl(self.site, self._plan(case, budget, free), scorer)
        spent = (time.perf_counter() - started, time.process_time() - cpu)
        n_examples = len(examples) or int(_example_given(case.policy))
        return self.result(case, budget, wanted, trace, spent, n_examples)

    def _examples(self, case: Case) -> list[int]:
        if case.mode == EXAMPLES:
            return draw_examples(self.site, case.task, self.protocol.n_examples, case.seed, self.pages)
        if case.task.is_target and _takes_example(case.policy) and not _example_given(case.policy):
            return draw_examples(self.site, case.task, 1, case.seed, self.pages)
        return []

    def _scorer(self, case: Case, examples: Sequence[int], wanted: Mapping[str, str]) -> CrawlScorer:
        if case.policy.name == GREEDY:
            return GreedyOracle(self.site, wanted)
        params = dict(case.policy.params)
        if self.protocol.leave_site_out and _has_param(case.policy, _PAGE_TYPES):
            from linkscore_scoring.policies.focus.page_types import variants  # an annex

            if self.site.name in variants():
                params.setdefault(_PAGE_TYPES, self.site.name)
        if examples and _takes_example(case.policy) and not _example_given(case.policy):
            params["example_html"] = self.site.body(examples[0]).decode(errors="replace")
        p = self.protocol
        given = [self._given(number) for number in examples] if case.mode == EXAMPLES else []
        words = wanted_by(case.policy, p.in_words)
        return self.make_scorer(
            CrawlSetup(
                case.policy.name,
                params,
                case.seed,
                p.clusterer,
                p.paper,
                given,
                words,
                p.experience,
                p.limits,
            )
        )

    def _given(self, number: int) -> GivenExample:
        record = self.site.records[number]
        page_type = self.site.types.get(record.key, "")
        return GivenExample(record.url, self.site.body(number), record.content_type, page_type)

    def _plan(self, case: Case, budget: int, free: set[str]) -> CrawlPlan:
        p = self.protocol
        feedback = None
        if case.mode == FEEDBACK:
            feedback = FeedbackPlan(case.task.rewards.get, p.delay, p.share, case.seed)
        starts = [case.start] if case.start else self.site.entries
        free_sampling = p.free_sampling and _needs_learning(case.policy)
        return CrawlPlan(
            starts,
            budget,
            frozenset(free),
            feedback,
            p.every,
            free_sampling,
            p.obey_verdicts,
            p.obey_requests,
            p.in_flight,
            p.latency_spread,
            case.seed,
        )

    def result(
        self,
        case: Case,
        budget: int,
        wanted: Mapping[str, str],
        trace: Trace,
        spent: tuple[float, float],
        n_examples: int,
    ) -> RunResult:
        """Return the row of a crawl; `spent`: seconds, and those of the processor."""
        order, types = trace.order, self.site.types
        return RunResult(
            site=self.site.name,
            task=case.task.name,
            mode=case.mode,
            policy=case.policy.text,
            seed=case.seed,
            start=case.start or self.site.entries[0],
            budget=budget,
            fetched=len(order),
            seconds=spent[0],
            cpu_seconds=spent[1],
            metrics=run_metrics(order, self.facts, wanted.keys(), types, self.kinds),
            curve=harvest_curve(order, wanted),
            n_reachable=len(self.pages),
            n_wanted=len(wanted),
            links_out_of_archive=trace.outside,
            composition=composition(order, types),
            wanted_types=sorted(filter(None, set(wanted.values()))),
            explanations=trace.reasons,
            order_digest=order_digest(order),
            n_examples=n_examples,
            in_flight=self.protocol.in_flight,
            took=trace.took,
            stopped=trace.stopped,
        )


def cases(
    tasks: Sequence[Task],
    modes: Sequence[str],
    policies: Sequence[PolicyText],
    seeds: Sequence[int],
    starts: Sequence[str] = ("",),
) -> Iterator[Case]:
    """Yield every crawl of a comparison, by task, policy, mode, start and seed."""
    for task in tasks:
        for policy in policies:
            for mode in modes:
                for start in starts:
                    for seed in seeds:
                        yield Case(task, mode, policy, seed, start)


def wanted_by(policy: PolicyText, wanted: Wanted | None) -> Wanted | None:
    """Return what a policy is told of what is wanted: nothing if it does not go by words."""
    kind = policy_class(policy.name)
    if wanted is None or not any_part(kind, make_params(kind, dict(policy.params)), "takes_wanted"):
        return None
    return wanted


def _needs_learning(policy: PolicyText) -> bool:
    return policy.name not in ORACLES and policy_class(policy.name).needs_learning


def _takes_example(policy: PolicyText) -> bool:
    return _has_param(policy, "example_html")


def _has_param(policy: PolicyText, name: str) -> bool:
    if policy.name in ORACLES:
        return False
    return any(f.name == name for f in fields(policy_class(policy.name).Params))


def _example_given(policy: PolicyText) -> bool:
    return any(name in policy.params for name in ("example_html", "example_url"))
