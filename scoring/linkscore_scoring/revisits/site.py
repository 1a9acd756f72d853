"""Revisits of one site: its known pages, what fetches taught of them, and which to fetch again."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.errors import FieldProblem, NotFound
from linkscore_scoring.revisits.changes import (
    GONE,
    UNCHANGED,
    PageChange,
    Stamps,
    changed_chars,
    own_difference,
)
from linkscore_scoring.revisits.pages import GONE as IS_GONE
from linkscore_scoring.revisits.pages import HUB, PageTable
from linkscore_scoring.revisits.rates import Belief
from linkscore_scoring.revisits.rules import DEFAULT, Rule, Waiting, rule_named
from linkscore_scoring.revisits.shared import SHAPE, PageGroups, fit
from linkscore_scoring.revisits.worth import Column, discovery_worth
from linkscore_scoring.state import Stateful, Stored

DAY_S = 86_400.0
"""Seconds of a day, by definition: events come in seconds, rates are by the day."""
FIRST_DAYS = 30.0
"""Days between two changes of a page of which nothing is known, and whose site taught nothing; chosen."""
FORGET = 0.9
"""What evidence of a page keeps of itself at each new one: some ten fetches count. Chosen on the living
synthetic corpus of .8, .9 and .95."""
_MOST_DAYS = 60_000.0
"""A bound: the largest number of float16 is 65,504."""
_LEAST_DAYS = 1.0 / DAY_S
"""A bound: times are kept in whole seconds. Of far less float16 would make 0, and rules divide by it."""
_HUBS, _REPORTED = 20_000, 100_000
"""Bounds: pages that showed new links, and pages with an importance of their own."""
_SAMPLED = 512
"""A bound: pages by which the price of a fetch is told."""
_FIT_SHARE = 4
"""Groups learn when a quarter as many fetches came as pages are known; chosen, not measured."""
_PRICE_STEPS = 40
"""A bound: halvings of the logarithm of the price; the last is by less than a billionth."""
FIRST_LINK_DAYS = 365.0
"""Days between two new links on a page of which nothing is known: most pages show none. Chosen."""
OBJECTIVES = {"both": (1.0, 1.0), "freshness": (1.0, 0.0), "discovery": (0.0, 1.0)}
"""What a fresh copy and what a discovered page is worth, by objective."""


@dataclass(frozen=True, slots=True)
class RevisitSettings:
    """How a crawl fetches pages again.

    Attributes
    ----------
    objective
        One of `OBJECTIVES`.
    rule
        Name of the schedule, see `rules`.
    fetches_per_day
        Fetches of known pages a day, of each site; 0 if nobody said. By it pages are given a next time.
    least_s, longest_s
        Seconds between two fetches of a page: not before, and not later than.
    """

    objective: str = "both"
    rule: str = DEFAULT
    fetches_per_day: float = 0.0
    least_s: float = 3_600.0
    longest_s: float = 365.0 * DAY_S

    def problems(self, prefix: str) -> list[FieldProblem]:
        """Return what is wrong, by field."""
        found = []
        if self.objective not in OBJECTIVES:
            rule = f"must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}"
            found.append(FieldProblem(f"{prefix}.objective", rule))
        try:
            rule_named(self.rule)
        except NotFound as exc:
            found.append(FieldProblem(f"{prefix}.rule", str(exc)))
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


@dataclass(frozen=True, slots=True)
class Fetched:
    """One fetch as revisits see it.

    Attributes
    ----------
    key, url
        Identity hash and URL of the page.
    now_s
        When, in seconds since the epoch.
    link_path, pattern
        What it was reached through, and the pattern of its URL.
    own
        Characters of own text now.
    unseen, taken
        Of these, in blocks that the site had never shown, and in blocks that were another page's before.
    fresh_links
        Links to pages that nobody had seen.
    """

    key: int
    url: str
    now_s: float
    link_path: int = 0
    pattern: int = 0
    own: int = 0
    unseen: int = 0
    taken: int = 0
    fresh_links: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    """A page to fetch again: what a fetch is worth, and why.

    Attributes
    ----------
    url, key
        The page, by URL and identity hash.
    worth
        By the rule; comparable between sites.
    reason
        ``stale``, ``hub`` if most of it is new pages to discover, or ``check`` if it waited `longest_s`.
    last_s
        When it was fetched last, in seconds since the epoch.
    changes
        Changes to expect since.
    rate
        Changes a day that are believed.
    """

    url: str
    key: int
    worth: float
    reason: str
    last_s: float
    changes: float
    rate: float


@dataclass(frozen=True, slots=True)
class Revisited:
    """What a fetch says of its page: what changed, its rate, and when to fetch it again, None if not told.

    `is_again` says whether the page was fetched before.
    """

    change: PageChange
    rate: Belief
    next_s: float | None
    is_again: bool = True


class SiteRevisits(Stateful):
    """Takes fetches in, one after the other, and ranks known pages at any time. Written by one thread.

    Parameters
    ----------
    settings
        Of the crawl.
    max_pages
        Pages kept.
    """

    state_name = "revisits"

    pages: Stored[PageTable]
    groups: Stored[PageGroups]
    _change_days: Stored[list[float]]
    _link_days: Stored[list[float]]
    _stamps: Stored[Stamps]
    _hubs: Stored[dict[int, float]]
    _importance: Stored[dict[int, float]]
    _price: Stored[float]
    _since_fit: Stored[int]
    fetches: Stored[int]
    wasted: Stored[int]

    def __init__(self, settings: RevisitSettings, max_pages: int = 1_000_000) -> None:
        self.pages = PageTable(max_pages)
        self.groups = PageGroups()
        self._change_days, self._link_days = [FIRST_DAYS], [FIRST_LINK_DAYS]
        self._stamps = Stamps()
        self._hubs = {}
        self._importance = {}
        self._price = 0.0
        self._since_fit = 0
        self.fetches = self.wasted = 0
        self.configure(settings)

    def configure(self, settings: RevisitSettings) -> None:
        """Take over other settings; what was learned stays."""
        self.settings = settings
        self.rule: Rule = rule_named(settings.rule)
        self._fresh_worth, self._found_worth = OBJECTIVES[settings.objective]

    def fetched(self, fetch: Fetched) -> Revisited:
        """Take in a page that came; O(log pages)."""
        row = self.pages.find(fetch.key)
        if row < 0:
            row = self._enter(fetch)
            return replace(self._answer(row, UNCHANGED), is_again=False)
        known = self.pages.rows[row]
        change = self._change(int(known["own"]), fetch)
        known["own"] = fetch.own % 0x10000
        known["flags"] &= ~np.uint8(IS_GONE)
        if change.gone:
            known["flags"] |= IS_GONE
        self._learn(row, fetch.now_s, change)
        return self._answer(row, change)

    def unchanged(self, key: int, now_s: float) -> Revisited | None:
        """Take in that a page is as it was (304); None if it is not known."""
        row = self.pages.find(key)
        if row < 0:
            return None
        self.pages.rows[row]["flags"] &= ~np.uint8(IS_GONE)
        self._learn(row, now_s, UNCHANGED)
        return self._answer(row, UNCHANGED)

    def gone(self, key: int, now_s: float) -> Revisited | None:
        """Take in that a page is no more; None if it was not known."""
        row = self.pages.find(key)
        if row < 0:
            return None
        if not int(self.pages.rows[row]["flags"]) & IS_GONE:
            self.pages.rows[row]["flags"] |= IS_GONE
            self._learn(row, now_s, GONE)
        return self._answer(row, GONE)

    def failed(self, key: int, now_s: float) -> None:
        """Take in that a page did not come: nothing is known of it, and it waits anew."""
        row = self.pages.find(key)
        if row >= 0:
            self.pages.rows[row]["last"] = _seconds(now_s)

    def lost(self, chars: dict[int, int]) -> None:
        """Take in that pages, by key, lost own text to others."""
        for key, count in chars.items():
            row = self.pages.find(key)
            if row >= 0:
                known = self.pages.rows[row]
                known["own"] = (int(known["own"]) - count) % 0x10000

    def important(self, key: int, worth: float) -> None:
        """Say what a fresh copy of a page is worth beside others, which are worth 1; in [0, 1]."""
        self._importance[key] = worth
        drop_oldest(self._importance, _REPORTED)

    def rank(self, now_s: float, n: int) -> list[Due]:
        """Return the pages to fetch again, best first; cost O(pages), deterministic.

        Parameters
        ----------
        now_s
            The time, in seconds since the epoch.
        n
            How many at most.
        """
        rows = self._known_rows()
        waited = _days(now_s, self.pages.rows["last"][rows])
        is_check = waited * DAY_S >= self.settings.longest_s
        worth = np.where(is_check, np.inf, self.rule.worth(self._waiting(rows, waited)))
        keys = self.pages.rows["key"][rows]
        left = np.flatnonzero(waited * DAY_S >= self.settings.least_s)
        if len(left) > n > 0:
            bar = np.partition(worth[left], len(left) - n)[len(left) - n]
            left = left[worth[left] >= bar]  # with all that are worth the same, to be told apart by key
        best = left[np.lexsort((keys[left], -worth[left]))][:n]
        waiting = self._waiting(rows[best], waited[best])
        return [self._due(int(rows[at]), float(worth[at]), waiting, i) for i, at in enumerate(best)]

    def expected_freshness(self, now_s: float) -> float:
        """Return the share of known pages believed to be as they were fetched last; 1 if none is known."""
        rows = self._known_rows()
        if not len(rows):
            return 1.0
        shape, days = self._believed(rows)
        waited = _days(now_s, self.pages.rows["last"][rows])
        # the mean of e^(-D t) over a Gamma distribution
        return float(np.exp(-shape * np.log1p(waited / days)).mean())

    def _known_rows(self) -> NDArray[np.intp]:
        return np.flatnonzero((self.pages.rows["flags"] & IS_GONE) == 0)

    def _waiting(self, rows: NDArray[np.intp], waited: Column) -> Waiting:
        """Return rows as a rule sees them."""
        known = self.pages.rows
        shape, days = self._believed(rows)
        links, watched = self._links(rows)
        importance = np.ones(len(rows))
        if self._importance:
            worth = self._importance
            importance = np.array([worth.get(key, 1.0) for key in known["key"][rows].tolist()])
        priors = SHAPE * np.array(self._link_days)[known["group"][rows]]
        return Waiting(
            waited=waited,
            shape=shape,
            days=days,
            interval=known["interval"][rows].astype(np.float64),
            importance=self._fresh_worth * importance,
            discoveries=self._found_worth * (SHAPE + links) / (priors + watched),
        )

    def _believed(self, rows: NDArray[np.intp]) -> tuple[Column, Column]:
        """Return shape and days of what is believed of each row, see `rates.Belief`."""
        known = self.pages.rows  # a column at a time: gathering whole rows takes thrice as long
        days = np.array(self._change_days)[known["group"][rows]] if self.rule.shares else FIRST_DAYS
        return SHAPE + known["changes"][rows].astype(np.float64), SHAPE * days + known["days"][rows].astype(
            np.float64
        )

    def _links(self, rows: NDArray[np.intp]) -> tuple[Column, Column]:
        """Return how many new links pages showed, and in how many days."""
        known, links = self.pages.rows, np.zeros(len(rows))
        for at in np.flatnonzero(known["flags"][rows] & HUB):
            links[at] = self._hubs[int(known["key"][rows[at]])]
        return links, known["watched"][rows].astype(np.float64)

    def _due(self, row: int, worth: float, waiting: Waiting, at: int) -> Due:
        known = self.pages.rows[row]
        waited, stale = waiting.waited[at : at + 1], waiting.shape[at] / waiting.days[at]
        new = float(discovery_worth(waiting.discoveries[at : at + 1], waited)[0])
        reason = "check" if worth == np.inf else "hub" if new > worth / 2.0 else "stale"
        changes = float(waited[0] * stale)
        key, last = int(known["key"]), float(known["last"])
        return Due(self.pages.url(row), key, worth, reason, last, changes, float(stale))

    def _enter(self, fetch: Fetched) -> int:
        row = self.pages.add(fetch.key, fetch.url, _seconds(fetch.now_s))
        known = self.pages.rows[row]
        known["own"] = fetch.own % 0x10000
        known["interval"] = self._bounded(FIRST_DAYS)
        known["group"] = self.groups.number(fetch.link_path, fetch.pattern)
        if len(self._change_days) < len(self.groups):  # like the rest of the site until the next fit
            self._change_days.append(self._change_days[0])
            self._link_days.append(self._link_days[0])
        return row

    def _bounded(self, days: float) -> float:
        least, longest = self.settings.least_s / DAY_S, self.settings.longest_s / DAY_S
        return max(min(max(days, least), longest, _MOST_DAYS), _LEAST_DAYS)

    def _change(self, before: int, fetch: Fetched) -> PageChange:
        if before and not fetch.own and not fetch.unseen:
            return GONE
        longer = own_difference(before, fetch.own) - fetch.taken
        chars = self._stamps.without(changed_chars(fetch.unseen, longer))
        share = chars / max(fetch.own, fetch.own - longer, chars, 1)
        return PageChange(chars > 0, share, fetch.fresh_links)

    def _learn(self, row: int, now_s: float, change: PageChange) -> None:
        """Let the page, and those like it, learn from what a fetch found."""
        known = self.pages.rows[row]
        waited = (_seconds(now_s) - int(known["last"])) / DAY_S
        known["last"] = _seconds(now_s)
        self.fetches += 1
        self.wasted += not (change.changed or change.fresh_links)
        if waited <= 0.0:
            return  # no time between the two, or they came out of order: that says nothing of a rate
        before = self.belief(row)
        after = before.after(waited, changed=change.changed)
        changes, days = max(0.0, after.shape - before.shape), max(0.0, after.days - before.days)
        known["changes"] = FORGET * float(known["changes"]) + changes
        known["days"] = min(FORGET * float(known["days"]) + days, _MOST_DAYS)
        known["interval"] = self._bounded(
            self.rule.next_interval(float(known["interval"]), changed=change.changed)
        )
        known["watched"] = min(FORGET * float(known["watched"]) + waited, _MOST_DAYS)
        self._learn_links(row, float(change.fresh_links))
        self._since_fit += 1
        if self._since_fit >= max(1, len(self.pages) // _FIT_SHARE):
            self._fit()

    def _learn_links(self, row: int, links: float) -> None:
        known, key = self.pages.rows[row], int(self.pages.rows[row]["key"])
        if links and key not in self._hubs:
            self._hubs[key] = 0.0
            known["flags"] |= HUB
            for old, _ in drop_oldest(self._hubs, _HUBS):
                at = self.pages.find(old)
                if at >= 0:
                    self.pages.rows[at]["flags"] &= ~np.uint8(HUB)
        if key in self._hubs:
            self._hubs[key] = FORGET * self._hubs[key] + links

    def belief(self, row: int) -> Belief:
        """Return what is believed of the rate of a row."""
        known = self.pages.rows[row]
        days = self._change_days[int(known["group"])] if self.rule.shares else FIRST_DAYS
        return Belief(SHAPE + float(known["changes"]), SHAPE * days + float(known["days"]))

    def _fit(self) -> None:
        """Let groups take over what their pages taught, and tell the price of a fetch; O(pages)."""
        rows, above = self.pages.rows, self.groups.link_paths()
        groups = rows["group"].astype(np.intp)
        changes, days = rows["changes"].astype(np.float64), rows["days"].astype(np.float64)
        self._change_days = fit(groups, above, changes, days, FIRST_DAYS).tolist()
        self._link_days = fit(groups, above, *self._links(np.arange(len(rows))), FIRST_LINK_DAYS).tolist()
        self._since_fit = 0
        if self.settings.fetches_per_day:
            self._price = self._price_now()

    def _answer(self, row: int, change: PageChange) -> Revisited:
        belief = self.belief(row)
        return Revisited(change, belief, None if change.gone else self._next(row))

    def _next(self, row: int) -> float | None:
        """Return when to fetch a page again at the fetches a day that the site has, None if nobody said."""
        if not self.settings.fetches_per_day:
            return None
        if not self._price:
            self._price = self._price_now()
        days = float(self._intervals(np.array([row]), self._price)[0])
        return float(self.pages.rows[row]["last"]) + days * DAY_S

    def _price_now(self) -> float:
        """Return what a fetch must be worth so that there are as many as there may be.

        Cost O(pages), and 100 us for each of some 40 tries.
        """
        rows = self._known_rows()
        sample = rows[:: max(1, len(rows) // _SAMPLED)]
        share = self.settings.fetches_per_day * len(sample) / max(1, len(rows))
        low, high = 1e-12, 1e12
        for _ in range(_PRICE_STEPS):
            price = math.sqrt(low * high)
            if float((1.0 / self._intervals(sample, price)).sum()) > share:
                low = price
            else:
                high = price
        return high

    def _intervals(self, rows: NDArray[np.intp], price: float) -> Column:
        """Return after how many days a fetch of each page is worth a price, within the bounds."""
        days = self.rule.intervals(self._waiting(rows, np.zeros(len(rows))), price)
        return np.clip(days, self.settings.least_s / DAY_S, self.settings.longest_s / DAY_S)


def _seconds(now_s: float) -> int:
    return min(max(0, int(now_s)), 0xFFFFFFFF)


def _days(now_s: float, last: NDArray[np.uint32]) -> Column:
    waited: Column = np.maximum(0.0, now_s - last) / DAY_S
    return waited
