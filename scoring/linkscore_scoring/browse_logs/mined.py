"""What mining the browse log of a site gave, as policies read it."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.browse_logs.behavior.model import BehaviorModel
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.errors import reading_state
from linkscore_scoring.state import State


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

    def to_state(self) -> State:
        """Return the results as plain values."""
        return {
            "window": [self.first_day, self.n_days, self.records],
            "news": None if self.news is None else self.news.to_state(),
            "behavior": None if self.behavior is None else self.behavior.to_state(),
        }

    @classmethod
    def from_state(cls, state: State) -> MinedSite:
        """Rebuild results.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("mined browse log"):
            first_day, n_days, records = map(int, state["window"])
            news, behavior = state["news"], state["behavior"]
            return cls(
                first_day,
                n_days,
                records,
                None if news is None else NewsModel.from_state(news),
                None if behavior is None else BehaviorModel.from_state(behavior),
            )
