"""Replay a schedule against the history of a site, and measure how fresh its copies were."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_research.revisits.histories import YEAR_DAYS, SiteHistory, Times
from linkscore_scoring.columns import Floats
from linkscore_scoring.revisits.pages import DAY_S, OBJECTIVES, Fetched, RevisitSettings
from linkscore_scoring.revisits.rates import discovery_worth
from linkscore_scoring.revisits.site import FIRST_DAYS, SiteRevisits

FASTER, SLOWER = 0.2, 0.4
"""How an interval falls and rises, see `Intervals`."""
START_S = 1e9
"""When histories begin, in seconds since the epoch: any time will do."""
_AT_ONCE = 100
"""One page of so many is fetched at a time; all are ranked before that."""
_FOREVER_S = 1e11
"""Some 3,000 years, more than any history: no page is fetched only because it waited long."""
_SITEMAP = 10**9
"""Key of the sitemap: no page has so high a row."""
_OWN = 1_000
"""Characters of own text of every page: only changes count."""


SCHEDULES = ("greedy", "adaptive", "fixed")
"""What is compared: the library's, and two that crawlers have, see `Intervals`."""
Shown = Callable[[int, float], list[int]]
"""Rows of the pages that a page shows on a day."""


@dataclass(frozen=True)
class Measured:
    """What a schedule reached on one site."""

    # Share of the time of all pages, from first fetch to end, in which the copy was as the page
    freshness: float
    age_days: float  # Mean time since the first change that the copy lacks, 0 while it is fresh
    # Median of the days from the birth of a page to the fetch that showed it; 0 without lists
    delay_days: float
    fetches: int  # Fetches of known pages, and those that found nothing new
    wasted: float


class Schedule(ABC):
    """Says which pages to fetch, by their rows in the history, and is told what fetches found."""

    @abstractmethod
    def first(self, row: int, group: int, day: float) -> None:
        """Take in the first fetch of a page."""

    @abstractmethod
    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        """Take in another fetch: whether the page changed, links to new pages, whether it is no more."""

    def reads(self) -> int:
        """Return how many fetches of something else than pages it made since it was asked last."""
        return 0

    @abstractmethod
    def best(self, day: float, n: int) -> list[int]:
        """Return up to `n` pages to fetch."""


class Intervals(Schedule):
    """What crawlers have: each page has an interval, and the most overdue by it comes first.

    With `adapts` an interval falls by .2 of itself at a change and else rises by .4, the defaults of Nutch's
    ``AdaptiveFetchSchedule`` (``db.fetch.schedule.adaptive.dec_rate`` and ``inc_rate``); StormCrawler's
    ``AdaptiveScheduler`` does the same. Without, every page comes after the same time.
    """

    def __init__(self, *, adapts: bool) -> None:
        self._adapts, self._last, self._days = adapts, dict[int, float](), dict[int, float]()

    def first(self, row: int, group: int, day: float) -> None:
        self._last[row], self._days[row] = day, FIRST_DAYS

    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        self._last[row] = day
        if self._adapts:
            self._days[row] *= 1.0 - FASTER if changed or links else 1.0 + SLOWER
        if gone:
            del self._last[row]

    def best(self, day: float, n: int) -> list[int]:
        return heapq.nlargest(
            n, self._last, key=lambda row: ((day - self._last[row]) / self._days[row], -row)
        )


class Learned(Schedule):
    """What the library learns from the fetches."""

    def __init__(self, objective: str = "both") -> None:
        settings = RevisitSettings(objective=objective, least_s=1.0, longest_s=_FOREVER_S)
        self.site = SiteRevisits(settings)

    def first(self, row: int, group: int, day: float) -> None:
        self.site.fetched(Fetched(row, str(row), _time(day), own=_OWN))

    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        if gone:
            self.site.gone(row, _time(day))
        elif changed or links:
            # text in place of as much other text, of all sizes: one size would be that of a stamp
            unseen = 20 + (row * 7_919 + int(day * 97)) % 900 if changed else 0
            self.site.fetched(Fetched(row, "", _time(day), own=_OWN, unseen=unseen, fresh_links=links))
        else:
            self.site.unchanged(row, _time(day))

    def best(self, day: float, n: int) -> list[int]:
        return [due.key for due in self.site.rank(_time(day), n)]


class Listed(Learned):
    """`Learned`, and a sitemap that says when pages changed last: of an honest site, or of one that lies.

    The sitemap is a page like others: it is fetched when that is worth most. One that lies has every page
    changed by the latest build, which is daily.
    """

    def __init__(self, history: SiteHistory, *, lies: bool) -> None:
        super().__init__()
        self._history, self._lies, self._reads = history, lies, 0
        self.site.fetched(Fetched(_SITEMAP, "sitemap", _time(0.0)))

    def reads(self) -> int:
        read, self._reads = self._reads, 0
        return read

    def best(self, day: float, n: int) -> list[int]:
        found = super().best(day, n)
        if _SITEMAP in found:
            self._read(day)
            found.remove(_SITEMAP)
        return found

    def _read(self, day: float) -> None:
        self._reads += 1
        dates = [
            (row, int(_time(day if self._lies else max(page.born, *page.changes[page.changes <= day], 0.0))))
            for row, page in enumerate(self._history.pages)
            if page.born <= day < page.gone
        ]
        news = self.site.listed(dates, _time(day))
        self.site.fetched(Fetched(_SITEMAP, "", _time(day), fresh_links=news))


class Noticed(Learned):
    """`Learned`, and somebody who names the page of each change at once: honestly, or another page.

    Who lies names as many pages, at the same times, as who is honest.
    """

    def __init__(self, history: SiteHistory, *, lies: bool) -> None:
        super().__init__()
        told = sorted((float(day), row) for row, page in enumerate(history.pages) for day in page.changes)
        named = np.random.default_rng(len(told)).permutation(len(history.pages)) if lies else None
        self._told = deque((day, row if named is None else int(named[row])) for day, row in told)

    def best(self, day: float, n: int) -> list[int]:
        while self._told and self._told[0][0] <= day:
            changed, row = self._told.popleft()
            self.site.notified(row, _time(changed))
        return super().best(day, n)


class Oracle(Schedule):
    """Knows how often each page changes, and how many new pages each list shows, on the average of its life.

    It fetches what is worth most by Azar's rule, whose limit is the optimum of Poisson processes.
    """

    def __init__(self, history: SiteHistory, objective: str = "both") -> None:
        lives = np.array([min(page.gone, history.days) - page.born for page in history.pages])
        lives = np.maximum(lives, 1.0)
        listed = np.bincount(np.array(history.lists) + 1, minlength=len(lives) + 1)[1:]
        self._fresh, self._found = OBJECTIVES[objective]
        self._rates = np.array([len(page.changes) for page in history.pages]) / lives
        self._links = listed / lives
        self._last = np.full(len(lives), np.nan)

    def first(self, row: int, group: int, day: float) -> None:
        self._last[row] = day

    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        self._last[row] = np.nan if gone else day

    def best(self, day: float, n: int) -> list[int]:
        rows = np.flatnonzero(~np.isnan(self._last))
        waited = day - self._last[rows]
        stale = known_rate_worth(self._rates[rows], waited)
        worth = self._fresh * stale + self._found * discovery_worth(self._links[rows], waited)
        found: list[int] = rows[np.argsort(-worth, kind="stable")[:n]].tolist()
        return found


def known_rate_worth(rate: Floats, waited: Floats) -> Floats:
    """Return what a fetch is worth of pages whose rates are known, (n,) days of freshness, >= 0.

    Parameters
    ----------
    rate
        Changes a day, >= 0.
    waited
        Days since the last fetch, >= 0.

    References
    ----------
    Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable near-optimal policies for crawling, PNAS 115(32),
    2018: (w / D) (1 - (1 + D t) e^(-D t)).

    Examples
    --------
    >>> known_rate_worth(np.array([1.0, 0.0]), np.array([1.0, 5.0])).round(4)  # 1 - 2 / e
    array([0.2642, 0.    ])
    """
    grown = rate * waited
    small = grown < 1e-4  # the formula would cancel; its series is grown * t / 2
    safe = np.where(small, 1.0, rate)
    exact = (1.0 - (1.0 + grown) * np.exp(-grown)) / safe
    return np.where(small, grown * waited / 2.0, exact)


def schedule_named(name: str, objective: str = "both") -> Schedule:
    """Return one of `SCHEDULES`."""
    return Learned(objective) if name == "greedy" else Intervals(adapts=name == "adaptive")


def _time(day: float) -> float:
    return START_S + day * DAY_S


def replay(history: SiteHistory, schedule: Schedule, per_year: float) -> Measured:
    """Return what `follow` reached."""
    return follow(history, schedule, per_year).measured()


def follow(history: SiteHistory, schedule: Schedule, per_year: float, shown: Shown | None = None) -> Run:
    """Fetch the pages of a site as a schedule says, `per_year` times a year and page that is there.

    The first fetch of each page comes beside that, when it is known: at its birth, or when a page that
    shows it is fetched after it. A page that is gone takes a fetch to be told so.
    """
    run, there = Run(history, schedule, shown), _living(history)
    day = credit = 0.0
    while day < history.days:
        rate = max(there(day), 1) * per_year / YEAR_DAYS
        n = max(1, there(day) // _AT_ONCE)
        step = min(n / rate, 1.0)
        day, credit = day + step, credit + rate * step
        run.enter_born(day)
        if credit < n or day >= history.days:
            continue
        for row in schedule.best(day, n):
            run.fetch_again(row, day)
            credit -= 1.0
        read = schedule.reads()
        run.total, credit = run.total + read, credit - read
    return run


class Run:
    """The fetches of one replay."""

    def __init__(self, history: SiteHistory, schedule: Schedule, shown: Shown | None = None) -> None:
        self.history = history
        self._pages, self._schedule = history.pages, schedule
        self._shown = shown or self._listed
        self.fetches: list[list[float]] = [[] for _ in history.pages]
        self.found = np.full(len(history.pages), np.nan)
        self.total = self.wasted = 0
        self._births: list[tuple[float, int]] = []
        self._waiting: dict[int, list[tuple[float, int]]] = {}
        for row, page in enumerate(history.pages):
            by = history.lists[row]
            listed = self._births if by < 0 else self._waiting.setdefault(by, [])
            heapq.heappush(listed, (page.born, row))

    def enter_born(self, day: float) -> None:
        """Fetch pages that nothing lists, each at its birth, up to a day."""
        while self._births and self._births[0][0] <= day:
            born, row = heapq.heappop(self._births)
            self._enter(self._new([row], born), born)

    def fetch_again(self, row: int, day: float) -> None:
        """Fetch a known page, tell the schedule what came of it, then enter what the page shows by now."""
        page, last = self._pages[row], self.fetches[row][-1]
        gone = page.gone <= day
        before, now = np.searchsorted(page.changes, [last, day], "right")
        changed = not gone and bool(now > before)
        new = [] if gone else self._new(self._shown(row, day), day)
        self.fetches[row].append(day)
        self._schedule.again(row, day, changed=changed, links=len(new), gone=gone)
        self._enter(new, day)
        self.total += 1
        self.wasted += not (changed or gone or new)

    def measured(self) -> Measured:
        """Return how fresh the copies were."""
        return measured(self.history, self.fetches, self.found, self.total, self.wasted)

    def _new(self, rows: Iterable[int], day: float) -> list[int]:
        """Find pages that are new among some, and what these show in turn; return them in that order."""
        waiting, new = list(rows), list[int]()
        while waiting:
            row = waiting.pop()
            if np.isnan(self.found[row]):
                self.found[row] = day
                waiting += self._shown(row, day)
                new.append(row)
        return new

    def _enter(self, rows: Iterable[int], day: float) -> None:
        for row in rows:
            self.fetches[row].append(day)
            self._schedule.first(row, self._pages[row].group, day)

    def _listed(self, row: int, day: float) -> list[int]:
        listed, found = self._waiting.get(row, []), []
        while listed and listed[0][0] <= day:
            found.append(heapq.heappop(listed)[1])
        return found


def _living(history: SiteHistory) -> Callable[[float], int]:
    born = np.sort([page.born for page in history.pages])
    gone = np.sort([page.gone for page in history.pages])
    return lambda day: int(np.searchsorted(born, day, "right") - np.searchsorted(gone, day, "right"))


def measured(
    history: SiteHistory, fetches: list[list[float]], found: NDArray[np.float64], total: int, wasted: int
) -> Measured:
    """Return how fresh the copies were."""
    life = stale = age = 0.0
    for row, page in enumerate(history.pages):
        end = min(page.gone, history.days)
        if not fetches[row] or end <= fetches[row][0]:
            continue
        life += end - fetches[row][0]
        lacking = _lacking(page.changes, np.array(fetches[row]), end)
        stale += float(lacking.sum())
        age += float((lacking**2).sum()) / 2.0
    listed = [row for row, by in enumerate(history.lists) if by >= 0]
    born = np.array([history.pages[row].born for row in listed])
    delays = np.where(np.isnan(found[listed]), history.days, found[listed]) - born if listed else np.zeros(1)
    return Measured(
        freshness=1.0 - stale / life if life else 1.0,
        age_days=age / life if life else 0.0,
        delay_days=float(np.median(delays)),
        fetches=total,
        wasted=wasted / max(1, total),
    )


def _lacking(changes: Times, fetched: Times, end: float) -> Times:
    """Return how long each copy was stale: from the first change after its fetch to the next fetch, or end.

    Examples
    --------
    >>> _lacking(np.array([2.0, 3.0]), np.array([0.0, 5.0]), 8.0).tolist()
    [3.0, 0.0]
    """
    fetched = fetched[fetched < end]
    until = np.append(fetched[1:], end)
    first = np.append(changes, np.inf)[np.searchsorted(changes, fetched, "right")]
    stale: Times = np.maximum(0.0, until - first)
    return stale
