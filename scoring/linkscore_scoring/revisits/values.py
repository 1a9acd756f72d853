"""What revisits are told, and what they answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.revisits.changes import NOTHING_SAID, Validators

DAY_S = 86_400.0
"""Seconds of a day, by definition: events come in seconds, rates are by the day."""
OBJECTIVES = {"both": (1.0, 1.0), "freshness": (1.0, 0.0), "discovery": (0.0, 1.0)}
"""What a fresh copy and what a discovered page is worth, by objective."""


@dataclass(frozen=True, slots=True)
class RevisitSettings:
    """How a crawl fetches pages again."""

    objective: str = "both"  # one of `OBJECTIVES`
    # fetches of known pages a day, of each site; 0 if nobody said. By it pages are given a next time
    fetches_per_day: float = 0.0
    # least_s, longest_s: seconds between two fetches of a page: not before, and not later than
    least_s: float = 3_600.0
    longest_s: float = 365.0 * DAY_S

    def problems(self, prefix: str) -> list[FieldProblem]:
        """Return what is wrong, by field."""
        found = []
        if self.objective not in OBJECTIVES:
            rule = f"must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}"
            found.append(FieldProblem(f"{prefix}.objective", rule))
        if not (math.isfinite(self.fetches_per_day) and self.fetches_per_day >= 0.0):
            rule = f"must be at least 0, got {self.fetches_per_day}"
            found.append(FieldProblem(f"{prefix}.fetches_per_day", rule))
        if not 0.0 < self.longest_s < math.inf:
            rule = f"must be above 0, got {self.longest_s} s"
            found.append(FieldProblem(f"{prefix}.longest_interval", rule))
        elif not 0.0 < self.least_s <= self.longest_s:
            rule = f"must be above 0 and at most longest_interval, got {self.least_s} and {self.longest_s} s"
            found.append(FieldProblem(f"{prefix}.least_interval", rule))
        return found


class Fetched(NamedTuple):
    """One fetch as revisits see it."""

    # key, url: identity hash and URL of the page
    key: int
    url: str
    now_s: float  # when, in seconds since the epoch
    own: int = 0  # characters of own text now
    # unseen, taken: of these, in blocks that the site had never shown, and in blocks that were another page's
    # before
    unseen: int = 0
    taken: int = 0
    # links to pages that nobody had seen; of a listing also what `SiteRevisits.listed` says
    fresh_links: float = 0
    # title, structured: what `changes.title_mark` and `structured_mark` say of it; 0 if nobody knows
    title: int = 0
    structured: int = 0
    validators: Validators = NOTHING_SAID  # what the site said of this copy, for conditional requests
    kind: str = "page"  # ``page``, ``sitemap`` or ``feed``


class Due(NamedTuple):
    """A page to fetch again: what a fetch is worth, and why."""

    # url, key: the page, by URL and identity hash
    url: str
    key: int
    worth: float  # in days of one page; comparable between sites
    # ``stale``, ``hub`` if most of it is new pages to discover, or ``check`` if it waited `longest_s`
    reason: str
    last_s: float  # when it was fetched last, in seconds since the epoch
    changes: float  # changes to expect since
    rate: float  # changes a day that are believed
    validators: Validators = NOTHING_SAID  # of the copy, to ask the site whether the page is as it was
    kind: str = "page"  # as it was fetched
