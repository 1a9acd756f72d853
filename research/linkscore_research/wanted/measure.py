"""Every order on every task: recall after as many fetches as there are wanted pages, twice and four times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from linkscore_lab.replay.crawl import CrawlPlan, FeedbackPlan, crawl
from linkscore_lab.replay.in_process import CrawlScorer, GreedyOracle, InProcessScorer
from linkscore_lab.replay.prepare import StoredSite
from linkscore_research.wanted.orders import Crawl4Ai, LinkClassifier, PageRelevance, crawl4ai_scores
from linkscore_research.wanted.tasks import TagTask, rewards
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.wanted import WantedSample

TIMES = (1, 2, 4)
"""Fetches, in wanted pages, after which recall is told."""
N_SAMPLES = 3
"""Sample pages of orders ending in `_samples`, which look for the other pages of the task.

As recall is told by fetches for each page to find, three less make it harder, however the samples are used:
`without_samples` has the same pages to find and is told the query alone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an order came to on a task."""

    site: str  # Which task, of so many wanted pages, and in which order
    tag: str
    pages: int
    order: str
    recall: tuple[float, ...]  # After each of `TIMES`
    area: float  # Mean recall over all these fetches


@dataclass(frozen=True, slots=True)
class Bench:
    """A stored site with what its orders share."""

    site: StoredSite  # With the words of its pages
    crawl4ai: Path | None = None  # Python of an environment with Crawl4AI; None leaves that order out

    def run(self, task: TagTask, order: str) -> Outcome:
        """Crawl for a task in one order."""
        samples = self._samples(task) if order.endswith("_samples") else []
        free = {self.site.records[number].key for number in samples}
        wanted = task.pages - free
        feedback = FeedbackPlan(rewards(task, self.site).get) if order.endswith("_feedback") else None
        budget = max(TIMES) * len(wanted)
        plan = CrawlPlan(self.site.entries, budget, frozenset(free), feedback)
        scorer = ORDERS[order](self, task, samples)
        trace = crawl(self.site, plan, scorer)
        return Outcome(task.site, task.tag, len(wanted), order, *_recall(trace.order, wanted, budget))

    def in_process(self, policy: str, task: TagTask, samples: Sequence[int], *, told: bool) -> CrawlScorer:
        """Return a policy of the library, told what is wanted or not."""
        wanted = task.wanted
        if samples:
            events = [self.site.event(number) for number in samples]
            pages = [event.features for event in events if event is not None and event.features is not None]
            given = tuple(WantedSample(page.url, page.key, page.words) for page in pages)
            wanted = replace(wanted, samples=given)
        return InProcessScorer(CrawlConfig("wanted", PolicyChoice(policy), wanted=wanted if told else None))

    def crawl4ai_order(self, task: TagTask) -> CrawlScorer:
        """Return the order of Crawl4AI's scorer."""
        if self.crawl4ai is None:
            raise ValueError("needs a Python that has Crawl4AI")
        events = (self.site.event(n) for n in range(len(self.site.records)))
        urls = {url for event in events if event and event.features for url in event.features.links.urls}
        return Crawl4Ai(crawl4ai_scores(self.crawl4ai, _query(task), sorted(urls)))

    def oracle(self, task: TagTask, samples: Sequence[int]) -> CrawlScorer:
        """Return the order of a crawler that knows the answers, of which the samples are none."""
        given = {self.site.records[number].key for number in samples}
        return GreedyOracle(self.site, task.pages - given)

    def _samples(self, task: TagTask) -> list[int]:
        keys = sorted(task.pages)
        return [self.site.number(key) for key in Random(f"{task.site}/{task.tag}").sample(keys, N_SAMPLES)]


def _recall(order: Sequence[str], wanted: frozenset[str], budget: int) -> tuple[tuple[float, ...], float]:
    found, curve = 0, []
    for key in order:
        found += key in wanted
        curve.append(found / len(wanted))
    curve += [curve[-1] if curve else 0.0] * (budget - len(curve))
    return tuple(curve[times * len(wanted) - 1] for times in TIMES), sum(curve) / len(curve)


def _query(task: TagTask) -> str:
    return " ".join(task.wanted.queries)


Made = Callable[[Bench, TagTask, Sequence[int]], CrawlScorer]
ORDERS: Mapping[str, Made] = {
    "breadth_first": lambda bench, task, given: bench.in_process("breadth_first", task, given, told=False),
    "harvest": lambda bench, task, given: bench.in_process("harvest", task, given, told=False),
    "crawl4ai": lambda bench, task, given: bench.crawl4ai_order(task),
    "page_relevance": lambda bench, task, given: PageRelevance(task.wanted),
    "link_classifier": lambda bench, task, given: LinkClassifier(task.wanted),
    "keyword": lambda bench, task, given: bench.in_process("keyword", task, given, told=True),
    "topic": lambda bench, task, given: bench.in_process("topic", task, given, told=True),
    "topic_samples": lambda bench, task, given: bench.in_process("topic", task, given, told=True),
    "without_samples": lambda bench, task, given: bench.in_process("topic", task, (), told=True),
    "harvest_feedback": lambda bench, task, given: bench.in_process("harvest", task, given, told=False),
    "topic_feedback": lambda bench, task, given: bench.in_process("topic", task, given, told=True),
    "oracle": lambda bench, task, given: bench.oracle(task, given),
    "oracle_samples": lambda bench, task, given: bench.oracle(task, given),
}
"""Orders by name, in the order of the table."""
