"""Crawl a stored site again: the loop of every crawler, with the archive as the web."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import NamedTuple, Protocol

from linkscore_lab.replay.in_process import CrawlScorer, PageScores, ReplayVisit
from linkscore_lab.replay.prepare import StoredSite


class Waiting(NamedTuple):
    """A link in the frontier: the record it leads to, the identity to ask for, and its ticket."""

    number: int
    key: str
    ticket: bytes


class Frontier(ABC):
    """Links that wait; each record is handed out once."""

    @abstractmethod
    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """Add a link, or add what else is known of one that waits; the latest score counts."""

    def rescore(self, number: int, score: float) -> None:  # noqa: B027 - most have no place for it
        """Note the new score of a record that waits."""

    @abstractmethod
    def taken(self, number: int) -> None:
        """Note that a record was fetched and must not be handed out."""

    def ended(self, number: int) -> None:  # noqa: B027 - most need not know
        """Note that the fetch of a record that was handed out was answered."""

    @abstractmethod
    def pop(self) -> Waiting | None:
        """Hand out the best link; None if nothing waits, or nothing is to be fetched before an answer."""


class PlanFetches(Protocol):
    """Says how many links of each bucket to fetch next; see `CrawlScorer.plan`."""

    def __call__(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]: ...


class BucketFrontier(Frontier):
    """One FIFO queue a bucket; which come next is asked for every `every` fetches.

    A link waits in every bucket it was given; buckets with nothing left sleep. Among equal buckets the link
    that came first into its bucket comes first: buckets are named in that order, and one bucket or several
    of equal value are the same.
    """

    def __init__(self, plan: PlanFetches, *, every: int = 1) -> None:
        self._plan = plan
        self._every = every
        # By bucket the links that wait and how many were offered before, by record; and the buckets of each
        self._waiting: dict[str, OrderedDict[int, tuple[int, Waiting]]] = {}
        self._where: dict[int, list[str]] = {}
        self._offers = 0
        self._taken: set[int] = set()
        self._next: deque[str] = deque()
        self._begun: dict[int, str] = {}

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        if link.number not in self._taken and bucket not in self._where.setdefault(link.number, []):
            self._where[link.number].append(bucket)
            self._offers += 1
            self._waiting.setdefault(bucket, OrderedDict())[link.number] = self._offers, link

    def taken(self, number: int) -> None:
        self._taken.add(number)
        for bucket in self._where.pop(number, ()):
            del self._waiting[bucket][number]
            if not self._waiting[bucket]:
                del self._waiting[bucket]

    def ended(self, number: int) -> None:
        self._begun.pop(number, None)

    def pop(self) -> Waiting | None:
        while self._next and self._next[0] not in self._waiting:
            self._next.popleft()
        if not self._next:
            self._next.extend(self._ask())
        if not self._next:
            return None
        bucket = self._next.popleft()
        _, link = self._first(bucket)
        self.taken(link.number)
        self._begun[link.number] = bucket
        return link

    def _ask(self) -> Iterator[str]:
        """Yield the bucket of each of the next fetches, best first; none if nothing should be fetched now."""
        names = sorted(self._waiting, key=self._first)
        if not names:
            return
        waiting = [len(self._waiting[name]) for name in names]
        values, takes = self._plan(names, waiting, Counter(self._begun.values()), self._every)
        for row in sorted(range(len(names)), key=lambda row: -values[row]):
            yield from repeat(names[row], takes[row])

    def _first(self, bucket: str) -> tuple[int, Waiting]:
        return next(iter(self._waiting[bucket].values()))


class ScoreFrontier(Frontier):
    """One queue by score; first discovered first among equals."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []
        self._links: dict[int, tuple[int, Waiting]] = {}
        self._scores: dict[int, float] = {}
        self._taken: set[int] = set()
        self._found = 0

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        if link.number in self._taken:
            return
        if link.number not in self._links:
            self._found += 1
            self._links[link.number] = (self._found, link)
        self.rescore(link.number, score)

    def rescore(self, number: int, score: float) -> None:
        if number in self._links and self._scores.get(number) != score:
            self._scores[number] = score
            heapq.heappush(self._heap, (-score, self._links[number][0], number))

    def taken(self, number: int) -> None:
        self._taken.add(number)
        self._links.pop(number, None)
        self._scores.pop(number, None)

    def pop(self) -> Waiting | None:
        while self._heap:
            score, _, number = heapq.heappop(self._heap)
            if self._scores.get(number) == -score:
                link = self._links[number][1]
                self.taken(number)
                return link
        return None


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


@dataclass(frozen=True, slots=True)
class CrawlPlan(Fetching):
    """One crawl of a stored site."""

    starts: Sequence[str]  # Identities the crawl begins with
    budget: int  # Fetches that are charged
    free: Collection[str] = ()  # Identities that are neither charged nor counted when they are fetched
    feedback: FeedbackPlan | None = None


@dataclass(slots=True)
class Trace:
    """What a crawl did."""

    # Identities of the charged fetches, in the order they ended
    order: list[str] = field(default_factory=list)
    outside: int = 0  # Distinct links that lead out of the archive
    # Time from the first fetch to the end of the last, in latencies of a fetch: places that stayed empty
    # make it longer
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
        self._under_way: deque[tuple[float, Waiting]] = deque()  # when each ends, the first first
        self._visits = 0

    def run(self) -> Trace:
        """Crawl to the end: fill every place, wait for the fetch that ends first, learn from it."""
        waiting = deque(self._starts())
        while True:
            while self._has_place() and (link := waiting.popleft() if waiting else self.next()):
                self._begin(link)
            if not self._under_way:
                break
            self.trace.took, link = self._under_way.popleft()
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
        self._under_way.append((self.trace.took + 1.0, link))
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
        for key, score in answer.rescored.items():
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
