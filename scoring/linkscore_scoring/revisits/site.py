"""Revisits of one site: its known pages, what fetches taught of them, and which to fetch again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats, drop_oldest
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.revisits.listings import FACT as DATES
from linkscore_scoring.revisits.pages import (
    DAY_S,
    ENTRY_BYTES,
    FAILED,
    FEED,
    GONE,
    HUB,
    KIND,
    KINDS,
    LISTED,
    MOVED,
    NO_MORE,
    NOTHING_SAID,
    NOTICED,
    OBJECTIVES,
    SITEMAP,
    STRUCTURED,
    TITLE,
    UNCHANGED,
    VALIDATORS,
    Due,
    Fetched,
    PageChange,
    PageTable,
    RevisitSettings,
    Row,
    Stamps,
    Validators,
    own_difference,
)
from linkscore_scoring.revisits.rates import (
    FORECAST_PAGES,
    SHAPE,
    Belief,
    RecentChanges,
    Signals,
    Waiting,
    days_since,
    discovery_worth,
    due_worth,
    first_place,
    forecast,
    intervals,
    mean_days,
    noticed,
    price_of,
)
from linkscore_scoring.site.model import Fetch, SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import FeedbackObservation, PageObservation, Revisit

NOTED, REPEATED, UNKNOWN = 1, 2, 3
"""What becomes of a notice: taken in; nothing new; about a page that is not known, or gone."""
FIRST_DAYS, FIRST_LINK_DAYS = 30.0, 365.0
"""Days between two changes, and between two new links, of a page whose site taught nothing: most pages show
none. Chosen."""
FORGET = 0.9
"""What evidence of a page keeps of itself at each new one: some ten fetches count. Chosen on the living
synthetic corpus of .8, .9 and .95."""
_KEEP = 0.98
"""What counts of notices keep of themselves at each fetch: some fifty count. To lie of pages that hardly
change surprises little, so trust that was earned would outlast many lies. Chosen, not measured."""
GONE_STATUSES = (404, 410)
"""HTTP statuses of pages that are no more (RFC 9110, sections 15.5.5 and 15.5.11)."""
_LEAST_IMPORTANCE = 0.1
"""What a fresh copy of a page is worth that feedback says is worth nothing: it may be again. Chosen."""
_MOST_DAYS = 60_000.0
"""A bound: the largest number of float16 is 65,504."""
_FAILURES, _HUBS, _REPORTED = 20_000, 20_000, 100_000
"""Bounds: pages whose failures are remembered, that showed new links, and with an importance, validators or a
notice of their own."""
_DOUBLINGS = 40
"""A bound: an hour doubled so often is 100 million years, and a float holds it."""
_PAIR_BYTES, _VALIDATORS_BYTES = 90, 330
"""Memory of a pair of numbers, and of an entry of two texts, an entity tag of 30 characters and a date, by
``sys.getsizeof``."""
_PART = 16_384
"""Rows valued at a time: columns of so many stay in a cache, and need no new memory from the system. Measured
of 2,048 to a million: 57 ms for a million pages, 189 at once."""
_SAMPLED = 512
"""A bound: pages by which the price of a fetch is told."""
_GROWN = 1.5
"""The price of a fetch is told again when there are so many times the pages of the last time. Chosen."""
_FIT_SHARE, _FIT_LEAST = 4, 8
"""The site learns when a quarter as many fetches came as pages are known, eight at least: it costs a
millisecond however few they are. Chosen, not measured."""

Rows = NDArray[np.intp] | slice
"""Rows of the table by number, or all."""


class SiteRevisits(Stateful):
    """Takes fetches in, one after the other, and ranks known pages at any time. Written by one thread.

    `settings`: of the crawl.
    `max_pages`: pages kept.
    """

    pages: Stored[PageTable]
    fetches: Stored[int]
    _change_days: Stored[float]
    _link_days: Stored[float]
    _hub_days: Stored[float]
    _recent: Stored[RecentChanges]
    _stamps: Stored[Stamps]
    _titles: Stored[Stamps]
    _structured: Stored[Stamps]
    _hubs: Stored[dict[int, float]]
    _importance: Stored[dict[int, float]]
    _validators: Stored[dict[int, Validators]]
    # by key: fetches that failed in a row, when the last one was, if it redirected; the latest change told
    # of that no fetch has checked yet
    _failed: Stored[dict[int, tuple[int, float, bool]]]
    _told: Stored[dict[int, float]]
    dates: Stored[Signals]
    notices: Stored[Signals]
    _read_s: Stored[float]  # when a listing was read last
    _price: Stored[float]  # what a fetch is worth, and for how many pages that was told
    _priced: Stored[int]
    _since_fit: Stored[int]

    def __init__(self, settings: RevisitSettings, max_pages: int = 1_000_000) -> None:
        self.pages = PageTable(max_pages)
        self._change_days, self._link_days = FIRST_DAYS, FIRST_LINK_DAYS
        self._hub_days = FIRST_LINK_DAYS  # of pages that showed some: most never do, and say nothing of those
        self._recent = RecentChanges()
        self._stamps, self._titles, self._structured = Stamps(), Stamps(), Stamps()
        self.dates, self.notices = Signals(), Signals()
        self.configure(settings)

    def configure(self, settings: RevisitSettings) -> None:
        """Take over other settings; what was learned stays."""
        self.settings = settings
        self._fresh_worth, self._found_worth = OBJECTIVES[settings.objective]
        self._priced = 0

    # -- what fetches found --------------------------------------------------------------------------------

    def observe(self, fetch: Fetch, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch of a crawl: a page, one that moved, one that is gone, or a failure."""
        self._lost(page.lost)
        features, status = fetch.features, fetch.status_code
        if features is None:
            is_moved = 300 <= status < 400
            take = self.gone if status in GONE_STATUSES else self.moved if is_moved else self.failed
            page.revisit = take(site.aliases.get(fetch.requested, fetch.requested), fetch.now_s)
            return
        if fetch.requested != fetch.key:
            self.moved(fetch.requested, fetch.now_s)  # a page of its own once; a redirect by now
        facts, news = features.facts, 0.0
        dates = facts.get(DATES, ())
        if dates and len(dates) == len(fetch.link_keys):  # logs have dates of links the crawler replaced
            news = self.listed(zip(fetch.link_keys, dates, strict=True), fetch.now_s)
        said = Fetched(
            key=fetch.key,
            url=fetch.url,
            now_s=fetch.now_s,
            own=site.texts.owned_chars(fetch.key, features.block_hashes, features.block_chars),
            unseen=page.unseen_chars,
            taken=page.own_chars - page.novel_chars,
            fresh_links=sum(page.fresh) + news,
            title=facts.get(TITLE, 0),
            structured=facts.get(STRUCTURED, 0),
            validators=Validators(*facts.get(VALIDATORS, ())),
            kind=facts.get(KIND, "page"),
        )
        page.revisit = self.fetched(said)

    def feedback(self, event: FeedbackObservation) -> None:
        """Let what extraction found say what a fresh copy is worth beside others, which are worth 1."""
        if math.isfinite(event.reward):
            self._importance[event.key] = max(_LEAST_IMPORTANCE, event.reward)
            drop_oldest(self._importance, _REPORTED)

    def fetched(self, fetch: Fetched) -> Revisit:
        """Take in a page that came; O(log pages)."""
        self._keep(fetch.key, fetch.validators)
        row = self.pages.find(fetch.key)
        if row < 0:
            return self._answer(self._enter(fetch))
        known = self.pages.row(row)
        change = self._change(known, fetch)
        flags = known.flags & ~(GONE | SITEMAP | FEED) | KINDS[fetch.kind]
        own, title = fetch.own % 0x10000, fetch.title or known.title
        structured = fetch.structured or known.structured
        self._learn(row, known, fetch.now_s, change, flags=flags, own=own, title=title, structured=structured)
        return self._answer(row, change)

    def unchanged(self, key: int, now_s: float) -> Revisit | None:
        """Take in that a page is as it was (304); None if it is not known."""
        row = self.pages.find(key)
        if row < 0:
            return None
        known = self.pages.row(row)
        self._learn(row, known, now_s, UNCHANGED, flags=known.flags & ~GONE)
        return self._answer(row, UNCHANGED)

    def gone(self, key: int, now_s: float) -> Revisit | None:
        """Take in that a page is no more; None if it was not known.

        It is looked at once more after the longest interval: errors and maintenance look like that, too.
        """
        row = self.pages.find(key)
        if row < 0:
            return None
        known = self.pages.row(row)
        if not known.flags & GONE:
            self._learn(row, known, now_s, NO_MORE, flags=known.flags | GONE)
        elif now_s - known.last >= self.settings.longest_s:
            self.pages.flag(row, FAILED, is_set=True)
        return self._answer(row, NO_MORE)

    def moved(self, key: int, now_s: float) -> Revisit | None:
        """Take in that a page redirects; None if it was not known.

        It is gone if it redirected a day or more ago, too: maintenance and log-in pages look like that.
        """
        row = self.pages.find(key)
        _, last_s, has_moved = self._failed.get(key, (0, now_s, False))
        is_gone = row >= 0 and self.pages.row(row).flags & GONE
        if is_gone or (has_moved and now_s - last_s >= DAY_S):
            return self.gone(key, now_s)
        return self.failed(key, now_s, moved=True)

    def failed(self, key: int, now_s: float, *, moved: bool = False) -> Revisit | None:
        """Take in that a page did not come; None if it was not known.

        Nothing was seen of it, so its last fetch stays what it was. It is tried again after the least
        interval, after twice that if it fails once more, and so on.
        """
        row = self.pages.find(key)
        if row < 0:
            return None
        count, last, _ = self._failed.get(key, (0, now_s, False))
        self._failed[key] = (min(count + 1, _DOUBLINGS), max(last, now_s), moved)
        self._forget(self._failed, _FAILURES, FAILED)
        self.pages.flag(row, FAILED, is_set=True)
        known = self.pages.row(row)
        is_told = self.settings.fetches_per_day and not known.flags & GONE
        until = self._rests_until(key) if is_told else None
        return Revisit(None, self._belief(known).mean, until)

    def _lost(self, chars: dict[int, int]) -> None:
        """Take in that pages, by key, lost own text to others."""
        for key, count in chars.items():
            row = self.pages.find(key)
            if row >= 0:
                known = self.pages.rows[row]
                known["own"] = (int(known["own"]) - count) % 0x10000

    # -- what others say -----------------------------------------------------------------------------------

    def listed(self, dates: Iterable[tuple[int, int]], now_s: float) -> float:
        """Take in what a listing says: when pages, by key, changed last, in seconds since the epoch.

        Returns pages whose dates moved since they were fetched and listed last, as far as that is news: what
        the fetch of the listing was worth, in fresh links.
        """
        self._read_s, moved = now_s, 0
        for key, changed_s in dates:
            row = self.pages.find(key) if 0 < changed_s <= now_s + DAY_S else -1
            if row >= 0:
                known = self.pages.row(row)
                is_later = changed_s > known.last
                moved += is_later and not known.flags & MOVED
                flags = LISTED | MOVED if is_later else LISTED
                self.pages.put(row, known._replace(flags=known.flags & ~MOVED | flags))
        return moved * self.dates.gain()

    def notified(self, key: int, change_s: float) -> int:
        """Take in that a page is said to have changed, in seconds since the epoch; returns `news` of it."""
        if (answer := self.news(key, change_s)) == NOTED:
            self._told[key] = change_s
            self._forget(self._told, _REPORTED, NOTICED)
            self.pages.flag(self.pages.find(key), NOTICED, is_set=True)
        return answer

    def news(self, key: int, change_s: float) -> int:
        """Return what would become of a notice: one of `NOTED`, `REPEATED`, `UNKNOWN`; O(log pages)."""
        row = self.pages.find(key)
        known = self.pages.row(row) if row >= 0 else None
        if known is None or known.flags & GONE:
            return UNKNOWN
        is_news = _seconds(change_s) > known.last and change_s > self._told.get(key, 0.0)
        return NOTED if is_news else REPEATED

    # -- which to fetch again ------------------------------------------------------------------------------

    def rank(self, now_s: float, n: int) -> list[Due]:
        """Return the pages to fetch again, best first; cost O(pages), deterministic.

        `now_s`: the time, in seconds since the epoch.
        `n`: how many at most.
        """
        values, keys = self._worth(now_s), self.pages.rows["key"]
        bar = 0.0
        if len(values) > n > 0:
            bar = max(0.0, np.partition(values, len(values) - n)[len(values) - n])
        left = np.flatnonzero(values >= bar)  # with all that are worth the same, to be told apart by key
        best = left[np.lexsort((keys[left], -values[left]))][:n]
        waiting, waited = self._waiting(best), days_since(self.pages.rows["last"][best], now_s)
        stale = waiting.shape / waiting.days
        new = discovery_worth(waiting.discoveries, waited) > values[best] / 2.0
        return [
            self._due(int(row), float(values[row]), float(stale[i]), is_hub=bool(new[i]))
            for i, row in enumerate(best)
        ]

    def forecast(self) -> bytes | None:
        """Return what `forecast.sites_due` takes; None if more than time decides, or pages are too many."""
        flags = self.pages.rows["flags"]
        if len(flags) > FORECAST_PAGES or (flags & (FAILED | LISTED | NOTICED)).any():
            return None
        return forecast(self.pages.rows["last"], flags & GONE, self._waiting(slice(None)))

    def memory_bytes(self) -> int:
        """Estimate what they take in memory."""
        pairs = _PAIR_BYTES * len(self._failed) + _VALIDATORS_BYTES * len(self._validators)
        entries = len(self._hubs) + len(self._importance) + len(self._failed) + len(self._told)
        return self.pages.memory_bytes() + ENTRY_BYTES * entries + pairs

    def _worth(self, now_s: float) -> Floats:
        """Return what a fetch of each row is worth, infinite if it waited too long, -1 if it is not due."""
        known, values = self.pages.rows, np.empty(len(self.pages))
        for first in range(0, len(values), _PART):
            rows = slice(first, first + _PART)
            waited, flags = days_since(known["last"][rows], now_s), known["flags"][rows]
            waiting = self._heeded(rows, waited, self._waiting(rows), now_s)
            values[rows] = due_worth(waiting, waited, (flags & GONE) != 0, self.settings)
            for at in np.flatnonzero(flags & FAILED):
                if flags[at] & GONE or self._rests_until(int(known["key"][rows][at])) > now_s:
                    values[rows][at] = -1.0
        return values

    def _heeded(self, rows: Rows, waited: Floats, waiting: Waiting, now_s: float) -> Waiting:
        """Let what listings and notices say of pages raise or lower what fetches of them are worth."""
        flags = self.pages.rows["flags"][rows]
        if not (flags & (LISTED | NOTICED)).any():
            return waiting
        factors, fresh = np.ones(len(waited)), _fresh(waiting.shape, waiting.days, waited)
        is_moved = (flags & MOVED) != 0
        if len(at := np.flatnonzero(flags & LISTED)):
            since = np.minimum(waited[at], max(0.0, now_s - self._read_s) / DAY_S)
            until = _fresh(waiting.shape[at], waiting.days[at], waited[at] - since)
            factors[at] = self.dates.factors(fresh[at], fresh[at] / until, is_moved[at])
        if len(at := np.flatnonzero(flags & NOTICED)):
            factors[at] = noticed(self.notices, fresh[at], factors[at], is_moved[at])
        return waiting._replace(importance=waiting.importance * factors)

    def _waiting(self, rows: Rows) -> Waiting:
        """Return rows as `rates.worth` takes them."""
        known = self.pages.rows
        shape, days = self._believed(rows)
        links, watched = self._links(rows)
        importance = np.ones(len(shape))
        if self._importance:
            told = self._importance
            importance = np.array([told.get(key, 1.0) for key in known["key"][rows].tolist()])
        priors = SHAPE * np.where((known["flags"][rows] & HUB) != 0, self._hub_days, self._link_days)
        discoveries = self._found_worth * (SHAPE + links) / (priors + watched)
        return Waiting(shape, days, self._fresh_worth * importance, discoveries)

    def _believed(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return shape and days of what is believed of each row, see `rates.Belief`."""
        known = self.pages.rows  # a column at a time: gathering whole rows takes thrice as long
        changes, own = known["changes"][rows].astype(np.float64), known["days"][rows].astype(np.float64)
        factors = self._recent.factors(changes, known["watched"][rows])
        return SHAPE + changes, (SHAPE * self._change_days + own) / factors

    def _links(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return how many new links pages showed, and in how many days."""
        known = self.pages.rows
        watched = known["watched"][rows].astype(np.float64)
        links, hubs = np.zeros(len(watched)), np.flatnonzero(known["flags"][rows] & HUB)
        if len(hubs):
            links[hubs] = [self._hubs[key] for key in known["key"][rows][hubs].tolist()]
        return links, watched

    def _due(self, row: int, value: float, rate: float, *, is_hub: bool) -> Due:
        known = self.pages.row(row)
        reason = "check" if value == math.inf else "hub" if is_hub else "stale"
        validators = self._validators.get(known.key, NOTHING_SAID)
        kind = next(name for name, flag in KINDS.items() if flag == known.flags & (SITEMAP | FEED))
        url, last_s = self.pages.url(row), float(known.last)
        return Due(url, known.key, value, reason, last_s, rate, validators, kind)

    def _rests_until(self, key: int) -> float:
        """Return when a page may be tried again: after the least interval, doubled with each failure."""
        if key not in self._failed:
            return 0.0
        count, last, _ = self._failed[key]
        return last + min(self.settings.least_s * 2.0 ** (count - 1), self.settings.longest_s)

    # -- learning ------------------------------------------------------------------------------------------

    def _keep(self, key: int, validators: Validators) -> None:
        """Keep what the site said of the copy there is; of one it said nothing of, forget the last."""
        if any(validators):
            self._validators[key] = validators
            drop_oldest(self._validators, _REPORTED)
        else:
            self._validators.pop(key, None)

    def _enter(self, fetch: Fetched) -> int:
        own = fetch.own % 0x10000
        row = Row(fetch.key, _seconds(fetch.now_s), own=own, title=fetch.title, structured=fetch.structured)
        return self.pages.add(row._replace(flags=KINDS[fetch.kind]), fetch.url)

    def _change(self, before: Row, fetch: Fetched) -> PageChange:
        longer = own_difference(before.own, fetch.own) - fetch.taken
        chars = self._stamps.without(max(fetch.unseen, fetch.unseen - longer, longer))
        titles = self._titles.of_mark(before.title, fetch.title)
        values = self._structured.of_mark(before.structured, fetch.structured)
        chars = max(chars, titles, values)
        share = chars / max(fetch.own, fetch.own - longer, chars, 1)
        is_list = fetch.kind == "page" and fetch.fresh_links > 0
        return PageChange(chars > 0 or is_list, share, fetch.fresh_links)

    def _learn(
        self, row: int, known: Row, now_s: float, change: PageChange, *, flags: int, **other: int
    ) -> None:
        """Let the page, and its site, learn from what a fetch found; write its row, `other` too."""
        at = _seconds(now_s)
        waited = (at - known.last) / DAY_S
        self._failed.pop(known.key, None)
        self._check(known, now_s, changed=change.changed)
        flags &= ~(FAILED | LISTED | MOVED | NOTICED)
        flags |= NOTICED if known.key in self._told else 0
        self.fetches += 1
        if waited <= 0.0:
            self.pages.put(row, known._replace(last=at, flags=flags, **other))
            return  # no time between the two, or they came out of order: that says nothing of a rate
        before = self._even(known)
        self._recent.learn(
            changes=known.changes,
            watched=known.watched,
            expected=before.stale(waited),
            changed=change.changed,
        )
        after = before.after(waited, changed=change.changed)
        changes, days = max(0.0, after.shape - before.shape), max(0.0, after.days - before.days)
        learned = known._replace(
            last=at,
            flags=flags,
            changes=FORGET * known.changes + changes,
            days=min(FORGET * known.days + days, _MOST_DAYS),
            watched=min(FORGET * known.watched + waited, _MOST_DAYS),
            **other,
        )
        self.pages.put(row, learned)
        self._learn_links(row, known.key, float(change.fresh_links))
        self._since_fit += 1
        if self._since_fit >= max(_FIT_LEAST, len(self.pages) // _FIT_SHARE):
            self._fit()

    def _check(self, known: Row, now_s: float, *, changed: bool) -> None:
        """Learn from a fetch what a notice and the date of a listing were worth."""
        belief, waited = self._belief(known), max(0.0, now_s - known.last)
        stale, told_s = belief.stale(waited / DAY_S), self._told.get(known.key, math.inf)
        if told_s <= now_s:
            self.notices.learn(stale=stale, moved=True, changed=changed, keep=_KEEP)
            del self._told[known.key]
        is_moved, until = bool(known.flags & MOVED), self._read_s - known.last
        # unless most of the time is after the listing was read
        if known.flags & LISTED and (is_moved or 2.0 * until >= waited > 0.0):
            self.dates.learn(stale=stale, moved=is_moved, changed=changed)

    def _learn_links(self, row: int, key: int, links: float) -> None:
        if links and key not in self._hubs:
            self._hubs[key] = 0.0
            self.pages.flag(row, HUB, is_set=True)
            self._forget(self._hubs, _HUBS, HUB)
        if key in self._hubs:
            self._hubs[key] = FORGET * self._hubs[key] + links

    def _forget(self, kept: dict[int, Any], most: int, flag: int) -> None:
        """Forget the oldest pages of which something is kept beside their rows."""
        for key, _ in drop_oldest(kept, most):
            row = self.pages.find(key)
            if row >= 0:
                self.pages.flag(row, flag, is_set=False)

    def _belief(self, known: Row) -> Belief:
        even = self._even(known)
        return Belief(even.shape, even.days / self._recent.factor(known.changes, known.watched))

    def _even(self, known: Row) -> Belief:
        """Return what would be believed of a page if its rate never changed."""
        return Belief(SHAPE + known.changes, SHAPE * self._change_days + known.days)

    def _fit(self) -> None:
        """Let the site take over what its pages taught; O(pages)."""
        rows = self.pages.rows
        changes, days = rows["changes"].astype(np.float64), rows["days"].astype(np.float64)
        self._change_days = mean_days(changes, days, FIRST_DAYS)
        links, watched = self._links(slice(None))
        self._link_days, is_hub = mean_days(links, watched, FIRST_LINK_DAYS), links > 0.0
        self._hub_days = mean_days(links[is_hub], watched[is_hub], FIRST_LINK_DAYS)
        self._since_fit = self._priced = 0

    # -- when to fetch again -------------------------------------------------------------------------------

    def _answer(self, row: int, change: PageChange | None = None) -> Revisit:
        """Return what is known of a page now; `change`: since the fetch before, None at the first."""
        known = self.pages.row(row)
        is_told = self.settings.fetches_per_day and not known.flags & GONE
        share = change.share if change is not None else None
        return Revisit(share, self._belief(known).mean, self._next(row, known) if is_told else None)

    def _next(self, row: int, known: Row) -> float:
        """Return when to fetch a page again at the fetches a day that the site has."""
        if len(self.pages) >= _GROWN * self._priced:
            self._price, self._priced = self._price_now(), len(self.pages)
        least, longest = self.settings.least_s, self.settings.longest_s
        days = float(intervals(self._waiting(np.array([row])), self._price)[0])
        if not known.watched:
            days *= first_place(known.key, self.fetches / len(self.pages))
        return known.last + min(max(days * DAY_S, least), longest)

    def _price_now(self) -> float:
        """Return what a fetch must be worth so that there are as many as there may be; O(pages)."""
        rows = np.flatnonzero((self.pages.rows["flags"] & GONE) == 0)
        sample = rows[:: max(1, len(rows) // _SAMPLED)]
        share = self.settings.fetches_per_day * len(sample) / max(1, len(rows))
        waiting = self._waiting(sample)
        least, longest = self.settings.least_s / DAY_S, self.settings.longest_s / DAY_S

        def fetches(price: float) -> float:
            return float((1.0 / np.clip(intervals(waiting, price), least, longest)).sum())

        return price_of(fetches, share)


def _seconds(now_s: float) -> int:
    return min(max(0, int(now_s)), 0xFFFFFFFF)


def _fresh(shape: Floats, days: Floats, waited: Floats) -> Floats:
    """Return the chance that copies are as their pages: the mean of e^(-D t) over what is believed of D."""
    return np.exp(-shape * np.log1p(waited / days))


def key_of(url: str, site: SiteModel) -> int:
    """Return the key of the page that a URL leads to, by its identity."""
    key = hash_of(site.sessions.strip(url))
    return site.aliases.get(key, key)
