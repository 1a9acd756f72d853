"""What mining the browse log of a site gave, as policies read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from linkscore_scoring.browse_logs.behavior.model import BehaviorModel
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.state import Opaque, stored_as, to_state


@dataclass(slots=True)
class MinedSite:
    """Results of one mining of one site; `state.to_state` and `state.from_state` write and read them.

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

    first_day: Annotated[int, stored_as("window")]
    n_days: Annotated[int, stored_as("window")]
    records: Annotated[int, stored_as("window")]
    news: NewsModel | None = None
    behavior: BehaviorModel | None = None

    def kept(self) -> Opaque:
        """Return it as a site keeps it."""
        return Opaque(to_state(self), self)


def mined_of(kept: Opaque | None) -> MinedSite | None:
    """Return what a site keeps; None if it was not mined."""
    return kept.as_a(MinedSite) if kept is not None else None
