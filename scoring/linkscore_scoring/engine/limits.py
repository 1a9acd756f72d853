"""What forbids links whatever a policy says: settings of a crawl, by the name of their field of `Crawl`."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.results import ScoredLinks
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.limits.budget import Budget, SiteBudget
from linkscore_scoring.limits.copies import SKIP_ABOVE, SiteCopies, copies_problems
from linkscore_scoring.limits.respect import SiteRespect, respect_facts, respect_problems
from linkscore_scoring.policies.base import SKIP
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch, PageObservation, SentPage

BUDGET, RESPECT, COPIES = LIMITS = ("budget", "respect", "copies")
"""Fields of `Crawl`. Where several forbid a link, the first of them is the reason that is told."""
_CRAWL_BUDGET = 1  # of the wire contract: SKIP_REASON_CRAWL_BUDGET


def limit_problems(config: Mapping[str, Any], *, groups: int) -> Iterator[FieldProblem]:
    """Yield what is wrong with the settings of a crawl of so many groups."""
    if BUDGET in config:
        yield from Budget(**(config[BUDGET] or {})).problems(groups)
    if RESPECT in config:
        yield from respect_problems(config[RESPECT])
    if COPIES in config:
        yield from copies_problems(config[COPIES] or {})


def limit_facts(name: str, page: SentPage) -> dict[str, Any]:
    """Return the facts of a page that its event keeps for a setting, as plain values."""
    if name == BUDGET:
        return {"bytes": page.fetched_bytes} if page.fetched_bytes else {}
    return respect_facts(page) if name == RESPECT else {}


class SiteLimits:
    """What is counted on a site for the settings of its crawl; None for one that is not made.

    `is_set`: whether any is.
    """

    def __init__(self) -> None:
        self.budget: SiteBudget | None = None
        self.respect: SiteRespect | None = None
        self.copies: SiteCopies | None = None
        self.is_set = False

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take over the settings of a crawl; one that was there before counts on."""
        self.is_set = any(name in config for name in LIMITS)
        self.budget = (self.budget or SiteBudget()) if BUDGET in config else None
        self.respect = (self.respect or SiteRespect()) if RESPECT in config else None
        self.copies = (self.copies or SiteCopies()) if COPIES in config else None
        if self.budget is not None:
            self.budget.budget = Budget(**(config[BUDGET] or {}))
        if self.respect is not None:
            self.respect.uses = frozenset(config[RESPECT] or ())
        if self.copies is not None:
            self.copies.skip_above = (config[COPIES] or {}).get("skip_above", SKIP_ABOVE)

    def observe(
        self, event: PageFetched, page: PageObservation, site: SiteModel, *, counts: bool = True
    ) -> None:
        """Take in a fetch, that the site has taken in already; `counts`: whether it spends of its budget."""
        if self.budget is not None:
            if counts:
                self.budget.spend(event)
            self.budget.observe(page, site)
        if self.copies is not None:
            self.copies.observe(event, page, site)

    def judge(
        self, found: ScoredLinks, links: LinkBatch, site: SiteModel, *, spent: bool, page: PageFeatures | None
    ) -> None:
        """Write why links are to skip, before what their policy says.

        `spent` says that the crawl as a whole stops; `page` is what all links were found on.
        """
        reasons = [_CRAWL_BUDGET if spent else 0] * len(links)
        if self.budget is not None:
            self.budget.judge(links, site, reasons)
        if self.respect is not None:
            self.respect.judge(links, page, reasons)
        if self.copies is not None:
            self.copies.judge(links, site, reasons)
        if any(reasons):
            own = found.skip_reasons or [0] * len(links)
            found.skip_reasons = [a or b for a, b in zip(reasons, own, strict=True)]

    def parts(self) -> dict[str, Any]:
        """Return what is counted for each setting, None for one that is not made."""
        return {BUDGET: self.budget, RESPECT: self.respect, COPIES: self.copies}


MOST_SKIPPED = 200
"""A bound: links to skip that a site remembers, some 400 bytes each. Chosen."""


class SkippedLinks(Stateful):
    """Links of a site that its pages were answered to skip: the latest by URL, and how many by reason.

    `latest`: reason, a `SkipReason` of the wire contract, 0 if the policy says so, and the page it stood on.
    `counts`: links by reason; one that comes again while it is remembered counts once.
    """

    latest: Stored[OrderedDict[str, tuple[int, str]]]
    counts: Stored[Counter[int]]

    def note(self, page: str, urls: Sequence[str], links: ScoredLinks) -> None:
        """Take in the scored links of a page."""
        reasons, inside = links.skip_reasons, links.in_scope
        for row, verdict in enumerate(links.verdicts or ()):
            if verdict != SKIP or urls[row] in self.latest or (inside and not inside[row]):
                continue
            reason = reasons[row] if reasons else 0
            self.latest[urls[row]] = (reason, page)
            self.counts[reason] += 1
        drop_oldest(self.latest, MOST_SKIPPED)
