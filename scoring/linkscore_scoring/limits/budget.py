"""`Crawl.budget`: a crawl or a site stops when something is spent, when it pays too little or is covered.

What counts is in the events: pages and bytes that came, and the times they were fetched at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.limits import Coverage, CrawlLimit, Limit, SentPage, SiteLimit, Stop
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.limits.coverage import CoverageEstimate
from linkscore_scoring.limits.trap_caps import TrapCaps
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation

_LEAST_FETCHES = 30
"""Fetches of a site before it stops for what it pays or has; as the advice is unsure of a site before."""
_MIN_EVERY, _EVERY = 4, 32
"""Traps and coverage are looked for every fourth fetch, and every 32nd part of the fetches later: a look
costs some milliseconds where there are thousands of groups of links. Chosen, not measured."""
_SITE_STOPPED = 2  # of the wire contract: SKIP_REASON_SITE_STOPPED


class Decision(IntEnum):
    """Why a crawl or a site stops; numbers as in the wire contract."""

    STOP_YIELD = 2
    STOP_COVERED = 3
    STOP_BUDGET = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """The bounds of a crawl; fields as of the message in the wire contract, None: none."""

    max_fetches: int | None = None
    max_bytes: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    fetch_cost: float | None = None
    max_site_fetches: int | None = None
    max_site_bytes: int | None = None
    max_site_seconds: float | None = None
    max_trap_share: float | None = None
    enough_coverage: float | None = None
    least_yield: float | None = None

    @property
    def looks_ahead(self) -> bool:
        """Whether it matters what a site still has."""
        return self.enough_coverage is not None or self.least_yield is not None


_OF_CRAWL = ("max_fetches", "max_bytes", "max_seconds", "max_cost")
_SHARES = ("max_trap_share", "enough_coverage", "least_yield")


class BudgetLimit(Limit):
    """How far a crawl may go."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.budget = Budget(**(value or {}))

    def problems(self, *, groups: int) -> Iterator[FieldProblem]:
        """See `Limit.problems`."""
        given = {f.name: value for f in fields(Budget) if (value := getattr(self.budget, f.name)) is not None}
        for name, value in given.items():
            if not value > 0:
                yield FieldProblem(f"budget.{name}", f"must be above 0, got {value}")
            elif name in _SHARES and value > 1:
                yield FieldProblem(f"budget.{name}", f"must be in (0, 1], got {value}")
        if "max_cost" in given and "fetch_cost" not in given:
            yield FieldProblem("budget.fetch_cost", "is required beside max_cost", "REQUIRED")
        for name in _OF_CRAWL:
            if name in given and groups > 1:
                rule = f"needs a crawl of one group, whose pages one process counts; it has {groups}"
                yield FieldProblem(f"budget.{name}", rule)

    def read(self, page: SentPage) -> dict[str, Any]:
        """See `Limit.read`: bytes."""
        return {"bytes": page.fetched_bytes} if page.fetched_bytes else {}

    def of_site(self) -> SiteLimit:
        """See `Limit.of_site`."""
        return SiteBudget()

    def of_crawl(self) -> CrawlLimit:
        """See `Limit.of_crawl`."""
        return CrawlBudget()


class _Spent:
    """What fetches took: how many there were, their bytes, the times of the first and the latest."""

    fetches: Stored[int]
    bytes: Stored[int]
    first_s: Stored[float]
    last_s: Stored[float]

    def __init__(self) -> None:
        self.fetches = self.bytes = 0
        self.first_s = self.last_s = 0.0

    def spend(self, event: PageFetched) -> None:
        """Count a fetch. Pages that come late are no earlier than they were fetched."""
        self.first_s = min(self.first_s, event.now_s) if self.fetches else event.now_s
        self.last_s = max(self.last_s, event.now_s)
        self.fetches += 1
        if event.features is not None:
            self.bytes += event.features.facts.get("bytes", 0)

    def over(self, bounds: Mapping[str, tuple[float, float | None]]) -> Stop | None:
        """Return that something is spent, of what there is and what it is bounded by, by name."""
        for name, (spent, most) in bounds.items():
            if most is not None and spent >= most:
                return Stop(Decision.STOP_BUDGET, f"{name}: {spent:,.10g} of {most:,.10g} are spent")
        return None


class CrawlBudget(_Spent, CrawlLimit):
    """What a crawl has spent of its budget."""

    limit: BudgetLimit

    def observe(self, event: PageFetched) -> None:
        """See `CrawlLimit.observe`."""
        self.spend(event)

    def stop(self) -> Stop | None:
        """See `CrawlLimit.stop`."""
        budget = self.limit.budget
        return self.over(
            {
                "max_fetches": (self.fetches, budget.max_fetches),
                "max_bytes": (self.bytes, budget.max_bytes),
                "max_seconds": (self.last_s - self.first_s, budget.max_seconds),
                "max_cost": (self.fetches * (budget.fetch_cost or 0.0), budget.max_cost),
            }
        )

    def fetches_left(self) -> int | None:
        """See `CrawlLimit.fetches_left`."""
        budget, left = self.limit.budget, []
        if budget.max_fetches is not None:
            left.append(budget.max_fetches - self.fetches)
        if budget.max_cost is not None and budget.fetch_cost is not None:
            left.append(round((budget.max_cost - self.fetches * budget.fetch_cost) // budget.fetch_cost))
        return max(0, min(left)) if left else None


class SiteBudget(_Spent, SiteLimit):
    """What a site has spent of the budget of its crawl, what it still has, and its traps.

    Attributes
    ----------
    traps
        What is bounded by `Budget.max_trap_share`.
    estimate
        How much of what is wanted was found.
    """

    limit: BudgetLimit
    traps: Stored[TrapCaps]
    estimate: Stored[CoverageEstimate]
    _next: Stored[int]

    def __init__(self) -> None:
        super().__init__()
        self.traps, self.estimate = TrapCaps(), CoverageEstimate()
        self._next = _MIN_EVERY

    def observe(self, event: PageFetched, page: PageObservation, site: SiteModel, policy: Policy) -> None:
        """See `SiteLimit.observe`."""
        self.spend(event)
        budget = self.limit.budget
        if budget.looks_ahead:
            self.estimate.observe(page, site)
        if self.fetches < self._next:
            return
        self._next = self.fetches + max(_MIN_EVERY, self.fetches // _EVERY)
        if budget.max_trap_share is not None:
            self.traps.look(site)
        if budget.looks_ahead:
            self.estimate.look(site, policy)

    def unchanged(self, event: PageFetched) -> None:
        """See `SiteLimit.unchanged`: it costs what a fetch costs."""
        self.spend(event)

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """See `SiteLimit.judge`."""
        if self.stop(site) is not None:
            reasons[:] = [reason or _SITE_STOPPED for reason in reasons]
        elif (share := self.limit.budget.max_trap_share) is not None:
            self.traps.judge(links, site, share, reasons)

    def stop(self, site: SiteModel) -> Stop | None:
        """See `SiteLimit.stop`."""
        budget = self.limit.budget
        spent = self.over(
            {
                "max_site_fetches": (self.fetches, budget.max_site_fetches),
                "max_site_bytes": (self.bytes, budget.max_site_bytes),
                "max_site_seconds": (self.last_s - self.first_s, budget.max_site_seconds),
            }
        )
        found = self.coverage()
        if spent is not None or found is None or self.fetches < _LEAST_FETCHES:
            return spent
        if budget.enough_coverage is not None and found.share >= budget.enough_coverage:
            return Stop(
                Decision.STOP_COVERED,
                f"an estimated {found.share:.0%} of what is wanted was found ({found.low:.0%} to "
                f"{found.high:.0%}; {budget.enough_coverage:.0%} are enough), "
                f"after {found.fetches:,} fetches",
            )
        if budget.least_yield is not None and self.estimate.ahead < budget.least_yield:
            return Stop(
                Decision.STOP_YIELD,
                f"the next fetches are expected to bring {self.estimate.ahead:.2f} each (at least "
                f"{budget.least_yield:.2f} is asked for), after {found.fetches:,} fetches",
            )
        return None

    def coverage(self) -> Coverage | None:
        """See `SiteLimit.coverage`."""
        return self.estimate.coverage if self.limit.budget.looks_ahead else None
