"""What the policies of a crawl want browse logs mined with."""

from __future__ import annotations

from collections.abc import Mapping

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.policies.news_prefix import NewsPrefixParams
from linkscore_scoring.site.browse.mining import MiningSettings
from linkscore_scoring.site.browse.news_settings import NewsSettings


def mining_settings(
    config: CrawlConfig, *, news_labels: Mapping[str, bool] | None = None, news_threshold: float = 0.0
) -> MiningSettings:
    """Return the settings that mining takes from the policies of a crawl, and what a user adds.

    The first `news_prefix` among the crawl's policies decides how news is mined; without one: the defaults.

    Raises
    ------
    InvalidParams
        If parameters of a policy are out of range.
    """
    params = (choice.checked() for choice in (config.policy, *config.extra_policies))
    asked = next((p.settings() for p in params if isinstance(p, NewsPrefixParams)), NewsSettings())
    return MiningSettings(news=asked, news_labels=news_labels or {}, news_threshold=news_threshold)
