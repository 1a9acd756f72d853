"""Mining of a site's browse log: one run over its counts, beside the request path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from linkscore_scoring.browse_logs.behavior import BehaviorModel, BehaviorSettings, mine_behavior
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news import NewsModel, NewsSettings, mine_news


@dataclass(slots=True)
class MinedSite:
    """Results of one mining of one site."""

    first_day: int  # window of the log, as in `counts.BrowseCounts`
    n_days: int
    records: int  # records within it
    news: NewsModel | None = None  # what it tells about news; None if it was not looked for
    behavior: BehaviorModel | None = None  # URL patterns as people browse them; None if the log has no visit


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSettings:
    """What a mining run is told besides the counts."""

    news: NewsSettings = field(default_factory=NewsSettings)  # how news is told and where it is looked for
    behavior: BehaviorSettings = field(default_factory=BehaviorSettings)  # how URL patterns are found
    # Whether pages are news, by URL identity: what a threshold is fitted on. Empty fits none.
    news_labels: Mapping[str, bool] = field(default_factory=dict)
    news_threshold: float = 0.0  # threshold of news, > 0


_DEFAULT = MiningSettings()


def mine_site(
    counts: BrowseCounts, settings: MiningSettings = _DEFAULT, before: MinedSite | None = None
) -> MinedSite:
    """Mine the counts of one site; deterministic. Sites know nothing of each other, so runs can be
    parallel."""
    news = replace(settings.news, threshold=settings.news_threshold or settings.news.threshold)
    model = mine_news(counts, news, settings.news_labels, before.news if before else None)
    if settings.news_threshold:
        model.threshold = replace(model.threshold, given=True)
    return MinedSite(
        counts.first_day,
        counts.n_days,
        int(counts.clicks.sum()),
        news=model,
        behavior=mine_behavior(counts, settings.behavior),
    )
