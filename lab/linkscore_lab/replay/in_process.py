"""The library as scorer: a `CrawlModel` fed with the events a server would write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from linkscore_lab.replay.prepare import StoredSite
from linkscore_scoring.browse_logs import BrowseCounts, mine_site
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import (
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningFailed,
    LogsMined,
    ModelActivated,
    PageFetched,
)
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import Outcome, PageOutcome
from linkscore_scoring.policies.base import SKIP
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.learning import run
from linkscore_scoring.state import plain

GREEDY = "oracle_greedy"
ORACLES = (GREEDY,)
_ASKED_AGAIN = 100
"""Fetches after which links that wait are scored again, as often as `pagerank` ranks."""


@dataclass(frozen=True, slots=True)
class ReplayVisit:
    """One fetch of a replay."""

    index: int  # Fetches before it
    key: str  # Identity that was asked for
    number: int  # Record it ended at
    ticket: bytes  # Ticket of the link that led there, empty for a start page


@dataclass(slots=True)
class PageScores:
    """Scored links of a page as columns."""

    keys: Sequence[str]  # Identity of each link's target; empty for a link that names nothing to crawl
    scores: Sequence[float]  # (n_links,) in [0, 1]
    bucket_names: Sequence[str]  # Distinct buckets, and the index of each link's
    buckets: Sequence[int]
    ticket_values: Sequence[bytes] = (b"",)  # Distinct tickets, and the index of each link's
    tickets: Sequence[int] = ()
    skip: Sequence[bool] = ()  # Whether the policy says not to follow a link; empty if it never does
    rescored: Mapping[str, float] = field(default_factory=dict)  # Links that wait, asked about again
    stopped: str = ""  # Why the crawl stops by its budget; empty while it goes on

    def __post_init__(self) -> None:
        if not len(self.tickets):
            self.tickets = [0] * len(self.keys)


class CrawlScorer(ABC):
    """The side of a replay that decides; one object serves one crawl."""

    per_url: bool = False  # Scores move URL by URL: keep a queue ordered by score, not one a bucket

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        """Note that the fetch of a record begins; return records whose score that changes, and the new."""
        return ()

    @abstractmethod
    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """Take in a fetched page, or a failed fetch, and score its links."""

    def feedback(self, key: str, url: str, reward: float) -> None:  # noqa: B027 - some learn of pages alone
        """Take in what extraction found on a page."""

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        """Return the value of each bucket, and how many of its links to fetch next, at most n in all.

        `waiting` links of each bucket wait; `in_flight` fetches are not answered yet, by bucket.
        """
        return best_first([0.0] * len(buckets), waiting, n)


def best_first(
    values: Sequence[float], waiting: Sequence[int], n: int
) -> tuple[Sequence[float], Sequence[int]]:
    """Return the plan that empties one bucket after the other, best first; see `CrawlScorer.plan`."""
    takes = [0] * len(values)
    for row in sorted(range(len(values)), key=lambda row: -values[row]):
        takes[row] = min(n, waiting[row])
        n -= takes[row]
    return values, takes


class GreedyOracle(CrawlScorer):
    """Wanted pages first, among equals the page that shows most wanted pages nobody has found yet.

    A page that shows nothing new is worth the more the fewer clicks lie between it and a wanted page. Score =
    (wanted + gain / (1 + gain)) / 2 with gain = wanted pages first seen there, plus half the nearness
    1 / (1 + clicks).
    """

    per_url = True

    def __init__(self, site: StoredSite, wanted: Collection[str]) -> None:
        self._wanted = [record.key in wanted for record in site.records]
        self._sources = _sources(site)
        self._gain = [sum(self._wanted[t] for t in targets) for targets in site.links]
        self._near = self._nearness()
        self._found = bytearray(len(site.records))
        self._waiting = bytearray(len(site.records))

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        """Take what a page shows as found as soon as it is on its way."""
        fallen = self._find(number).union(*(self._find(target) for target in site.links[number]))
        return [(n, self._score(n)) for n in fallen if self._waiting[n]]

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """Score links by what they lead to."""
        for target in site.links[visit.number]:
            self._waiting[target] = 1
        event = site.event(visit.number)
        keys = event.features.links.keys if event and event.features else []
        return PageScores(keys, [self._score(site.number(key)) for key in keys], ["oracle"], [0] * len(keys))

    def _score(self, number: int) -> float:
        if number < 0:
            return 0.0
        gain = self._gain[number] + 0.5 * self._near[number]
        return (self._wanted[number] + gain / (1.0 + gain)) / 2.0

    def _find(self, number: int) -> set[int]:
        """Note that a page is known of; return the pages that thereby show one wanted page less."""
        if self._found[number] or not self._wanted[number]:
            return set()
        self._found[number] = 1
        for source in self._sources[number]:
            self._gain[source] -= 1
        return set(self._sources[number])

    def _nearness(self) -> list[float]:
        """Return 1 / (1 + clicks to the nearest wanted page) of every record, 0 if none can be reached."""
        clicks = {n: 0 for n, good in enumerate(self._wanted) if good}
        queue = deque(clicks)
        while queue:
            n = queue.popleft()
            for source in self._sources[n]:
                if source not in clicks:
                    clicks[source] = clicks[n] + 1
                    queue.append(source)
        return [1.0 / (1.0 + clicks[n]) if n in clicks else 0.0 for n in range(len(self._wanted))]


def _sources(site: StoredSite) -> list[array[int]]:
    sources = [array("L") for _ in site.records]
    for source, targets in enumerate(site.links):
        for target in targets:
            sources[target].append(source)
    return sources


_NO_PAGE = "no usable page"


class InProcessScorer(CrawlScorer):
    """Scores with the library in this process; learning runs at once, where a server runs it beside.

    Numbers events as a server does, so that draws by sequence number are the same. `outcome` is what the
    library said of the latest fetch.
    """

    def __init__(
        self, config: CrawlConfig, logs: Sequence[BrowseCounts] = (), *, sample_pages: int | None = None
    ) -> None:
        if sample_pages is not None:
            config = replace(config, learning=replace(config.learning, sample_pages=sample_pages))
        config.check()
        policy = policy_class(config.policy.name)
        self.per_url, self._reads_templates = policy.per_url, policy.reads_templates
        self.model = CrawlModel(config, ticket_key=b"replay")
        self.queries = CrawlQueries(self.model)
        self._seq = 0
        self._apply(ConfigChanged(plain(config)))
        for counts in logs:
            self._apply(LogsMined(self.model.site_of(counts.urls[0]), plain(mine_site(counts))))
        self._waiting: dict[str, bool] = {}  # By identity: found, and not fetched

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        record, event = site.records[visit.number], site.event(visit.number)
        site_name = self.model.site_of(record.url)
        if event is None:
            status = record.status
            event = PageFetched("", site_name, record.url, visit.key, status, _NO_PAGE, b"", 0.0, None)
        event = replace(event, site=site_name, requested_key=visit.key, ticket=visit.ticket)
        self.outcome = outcome = cast(PageOutcome, self._apply(event))
        self._learn()
        links = outcome.links
        return PageScores(
            event.features.links.keys if event.features else (),
            links.scores.tolist(),
            links.bucket_names,
            links.buckets,
            links.ticket_values,
            links.tickets,
            [verdict == SKIP for verdict in links.verdicts or ()],
            self._again(visit, event) if self.per_url else {},
            stop.reason if outcome.standing and (stop := outcome.standing.crawl) else "",
        )

    def _again(self, visit: ReplayVisit, event: PageFetched) -> dict[str, float]:
        """Return the scores of all links that wait, now and then: values move URL by URL."""
        for key in event.features.links.keys if event.features else ():
            self._waiting.setdefault(key, True)
        self._waiting[visit.key] = False
        if visit.index % _ASKED_AGAIN:
            return {}
        keys = [key for key, waits in self._waiting.items() if waits and key]
        nothing = [""] * len(keys)
        found = self.queries.score_links(keys, keys, [b""] * len(keys), nothing)
        return dict(zip(keys, found.scores.tolist(), strict=True))

    def feedback(self, key: str, url: str, reward: float) -> None:
        self._apply(FeedbackGiven("", self.model.site_of(url), key, b"", reward, 0.0))
        self._learn()

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        found = self.queries.plan_fetches(buckets, n, waiting=waiting, in_flight=in_flight)
        return found.values.tolist(), found.takes.tolist()

    def _apply(self, event: Event) -> Outcome:
        self._seq += 1
        return self.model.apply(self._seq, event)

    def _learn(self) -> None:
        """Run what became due, and activate it as the event a server would write.

        What no policy reads is not learned: it is given up, which is an event as well.
        """
        for job in self.model.take_jobs():
            if not self._reads_templates:
                self._apply(LearningFailed(job.site, job.built_from_seq))
                continue
            learned = run(job)
            self._seq += 1
            self.model.apply(self._seq, ModelActivated(job.site, job.built_from_seq, {}), learned)
