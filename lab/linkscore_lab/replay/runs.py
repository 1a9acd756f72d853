"""Runs of a replay: what a site is crawled for, which crawls a comparison has, and each one carried out."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from linkscore_cli.crawls import json_or_text, split_policy
from linkscore_lab.datasets.site import WANTED_REWARD, ByType, PageFacts, Relevance
from linkscore_lab.metrics import harvest_curve, run_metrics
from linkscore_lab.replay.crawl import CrawlPlan, FeedbackPlan, Fetching, Trace, crawl
from linkscore_lab.replay.in_process import (
    GREEDY,
    ORACLES,
    CrawlScorer,
    GreedyOracle,
    InProcessScorer,
)
from linkscore_lab.replay.prepare import StoredSite
from linkscore_lab.replay.results import RunResult, order_digest
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.errors import InvalidInput, InvalidParams, LinkscoreError
from linkscore_scoring.features.html import extract
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import make_params
from linkscore_scoring.policies.registry import all_policies, policy_class, register_installed
from linkscore_scoring.site.learning import LearningConfig
from linkscore_scoring.site.texts import TextOwners, text_reward
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.wanted import Wanted

USER_CONTENT = "user_content"
NEW_TEXT = "new_text"
"""The task of a site nothing is said about: pages with text of their own."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task on one site."""

    name: str  # ``user_content``, ``new_text`` or ``target:TYPE``
    # Reachable wanted pages by identity, each with its page type (empty if it has none)
    wanted: Mapping[str, str]
    # Reward in [0, 1] of every page something is known of, by identity: what extraction would report
    rewards: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_target(self) -> bool:
        """Whether one type is looked for, with a budget of as many fetches as it has pages."""
        return self.name not in (USER_CONTENT, NEW_TEXT)

    def budget(self, text: str, n_reachable: int) -> int:
        """Return a number of fetches: that of the wanted pages for a target, else a share or a number."""
        return len(self.wanted) if self.is_target else read_budget(text, n_reachable)


def read_budget(text: str, n_reachable: int) -> int:
    """Return a number of fetches, at least one, from ``"25%"`` of the reachable pages or ``"1000"``."""
    number, share = text.removesuffix("%").strip(), text.endswith("%")
    try:
        budget = int(n_reachable * float(number) / 100) or float(number) > 0 if share else int(number)
    except (ValueError, OverflowError):
        budget = 0
    if budget < 1:
        rule = f"must be a share like 25% or a number of pages, at least one, got {text!r}"
        raise InvalidInput(rule, field="budget")
    return budget


def draw_examples(site: StoredSite, task: Task, k: int, seed: int, pages: Sequence[int]) -> list[int]:
    """Return `k` example pages of each wanted type, drawn by seed from those that copy no other page."""
    by_type: dict[str, list[int]] = {}
    seen: set[str] = set()
    for number in pages:
        record = site.records[number]
        first = record.facts.content not in seen
        seen.add(record.facts.content)
        if first and record.key in task.wanted:
            by_type.setdefault(task.wanted[record.key], []).append(number)
    rng = random.Random(f"{site.name} {task.name} {seed}")
    return [n for _, numbers in sorted(by_type.items()) for n in rng.sample(numbers, min(k, len(numbers)))]


def draw_starts(site: StoredSite, pages: Sequence[int], n: int) -> list[str]:
    """Return the entry and `n` - 1 further start pages drawn at random from the reachable ones."""
    entry = site.entries[0]
    others = [site.records[number].key for number in pages if site.records[number].key != entry]
    rng = random.Random(f"{site.name} starts 0")
    return [entry, *rng.sample(others, min(max(0, n - 1), len(others)))]


def page_rewards(site: StoredSite, relevance: Relevance) -> dict[str, float]:
    """Return the reward of each page by identity; of several records of a page the first one's."""
    pages = (record for record in reversed(site.records) if record.is_page)
    return {page.key: relevance.reward(page.url, site.types.get(page.key, "")) for page in pages}


def new_text_rewards(site: StoredSite) -> dict[str, float]:
    """Return what the text of its own makes each reachable page worth, by identity: a policy without labels.

    Text that several pages show belongs to the one that is its source, as `TextOwners` decides over all
    pages in breadth-first order; `text_reward` turns characters into a reward, 0.5 at `HALF_CHARS`.

    Cost: a decoding a page.
    """
    owners, own = TextOwners(), dict.fromkeys((hash64(record.key) for record in site.records), 0)
    reachable = site.reachable()
    for number in reachable:
        event = site.event(number)
        if event is None or event.features is None:
            continue
        features, page = event.features, hash64(site.records[number].key)
        identity = hash64(features.canonical_key or features.key)
        change = owners.see(page, identity, features.block_hashes, features.block_chars)
        own[page] += change.own_chars
        for loser, chars in change.lost.items():
            own[loser] -= chars
    keys = [site.records[number].key for number in reachable]
    return {key: text_reward(own[hash64(key)]) for key in keys}


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy with the parameters that differ from their defaults, and how it was written."""

    text: str
    name: str
    params: Mapping[str, Any]


def read_policy(text: str) -> PolicyText:
    """Return a policy from ``NAME[:param=value,...]``; values are JSON, or else text.

    Raises InvalidInput if there is no such policy, and for parameters that it does not take.
    """
    try:
        name, params = split_policy(text)
    except ValueError as exc:
        raise InvalidInput(str(exc), field="policy") from exc
    given = {key: json_or_text(value) for key, value in params.items()}
    if name in ORACLES and given:
        raise InvalidInput(f"{name} has no parameters", field="policy")
    if name not in ORACLES:
        try:
            kind = policy_class(name)
        except LinkscoreError as exc:
            known = ", ".join(sorted([*all_policies(), *ORACLES]))
            raise InvalidInput(f"must be one of {known}, got {name!r}", field="policy") from exc
        draws_example = "example_html" in kind.Params.__slots__ and "example_url" not in given
        make_params(kind, {"example_html": "<p>"} | given if draws_example else given)
    return PolicyText(text, name, given)


def reads_layout(policy: PolicyText) -> bool:
    """Say whether a policy needs pages with their layout; one that each task completes does not."""
    if policy.name in ORACLES:
        return False
    try:
        return PolicyChoice(policy.name, policy.params).has("reads_layout")
    except InvalidParams:
        return policy_class(policy.name).reads_layout


NONE, EXAMPLES, FEEDBACK = MODES = ("none", "examples", "feedback")

MakeScorer = Callable[[CrawlConfig], CrawlScorer]


@dataclass(frozen=True, slots=True)
class ReplayProtocol(Fetching):
    """How crawls are carried out and charged; how pages are fetched says `Fetching`."""

    budget: str = "25%"  # Of the user-content task: ``"25%"`` of the reachable pages or a number
    n_examples: int = 3  # Example pages per type in mode ``examples``
    delay: int = 0  # Fetches by which feedback comes late
    clusterer: str = ""  # How sites are learned; empty means the library's default
    paper: bool = False
    wanted: str = ""  # What policies which go by words are told: a query
    experience: tuple[bytes, ...] = ()  # Documents learned elsewhere, `Experience.to_bytes`
    # Settings that forbid links, by their field of `Crawl`: ``{"budget": {"max_trap_share": .05}}``
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_words(self) -> Wanted | None:
        """What is wanted in words; None if nothing is."""
        return Wanted((self.wanted,)) if self.wanted else None


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
    make_scorer: MakeScorer = InProcessScorer  # What orders them: the library here, or a server
    carry_out: Callable[[StoredSite, CrawlPlan, CrawlScorer], Trace] = crawl  # What crawls
    pages: list[int] = field(default_factory=list)
    facts: dict[str, PageFacts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pages = self.site.reachable()
        self.facts = {self.site.records[n].key: self.site.records[n].facts for n in self.pages}

    def task(self, name: str, rewards: Mapping[str, float]) -> Task:
        """Return the task to find the reachable pages that are relevant."""
        types = self.site.types
        wanted = {key: types.get(key, "") for key in self.facts if rewards.get(key, 0.0) >= WANTED_REWARD}
        return Task(name, wanted, rewards)

    def target(self, page_type: str) -> Task:
        """Return the task to find the pages of one type."""
        return self.task(f"target:{page_type}", page_rewards(self.site, ByType([page_type])))

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
        trace = self.carry_out(self.site, self._plan(case, budget, free), scorer)
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
        if examples and _takes_example(case.policy) and not _example_given(case.policy):
            params["example_html"] = self.site.body(examples[0]).decode(errors="replace")
        p = self.protocol
        learning = LearningConfig(paper=p.paper)
        if p.clusterer:
            register_installed()  # research brings clusterers along with its policies
            learning = replace(learning, clusterer=p.clusterer)
        config = CrawlConfig(
            "replay",
            PolicyChoice(case.policy.name, params),
            learning=learning,
            examples=tuple(map(self._given, examples)) if case.mode == EXAMPLES else (),
            seed=case.seed,
            wanted=wanted_by(case.policy, p.in_words),
            experience=tuple(p.experience),
            limits=p.limits,
        )
        return self.make_scorer(config)

    def _given(self, number: int) -> ExamplePage:
        record = self.site.records[number]
        page = extract(self.site.body(number), url=record.url, content_type=record.content_type)
        return ExamplePage(record.url, page.key, self.site.types.get(record.key, ""), page.paths)

    def _plan(self, case: Case, budget: int, free: set[str]) -> CrawlPlan:
        p = self.protocol
        feedback = None
        if case.mode == FEEDBACK:
            feedback = FeedbackPlan(case.task.rewards.get, p.delay)
        starts = [case.start] if case.start else self.site.entries
        how = {each.name: getattr(p, each.name) for each in fields(Fetching)}
        return CrawlPlan(starts, budget, frozenset(free), feedback, **how)

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
            metrics=run_metrics(order, self.facts, wanted.keys(), types),
            curve=harvest_curve(order, wanted),
            n_reachable=len(self.pages),
            n_wanted=len(wanted),
            links_out_of_archive=trace.outside,
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
    for task, policy, mode, start, seed in product(tasks, policies, modes, starts, seeds):
        yield Case(task, mode, policy, seed, start)


def wanted_by(policy: PolicyText, wanted: Wanted | None) -> Wanted | None:
    """Return what a policy is told of what is wanted: nothing if it does not go by words."""
    goes = wanted is not None and PolicyChoice(policy.name, policy.params).has("takes_wanted")
    return wanted if goes else None


def _takes_example(policy: PolicyText) -> bool:
    if policy.name in ORACLES:
        return False
    return any(f.name == "example_html" for f in fields(policy_class(policy.name).Params))


def _example_given(policy: PolicyText) -> bool:
    return any(name in policy.params for name in ("example_html", "example_url"))
