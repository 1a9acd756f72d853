"""Crawl a stored site again: the loop of every crawler, with the archive as the web."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from linkscore_lab.replay.frontier import BucketFrontier, Frontier, ScoreFrontier, Waiting
from linkscore_lab.replay.scorer import CrawlScorer, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite


@dataclass(frozen=True, slots=True)
class FeedbackPlan:
    """How labels come back to the crawl."""

    # Reward in [0, 1] of a record by its identity; what is not there is never reported
    rewards: Callable[[str], float | None]
    delay: int = 0  # Fetches between a page and its report, 0 is right after


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """How pages are fetched."""

    every: int = 1  # Fetches between two questions for the order of the buckets
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
    # Time from the first fetch to the end of the last, in latencies of a median fetch: places that stayed
    # empty make it longer
    took: float = 0.0
    stopped: str = ""  # Why the crawl ended by its budget; empty if it did not


def crawl(site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> Trace:
    """Crawl until the budget is spent or nothing waits; deterministic in site, plan and scorer."""
    return StoredCrawl(site, plan, scorer).run()


class StoredCrawl:
    """A crawl of a stored site under way; a link that is to skip when it is found is dropped for good."""

    def __init__(self, site: StoredSite, plan: CrawlPlan, scorer: CrawlScorer) -> None:
        self.site, self.plan, self.scorer = site, plan, scorer
        per_bucket = partial(BucketFrontier, scorer.plan, every=plan.every)
        self.frontier: Frontier = ScoreFrontier() if scorer.per_url else per_bucket()
        self.trace = Trace()
        self.done: set[int] = set()  # Records whose fetch began
        self._outside: set[str] = set()
        self._late: deque[tuple[int, int]] = deque()
        self._latencies = random.Random(plan.seed)
        self._under_way: list[tuple[float, int, Waiting]] = []  # (when it ends, how many began before, what)
        self._begun = 0
        self._visits = 0

    def run(self) -> Trace:
        """Crawl to the end: fill every place, wait for the fetch that ends first, learn from it."""
        waiting = deque(self._starts())
        while True:
            while self._has_place() and (link := waiting.popleft() if waiting else self.next()):
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

    def next(self) -> Waiting | None:
        """Return the link to fetch next, None if nothing waits."""
        return self.frontier.pop()

    def _starts(self) -> list[Waiting]:
        starts = []
        for key in dict.fromkeys(self.plan.starts):
            number = self.site.number(key)
            if number >= 0:
                self.frontier.taken(number)
                self.done.add(number)
                starts.append(Waiting(number, key, b""))
        return starts

    def _begin(self, link: Waiting) -> None:
        self.done.add(link.number)
        spread = self.plan.latency_spread
        takes = math.exp(spread * self._latencies.gauss()) if spread else 1.0
        heapq.heappush(self._under_way, (self.trace.took + takes, self._begun, link))
        self._begun += 1
        for number, score in self.scorer.begins(self.site, link.number):
            self.frontier.rescore(number, score)

    def _end(self, link: Waiting) -> None:
        self.frontier.ended(link.number)
        key = self.site.records[link.number].key
        if self.is_charged(key):
            self.trace.order.append(key)
        answer = self.scorer.visit(self.site, ReplayVisit(self._visits, link.key, link.number, link.ticket))
        self._visits += 1
        self.trace.stopped = answer.stopped
        self.offer(answer)
        self._report(link.number)

    def is_charged(self, key: str) -> bool:
        """Say whether a fetch counts and costs."""
        return key not in self.plan.free

    def offer(self, answer: PageScores) -> None:
        """Let the links of a page wait, those aside that are to skip."""
        skip, ends, done = answer.skip, self.site.ends, self.done
        for row, key in enumerate(answer.keys):
            number = ends.get(key, -1)
            if number < 0:
                if key:
                    self._outside.add(key)
            elif number not in done and not (skip and skip[row]):
                ticket = answer.ticket_values[answer.tickets[row]]
                bucket = answer.bucket_names[answer.buckets[row]]
                self.frontier.offer(Waiting(number, key, ticket), bucket, answer.scores[row])
        for key, score in zip(answer.rescored_keys, answer.rescored_scores, strict=True):
            self.frontier.rescore(self.site.number(key), score)

    def _report(self, number: int) -> None:
        plan = self.plan.feedback
        if plan is None:
            return
        self._late.append((self._visits + plan.delay, number))
        while self._late and self._late[0][0] <= self._visits:
            record = self.site.records[self._late.popleft()[1]]
            reward = plan.rewards(record.key)
            if reward is not None:
                self.scorer.feedback(record.key, record.url, reward)
