"""Schedules: which page to fetch again first, found by name. Each gives every known page a worth.

A page is due where its worth is greatest; worth grows while a page waits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from linkscore_scoring.errors import NotFound
from linkscore_scoring.revisits.worth import Column, discovery_worth, worth, worth_interval, worth_intervals

FASTER, SLOWER = 0.2, 0.4
"""How the interval of `Adaptive` falls at a change and rises without: the defaults of Nutch's
``AdaptiveFetchSchedule`` (``db.fetch.schedule.adaptive.dec_rate`` and ``inc_rate``)."""


@dataclass(slots=True)
class Waiting:
    """Pages that could be fetched again, as columns of equal length.

    Attributes
    ----------
    waited
        Days since the last fetch, >= 0.
    shape, days
        What is believed of each page's rate, see `rates.Belief`.
    interval
        Days between fetches that a rule keeping intervals wants, > 0; see `Rule.next_interval`.
    importance
        What a fresh copy is worth beside that of another page, >= 0.
    discoveries
        Links to new pages to expect a day, times what one is worth beside a fresh copy, >= 0.
    """

    waited: Column
    shape: Column
    days: Column
    interval: Column
    importance: Column
    discoveries: Column


class OnePage(NamedTuple):
    """One page that was just fetched, see `Waiting`."""

    shape: float
    days: float
    interval: float
    importance: float
    discoveries: float


class Rule(ABC):
    """A schedule.

    Attributes
    ----------
    name
        What it is chosen by.
    shares
        Whether pages are believed to change like others of their kind; else each stands alone.
    """

    name: ClassVar[str]
    shares: ClassVar[bool] = True

    @abstractmethod
    def worth(self, pages: Waiting) -> Column:
        """Return what a fetch of each page is worth now, (n,) >= 0, higher first; rises with `waited`.

        Pages of a site come in parts, so what one is worth may not depend on others.
        """

    @abstractmethod
    def intervals(self, pages: Waiting, price: float) -> Column:
        """Return after how many days a fetch of each page is worth a price, (n,), may be infinite."""

    def interval(self, page: OnePage, price: float) -> float:
        """Return `intervals` of one page: a rule may have a cheaper way, each page that comes asks for it."""
        columns = [np.array([number]) for number in page]
        return float(self.intervals(Waiting(np.zeros(1), *columns), price)[0])

    def next_interval(self, interval: float, *, changed: bool) -> float:
        """Return the interval to keep of a page that was just fetched again, in days."""
        return interval


class Fixed(Rule):
    """Every page after the same time: whichever waited longest. Also called uniform."""

    name = "fixed"

    def worth(self, pages: Waiting) -> Column:
        """Return how long pages waited."""
        return pages.waited

    def intervals(self, pages: Waiting, price: float) -> Column:
        """Return the price."""
        return np.full(len(pages.waited), price)

    def interval(self, page: OnePage, price: float) -> float:
        """See `Rule.interval`."""
        return price


class Proportional(Rule):
    """Each page as often as it is believed to change: whichever is expected to have changed most often.

    A mistake that is often made: pages that change all the time get most fetches and are stale all the same
    (Cho and Garcia-Molina, Effective page refresh policies for Web crawlers, ACM TODS 28(4), 2003).
    """

    name = "proportional"

    def worth(self, pages: Waiting) -> Column:
        """Return the changes to expect since the last fetch."""
        return pages.waited * pages.shape / pages.days

    def intervals(self, pages: Waiting, price: float) -> Column:
        """Return the days in which as many changes are to be expected."""
        return price * pages.days / pages.shape

    def interval(self, page: OnePage, price: float) -> float:
        """See `Rule.interval`."""
        return price * page.days / page.shape


class Adaptive(Rule):
    """What crawlers have: the interval of a page falls by .2 of itself at a change, and else rises by .4.

    The page is first that is most overdue by its own interval. Nutch's ``AdaptiveFetchSchedule`` and
    StormCrawler's ``AdaptiveScheduler`` do the same between bounds that a user sets.
    """

    name = "adaptive"
    shares = False

    def worth(self, pages: Waiting) -> Column:
        """Return how much of its interval each page has waited."""
        return pages.waited / pages.interval

    def intervals(self, pages: Waiting, price: float) -> Column:
        """Return multiples of the intervals kept."""
        return price * pages.interval

    def interval(self, page: OnePage, price: float) -> float:
        """See `Rule.interval`."""
        return price * page.interval

    def next_interval(self, interval: float, *, changed: bool) -> float:
        """See `Rule.next_interval`."""
        return interval * (1.0 - FASTER if changed else 1.0 + SLOWER)


class Greedy(Rule):
    """The default: whichever fetch is worth most, stale copies and undiscovered pages on one scale.

    No page needs to know of another, so sites and processes decide apart.

    References
    ----------
    Azar et al., PNAS 2018; Greedy-NCIS, arXiv 2502.02430. Different from both: rates are not known but
    believed, and what a fetch is worth is the mean over the belief. Pages of which little is known are so
    tried now and then.
    """

    name = "greedy"

    def worth(self, pages: Waiting) -> Column:
        """Return freshness to gain and pages to discover."""
        stale = worth(pages.shape, pages.days, pages.waited)
        return pages.importance * stale + discovery_worth(pages.discoveries, pages.waited)

    def intervals(self, pages: Waiting, price: float) -> Column:
        """Return intervals by the mean of each rate.

        Of a page worth fetching for both reasons frequencies add as squares: exact while both gains grow with
        the square of the time.
        """
        rate = pages.shape / pages.days
        stale = worth_intervals(rate, pages.importance, price)
        with np.errstate(divide="ignore"):
            new = np.sqrt(2.0 * price / pages.discoveries)
            return 1.0 / np.hypot(1.0 / stale, 1.0 / new)

    def interval(self, page: OnePage, price: float) -> float:
        """See `Rule.interval`."""
        stale = worth_interval(page.shape / page.days, page.importance, price)
        often = math.sqrt(page.discoveries / (2.0 * price))
        both = math.hypot(1.0 / stale, often)
        return 1.0 / both if both else math.inf


class GreedyAlone(Greedy):
    """`Greedy` where every page is believed to change as the average page does until its own fetches differ.

    To compare with: what it lacks is what pages have in common.
    """

    name = "greedy_alone"
    shares = False


BUILTIN: Sequence[type[Rule]] = (Greedy, GreedyAlone, Adaptive, Fixed, Proportional)
DEFAULT = Greedy.name


def rule_named(name: str) -> Rule:
    """Return a rule by name.

    Raises
    ------
    NotFound
        If there is none; the message lists those there are.
    """
    known = {kind.name: kind for kind in BUILTIN}
    if name not in known:
        raise NotFound(f"revisit rule {name!r} is not registered; known: {', '.join(sorted(known))}")
    return known[name]()
