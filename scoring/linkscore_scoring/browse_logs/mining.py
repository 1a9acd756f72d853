"""Mining of a site's browse log: one run over its counts, beside the request path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from linkscore_scoring.browse_logs.behavior.mining import BehaviorSettings, mine_behavior
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.browse_logs.news.mining import mine_news
from linkscore_scoring.browse_logs.news.settings import NewsSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningSettings:
    """What a mining run is told besides the counts.

    Attributes
    ----------
    news
        How news is told and where it is looked for.
    behavior
        How URL patterns are found.
    news_labels
        Whether pages are news, by URL identity: what a threshold is fitted on. Empty fits none.
    news_threshold
        Threshold of news, > 0; 0 takes the fitted one, else that of the run before, else the default.
    """

    news: NewsSettings = field(default_factory=NewsSettings)
    behavior: BehaviorSettings = field(default_factory=BehaviorSettings)
    news_labels: Mapping[str, bool] = field(default_factory=dict)
    news_threshold: float = 0.0


_DEFAULT = MiningSettings()


def mine_site(
    counts: BrowseCounts, settings: MiningSettings = _DEFAULT, before: MinedSite | None = None
) -> MinedSite:
    """Mine the counts of one site; deterministic. Sites know nothing of each other, so runs can be parallel.

    Parameters
    ----------
    counts
        Visits of the site within the window.
    settings
        Labels and thresholds.
    before
        What the last run gave, None for the first one: what users told it stays in force.
    """
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
