"""Crawl a stored site again: the loop of every crawler, with the archive as the web."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from linkscore_lab.replay.frontier import BucketFrontier, Frontier, ScoreFrontier, VerdictFrontier, Waiting
from linkscore_lab.replay.results import ScoreExplanation
from linkscore_lab.replay.scorer import CrawlScorer, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite

# Fetches explained, spread over a crawl. Chosen, not measured.
_SAMPLES = 12


@dataclass(frozen=True, slots=True)
class FeedbackPlan:
    """How labels come back to the crawl."""

    # Reward in [0, 1] of a record by its identity; what is not there is never reported
    rewards: Callable[[str], float | None]
    delay: int = 0  # Fetches between a page and its report, 0 is right after
    share: float = 1.0  # Share of the pages that are reported, (0, 1]; drawn by `seed`
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """How pages are fetched, and what a fetch is charged."""

    every: int = 1  # Fetches between two questions for the order of the buckets
    free_sampling: bool = False  # Charge nothing before the site is learned (the protocol of Xu 2018)
    # Ask about each link again before it is fetched, and leave it while the policy says to skip it; else a
    # link is dropped for good if it is to skip when it is found, and fetched if it was not
    obey_verdicts: bool = False
    obey_requests: bool = False  # Fetch what the model would like fetched before anything else
    # Fetches under way at a time, >= 1: a page is chosen while the answers of that many less one are out
    in_flight: int = 1
    # How much fetches differ in what they take, >= 0: sigma of a log-normal of median 1. At 0 all take the
    # same, and answers come in the order of the fetches
    latency_spread: float = 0.0


@dataclass(frozen=True, slots=True)
class CrawlPlan(Fetching):
    """One crawl of a stored site."""

    starts: Sequence[str]  # Identities the crawl begins with
    budget: int  # Fetches that are charged
    free: Collection[str] = ()  # Identities that are neither charged nor counted when they are fetched
    feedback: FeedbackPlan | None = None
    seed: int = 0  # Of the latencies


@dataclass(slots=True)
class Trace:
    """What a crawl did."""

    # Identities of the charged fetches, in the order they ended
    order: list[str] = field(default_factory=list)
    outside: int = 0  # Distinct links that lead out of the archive
    skipped: int = 0  # Links the policy said not to follow, repetitions counted
    # Why some fetches were made, spread evenly over the crawl
    reasons: list[ScoreExplanation] = field(default_factory=list)
    # Time from the first fetch to the end of the last, in latencies of a median fetch: places that stayed
    # empty make it longer
    took: float = 0.0
    stopped: str = ""  # Why the crawl ended by its budget; empty if it did not


def crawl(site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> Trace:
    """Crawl until the budget is spent or nothing waits; deterministic in site, plan and scorer."""
    return _Crawl(site, plan, scorer).run()


class _Crawl:
    """A crawl under way."""

    def __init__(self, site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> None:
        self.site, self.plan, self.scorer = site, plan, scorer
        inner = ScoreFrontier() if scorer.per_url else BucketFrontier(scorer.plan, every=plan.every)
        obeys = plan.obey_verdicts or plan.obey_requests
        self.frontier: Frontier = VerdictFrontier(inner, scorer, ask=plan.obey_verdicts) if obeys else inner
        self._requests: list[Waiting] = []
        self.trace = Trace()
        self._outside: set[str] = set()
        self._done: set[int] = set()
        self._late: deque[tuple[int, int]] = deque()
        self._rng = random.Random(plan.feedback.seed if plan.feedback else 0)
        self._latencies = random.Random(plan.seed)
        self._under_way: list[tuple[float, int, Waiting]] = []  # (when it ends, how many began before, what)
        self._begun = 0
        self._visits = 0
        self._learned = not plan.free_sampling

    def run(self) -> Trace:
        """Crawl to the end: fill every place, wait for the fetch that ends first, learn from it."""
        waiting = deque(self._starts())
        while True:
            while self._has_place() and (link := waiting.popleft() if waiting else self._next()):
                self._explain(link)
                self._begin(link)
            if not self._under_way:
                break
            self.trace.took, _, link = heapq.heappop(self._under_way)
            self._end(link)
        self.trace.outside = len(self._outside)
        return self.trace

    def _has_place(self) -> bool:
        """Say whether another fetch may begin; those under way count as charged until they end."""
        under_way = len(self._under_way)
        is_open = not self.trace.stopped and len(self.trace.order) + under_way < self.plan.budget
        return is_open and under_way < self.plan.in_flight

    def _next(self) -> Waiting | None:
        """Return what the model asked for, if the crawl obeys, else the best link."""
        if isinstance(self.frontier, VerdictFrontier):
            for asked in self._requests:
                if asked.number not in self._done:
                    return self.frontier.request(asked)
        return self.frontier.pop()

    def _starts(self) -> list[Waiting]:
        starts = []
        for key in dict.fromkeys(self.plan.starts):
            number = self.site.number(key)
            if number >= 0:
                self.frontier.taken(number)
                self._done.add(number)
                starts.append(Waiting(number, key, b""))
        return starts

    def _begin(self, link: Waiting) -> None:
        self._done.add(link.number)
        spread = self.plan.latency_spread
        takes = math.exp(spread * self._latencies.gauss()) if spread else 1.0
        heapq.heappush(self._under_way, (self.trace.took + takes, self._begun, link))
        self._begun += 1
        for number, score in self.scorer.begins(self.site, link.number):
            self.frontier.rescore(number, score)

    def _end(self, link: Waiting) -> None:
        self.frontier.ended(link.number)
        key = self.site.records[link.number].key
        if self._learned and key not in self.plan.free:
            self.trace.order.append(key)
        answer = self.scorer.visit(self.site, ReplayVisit(self._visits, link.key, link.number, link.ticket))
        self._visits += 1
        self._learned = self._learned or answer.learned
        self.trace.stopped = answer.stopped
        self._offer(answer)
        self._report(link.number)

    def _offer(self, answer: PageScores) -> None:
        skip, ends, done = answer.skip, self.site.ends, self._done
        for row, key in enumerate(answer.keys):
            number = ends.get(key, -1)
            if number < 0:
                if key:
                    self._outside.add(key)
            elif skip and skip[row] and not self.plan.obey_verdicts:
                self.trace.skipped += 1
            elif number not in done:
                ticket = answer.ticket_values[answer.tickets[row]]
                bucket = answer.bucket_names[answer.buckets[row]]
                self.frontier.offer(Waiting(number, key, ticket), bucket, answer.scores[row])
        if self.plan.obey_requests:
            wanted = [(ends.get(key, -1), key) for key in answer.wanted]
            self._requests = [Waiting(number, key, b"") for number, key in wanted if number >= 0]
        for key, score in zip(answer.rescored_keys, answer.rescored_scores, strict=True):
            self.frontier.rescore(self.site.number(key), score)

    def _report(self, number: int) -> None:
        plan = self.plan.feedback
        if plan is None:
            return
        if plan.share >= 1.0 or self._rng.random() < plan.share:
            self._late.append((self._visits + plan.delay, number))
        while self._late and self._late[0][0] <= self._visits:
            record = self.site.records[self._late.popleft()[1]]
            reward = plan.rewards(record.key)
            if reward is not None:
                self.scorer.feedback(record.key, record.url, reward)

    def _explain(self, link: Waiting) -> None:
        step = max(1, self.plan.budget // _SAMPLES)
        if link.ticket and self._begun % step == step // 2:
            reason = self.scorer.explain(self.site.records[link.number].url, link.key, link.ticket)
            if reason is not None:
                self.trace.reasons.append(reason)
