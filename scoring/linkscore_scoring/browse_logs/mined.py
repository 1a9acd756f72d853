"""What mining the browse log of a site gave, as policies read it."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.browse_logs.behavior.model import BehaviorModel
from linkscore_scoring.browse_logs.news.model import NewsModel


@dataclass(slots=True)
class MinedSite:
    """Results of one mining of one site.

    Attributes
    ----------
    first_day, n_days
        Window of the log, as in `counts.BrowseCounts`.
    records
        Records within it.
    news
        What it tells about news; None if it was not looked for.
    behavior
        URL patterns as people browse them; None if the log has no visit.
    """

    first_day: int
    n_days: int
    records: int
    news: NewsModel | None = None
    behavior: BehaviorModel | None = None
