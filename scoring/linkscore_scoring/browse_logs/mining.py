"""Mining of a site's browse log: one run over its counts, beside the request path."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.browse_logs.behavior import BehaviorModel, mine_behavior
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news import NewsModel, mine_news


@dataclass(slots=True)
class MinedSite:
    """Results of one mining of one site."""

    first_day: int  # window of the log, as in `counts.BrowseCounts`
    n_days: int
    records: int  # records within it
    news: NewsModel | None = None  # what it tells about news; None if it was not looked for
    behavior: BehaviorModel | None = None  # URL patterns as people browse them; None if the log has no visit


def mine_site(counts: BrowseCounts) -> MinedSite:
    """Mine the counts of one site; deterministic."""
    return MinedSite(
        counts.first_day,
        counts.n_days,
        int(counts.clicks.sum()),
        news=mine_news(counts),
        behavior=mine_behavior(counts),
    )
