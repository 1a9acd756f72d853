"""What is counted of fetches of known pages."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.events import Event, PageFetched
from linkscore_scoring.engine.results import Outcome, PageOutcome
from linkscore_scoring.revisits.companion import GONE_STATUSES
from linkscore_scoring.site.fetch import NOT_MODIFIED


class RevisitMetrics:
    """Metrics of revisits, in the registry of a server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.refetches = Counter(
            "linkscore_refetches",
            "Fetches of known pages, by outcome: changed, unchanged, not_modified, gone, failed",
            ["outcome"],
            registry=registry,
        )

        self.notices = Counter(
            "linkscore_notified_pages",
            "Pages said to have changed, by outcome: noted, repeated, unknown, invalid",
            ["outcome"],
            registry=registry,
        )

    def noticed(self, outcomes: Iterable[pb.NoticeOutcome]) -> None:
        """Count the pages that one call named."""
        for outcome, count in Counts(outcomes).items():
            name = pb.NoticeOutcome.Name(outcome).removeprefix("NOTICE_OUTCOME_").lower()
            self.notices.labels(name).inc(count)

    def applied(self, event: Event, outcome: Outcome) -> None:
        """Count a page that was applied, if its crawl fetches again and knew it."""
        if isinstance(event, PageFetched) and isinstance(outcome, PageOutcome):
            found = outcome_of(event, outcome)
            if found:
                self.refetches.labels(found).inc()


def outcome_of(event: PageFetched, outcome: PageOutcome) -> str:
    """Return what a fetch found of a known page; empty if it was not known or nobody fetches again."""
    said = outcome.revisit
    if said is None:
        return ""
    if event.features is None:
        if event.status_code == NOT_MODIFIED:
            return "not_modified"
        return "gone" if event.status_code in GONE_STATUSES else "failed"
    if said.share is None:
        return ""
    return "changed" if said.share > 0.0 else "unchanged"
