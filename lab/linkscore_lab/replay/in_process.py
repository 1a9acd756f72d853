"""The library as scorer: a `CrawlModel` fed with the events a server would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.scorer import CrawlScorer, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
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

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.counts import BrowseCounts

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
        self._apply(ConfigChanged(config.to_state()))
        for counts in logs:
            self._mine(counts, policy(config.policy.checked()).mining_settings())

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
            *_rescored(outcome),
            stop.reason if outcome.standing and (stop := outcome.standing.crawl) else "",
        )

    def feedback(self, key: str, url: str, reward: float) -> None:
        self._apply(FeedbackGiven("", self.model.site_of(url), key, b"", reward, 0.0))
        self._learn()

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        found = self.queries.plan_fetches(buckets, n, waiting=waiting, in_flight=in_flight)
        return found.values.tolist(), found.takes.tolist()

    def _mine(self, counts: BrowseCounts, settings: Mapping[str, Any]) -> None:
        from linkscore_scoring.browse_logs.mining import MiningSettings, mine_site  # an annex

        mined = plain(mine_site(counts, MiningSettings(**settings)))
        self._apply(LogsMined(self.model.site_of(counts.urls[0]), mined))

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


def _rescored(outcome: PageOutcome) -> tuple[Sequence[str], Sequence[float]]:
    keys = [identity_or_none(url) or "" for url in outcome.rescored_urls]
    return keys, outcome.rescored.scores.tolist()
