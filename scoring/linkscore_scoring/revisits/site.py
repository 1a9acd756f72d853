"""Revisits of one site: its known pages, what fetches taught of them, and which to fetch again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.revisits.changes import (
    GONE,
    UNCHANGED,
    PageChange,
    Stamps,
    changed_chars,
    marked,
    own_difference,
)
from linkscore_scoring.revisits.failures import Failures
from linkscore_scoring.revisits.notices import NOTED, REPEATED, UNKNOWN, Notices
from linkscore_scoring.revisits.pages import (
    ENTRY_BYTES,
    FAILED,
    FEED,
    HUB,
    KINDS,
    LISTED,
    MOVED,
    NOTICED,
    SITEMAP,
    PageTable,
    Row,
)
from linkscore_scoring.revisits.pages import GONE as IS_GONE
from linkscore_scoring.revisits.prices import first_place, is_step, price_of
from linkscore_scoring.revisits.rates import Belief
from linkscore_scoring.revisits.recent import RecentChanges
from linkscore_scoring.revisits.rules import OnePage, Rule, Waiting, rule_named
from linkscore_scoring.revisits.shared import SHAPE, PageGroups, fit, mean_days
from linkscore_scoring.revisits.signals import Signals
from linkscore_scoring.revisits.validators import NOTHING_SAID, Validators
from linkscore_scoring.revisits.values import DAY_S, OBJECTIVES, Due, Fetched, Revisited, RevisitSettings
from linkscore_scoring.revisits.worth import Column, discovery_worth
from linkscore_scoring.state import State, Stateful, Stored

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
_VALIDATORS_BYTES = 330
"""Memory of an entry of two texts, an entity tag of 30 characters and a date, by ``sys.getsizeof``."""
_PART = 16_384
"""Rows valued at a time: columns of so many stay in a cache, and need no new memory from the system. Measured
of 2,048 to a million: 57 ms for a million pages, 189 at once."""
_SAMPLED = 512
"""A bound: pages by which the price of a fetch is told."""
_FIT_SHARE, _FIT_LEAST = 4, 8
"""Groups learn when a quarter as many fetches came as pages are known, eight at least: it costs a millisecond
however few they are. Chosen, not measured."""
FIRST_LINK_DAYS = 365.0
"""Days between two new links on a page of which nothing is known: most pages show none. Chosen."""


Rows = NDArray[np.intp] | slice
"""Rows of the table by number, or all."""


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
        self._hub_days = FIRST_LINK_DAYS  # of pages that showed some: most never do, and say nothing of those
        self._stamps = Stamps()
        self._titles: Stamps | None = None  # when the first one changes
        self._structured: Stamps | None = None  # likewise
        self._hubs = {}
        self._importance = {}
        self._recent = RecentChanges()
        self._failures = Failures()
        self._validators: dict[int, Validators] = {}
        self.signals: Signals | None = None  # of listings, when the first comes
        self.notices: Notices | None = None  # likewise
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
        self._keep(fetch.key, fetch.validators)
        row = self.pages.find(fetch.key)
        if row < 0:
            row = self._enter(fetch)
            return self._answer(row, UNCHANGED, is_again=False)
        known = self.pages.row(row)
        change = self._change(known, fetch)
        flags = known.flags & ~(IS_GONE | SITEMAP | FEED) | KINDS[fetch.kind]
        own, title = fetch.own % 0x10000, fetch.title or known.title
        structured = fetch.structured or known.structured
        self._learn(row, known, fetch.now_s, change, flags=flags, own=own, title=title, structured=structured)
        return self._answer(row, change)

    def unchanged(self, key: int, now_s: float) -> Revisited | None:
        """Take in that a page is as it was (304); None if it is not known."""
        row = self.pages.find(key)
        if row < 0:
            return None
        known = self.pages.row(row)
        self._learn(row, known, now_s, UNCHANGED, flags=known.flags & ~IS_GONE)
        return self._answer(row, UNCHANGED)

    def gone(self, key: int, now_s: float) -> Revisited | None:
        """Take in that a page is no more; None if it was not known.

        It is looked at once more after the longest interval: errors and maintenance look like that, too.
        """
        row = self.pages.find(key)
        if row < 0:
            return None
        known = self.pages.row(row)
        if not known.flags & IS_GONE:
            self._learn(row, known, now_s, GONE, flags=known.flags | IS_GONE)
        elif now_s - known.last >= self.settings.longest_s:
            self.pages.flag(row, FAILED, is_set=True)
        return self._answer(row, GONE)

    def moved(self, key: int, now_s: float) -> Revisited | None:
        """Take in that a page redirects, which the first time proves nothing; None if it was not known."""
        row = self.pages.find(key)
        if row >= 0 and self.pages.row(row).flags & (FAILED | IS_GONE):
            return self.gone(key, now_s)
        return self.failed(key, now_s)

    def failed(self, key: int, now_s: float) -> Revisited | None:
        """Take in that a page did not come; None if it was not known.

        Nothing was seen of it, so its last fetch stays what it was. It is tried again after the least
        interval, after twice that if it fails once more, and so on.
        """
        row = self.pages.find(key)
        if row < 0:
            return None
        for old in self._failures.add(key, now_s):
            at = self.pages.find(old)
            if at >= 0:
                self.pages.flag(at, FAILED, is_set=False)
        self.pages.flag(row, FAILED, is_set=True)
        known = self.pages.row(row)
        until = self._failures.until(key, self.settings.least_s, self.settings.longest_s)
        is_told = self.settings.fetches_per_day and not known.flags & IS_GONE
        return Revisited(UNCHANGED, self._belief(known), until if is_told else None, is_again=False)

    def listed(self, dates: Iterable[tuple[int, int]], now_s: float) -> float:
        """Take in what a listing says: when pages, by key, changed last, in seconds since the epoch.

        Returns
        -------
        float
            Pages whose dates moved since they were fetched and listed last, as far as that is news: what the
            fetch of the listing was worth, in fresh links.
        """
        self.signals = self.signals or Signals()
        self.signals.read_s, moved = now_s, 0
        for key, changed_s in dates:
            row = self.pages.find(key) if 0 < changed_s <= now_s + DAY_S else -1
            if row >= 0:
                known = self.pages.row(row)
                is_later = changed_s > known.last
                moved += is_later and not known.flags & MOVED
                flags = LISTED | MOVED if is_later else LISTED
                self.pages.put(row, known._replace(flags=known.flags & ~MOVED | flags))
        return moved * self.signals.gain()

    def notified(self, key: int, change_s: float) -> int:
        """Take in that a page is said to have changed, in seconds since the epoch; returns `news` of it."""
        if (answer := self.news(key, change_s)) == NOTED:
            self.notices = self.notices or Notices()
            for old in self.notices.add(key, change_s):
                at = self.pages.find(old)
                if at >= 0:
                    self.pages.flag(at, NOTICED, is_set=False)
            self.pages.flag(self.pages.find(key), NOTICED, is_set=True)
        return answer

    def news(self, key: int, change_s: float) -> int:
        """Return what would become of a notice: one of `NOTED`, `REPEATED`, `UNKNOWN`; O(log pages)."""
        row = self.pages.find(key)
        known = self.pages.row(row) if row >= 0 else None
        if known is None or known.flags & IS_GONE:
            return UNKNOWN
        told = self.notices.latest(key) if self.notices is not None and known.flags & NOTICED else 0.0
        return NOTED if _seconds(change_s) > known.last and change_s > told else REPEATED

    def _check_notice(self, known: Row, now_s: float, *, changed: bool) -> int:
        """Learn from a fetch what a notice was worth; return the flag if one is later than the fetch."""
        if self.notices is None or not known.flags & NOTICED:
            return 0
        belief, waited = self._belief(known), max(0.0, now_s - known.last) / DAY_S
        stale = 1.0 - (1.0 + waited / belief.days) ** -belief.shape
        return NOTICED if self.notices.checked(known.key, now_s, stale=stale, changed=changed) else 0

    def _heed(self, known: Row, now_s: float, *, changed: bool) -> None:
        """Learn from a fetch what the date of a listing was worth."""
        if self.signals is None or not known.flags & LISTED:
            return
        belief, is_moved = self._belief(known), bool(known.flags & MOVED)
        waited, until = now_s - known.last, self.signals.read_s - known.last
        if is_moved or 2.0 * until >= waited > 0.0:  # else most of the time is after the listing was read
            fresh = (1.0 + max(0.0, waited) / DAY_S / belief.days) ** -belief.shape
            self.signals.learn(stale=1.0 - fresh, moved=is_moved, changed=changed)

    def _heeded(self, rows: Rows, waited: Column, waiting: Waiting, now_s: float) -> None:
        """Let what listings and notices say of pages raise or lower what fetches of them are worth."""
        if self.signals is None and self.notices is None:
            return
        flags, factors = self.pages.rows["flags"][rows], np.ones(len(waited))
        if self.signals is not None and len(at := np.flatnonzero(flags & LISTED)):
            shape, days = waiting.shape[at], waiting.days[at]
            since = np.minimum(waited[at], max(0.0, now_s - self.signals.read_s) / DAY_S)
            fresh = np.exp(-shape * np.log1p(waited[at] / days))
            until = np.exp(-shape * np.log1p((waited[at] - since) / days))
            factors[at] = self.signals.factors(fresh, fresh / until, (flags[at] & MOVED) != 0)
        if self.notices is not None and len(at := np.flatnonzero(flags & NOTICED)):
            fresh = np.exp(-waiting.shape[at] * np.log1p(waited[at] / waiting.days[at]))
            factors[at] = self.notices.factors(fresh, factors[at], (flags[at] & MOVED) != 0)
        waiting.importance[:] *= factors

    def _keep(self, key: int, validators: Validators) -> None:
        """Keep what the site said of the copy there is; of one it said nothing of, forget the last."""
        if any(validators):
            self._validators[key] = validators
            drop_oldest(self._validators, _REPORTED)
        elif self._validators:
            self._validators.pop(key, None)

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
        worth, keys = self._worth(now_s), self.pages.rows["key"]
        bar = 0.0
        if len(worth) > n > 0:
            bar = max(0.0, np.partition(worth, len(worth) - n)[len(worth) - n])
        left = np.flatnonzero(worth >= bar)  # with all that are worth the same, to be told apart by key
        best = left[np.lexsort((keys[left], -worth[left]))][:n]
        waiting = self._waiting(best, _days(now_s, self.pages.rows["last"][best]))
        return [self._due(int(row), float(worth[row]), waiting, i) for i, row in enumerate(best)]

    def _worth(self, now_s: float) -> Column:
        """Return what a fetch of each row is worth, infinite if it waited too long, -1 if it is not due."""
        known, worth = self.pages.rows, np.empty(len(self.pages))
        for first in range(0, len(worth), _PART):
            rows = slice(first, first + _PART)
            waited = _days(now_s, known["last"][rows])
            seconds = waited * DAY_S
            waiting = self._waiting(rows, waited)
            self._heeded(rows, waited, waiting, now_s)
            found = np.where(seconds >= self.settings.longest_s, np.inf, self.rule.worth(waiting))
            flags = known["flags"][rows]
            is_gone = ((flags & IS_GONE) != 0) & (((flags & FAILED) != 0) | (found != np.inf))
            is_out = (seconds < self.settings.least_s) | is_gone
            worth[rows] = np.where(is_out | self._resting(rows, now_s), -1.0, found)
        return worth

    def expected_freshness(self, now_s: float) -> float:
        """Return the share of known pages believed to be as they were fetched last; 1 if none is known."""
        rows = self._known_rows()
        if not len(rows):
            return 1.0
        shape, days = self._believed(rows)
        waited = _days(now_s, self.pages.rows["last"][rows])
        # the mean of e^(-D t) over a Gamma distribution
        return float(np.exp(-shape * np.log1p(waited / days)).mean())

    def _resting(self, rows: Rows, now_s: float) -> NDArray[np.bool_]:
        """Return of which rows the last fetches failed, and the next one would be too soon."""
        found: NDArray[np.bool_] = (self.pages.rows["flags"][rows] & FAILED) != 0
        keys, least, longest = self.pages.rows["key"][rows], self.settings.least_s, self.settings.longest_s
        for at in np.flatnonzero(found):
            found[at] = self._failures.until(int(keys[at]), least, longest) > now_s
        return found

    def memory_bytes(self) -> int:
        """Estimate what they take in memory."""
        entries = len(self._hubs) + len(self._importance) + 2 * len(self.groups)
        beside = ENTRY_BYTES * entries + _VALIDATORS_BYTES * len(self._validators)
        beside += self.notices.memory_bytes() if self.notices is not None else 0
        return self.pages.memory_bytes() + beside + self._failures.memory_bytes()

    def to_state(self) -> State:
        """Return what was learned; what versions before did not know only if there is any."""
        state = super().to_state()
        if self._hub_days != FIRST_LINK_DAYS:
            state["hub_days"] = self._hub_days
        if self._recent:
            state["recent"] = self._recent.to_state()
        if self._failures:
            state["failures"] = self._failures.to_state()
        if self._validators:
            state["validators"] = [[key, *said] for key, said in self._validators.items()]
        if self._titles is not None:
            state["titles"] = self._titles.to_state()
        if self._structured is not None:
            state["structured"] = self._structured.to_state()
        if self.signals is not None:
            state["signals"] = self.signals.to_state()
        if self.notices is not None:
            state["notices"] = self.notices.to_state()
        return state

    def load_state(self, state: State) -> None:
        """Take over what `to_state` returned."""
        kept: dict[str, Any] = dict(state)
        self._hub_days = kept.pop("hub_days", FIRST_LINK_DAYS)
        self._titles = Stamps() if "titles" in kept else None
        if self._titles is not None:
            self._titles.load_state(kept.pop("titles"))
        self._structured = Stamps() if "structured" in kept else None
        if self._structured is not None:
            self._structured.load_state(kept.pop("structured"))
        self.signals = Signals() if "signals" in kept else None
        if self.signals is not None:
            self.signals.load_state(kept.pop("signals"))
        self.notices = Notices() if "notices" in kept else None
        if self.notices is not None:
            self.notices.load_state(kept.pop("notices"))
        self._recent = RecentChanges()
        if "recent" in kept:
            self._recent.load_state(kept.pop("recent"))
        self._failures = Failures()
        if "failures" in kept:
            self._failures.load_state(kept.pop("failures"))
        said = kept.pop("validators", ())
        self._validators = {key: Validators(etag, modified) for key, etag, modified in said}
        super().load_state(kept)

    def _known_rows(self) -> NDArray[np.intp]:
        return np.flatnonzero((self.pages.rows["flags"] & IS_GONE) == 0)

    def _waiting(self, rows: Rows, waited: Column) -> Waiting:
        """Return rows as a rule sees them."""
        known = self.pages.rows
        shape, days = self._believed(rows)
        links, watched = self._links(rows)
        importance = np.ones(len(waited))
        if self._importance:
            worth = self._importance
            importance = np.array([worth.get(key, 1.0) for key in known["key"][rows].tolist()])
        is_hub = (known["flags"][rows] & HUB) != 0
        priors = SHAPE * np.where(is_hub, self._hub_days, np.array(self._link_days)[known["group"][rows]])
        return Waiting(
            waited=waited,
            shape=shape,
            days=days,
            interval=known["interval"][rows].astype(np.float64),
            importance=self._fresh_worth * importance,
            discoveries=self._found_worth * (SHAPE + links) / (priors + watched),
        )

    def _believed(self, rows: Rows) -> tuple[Column, Column]:
        """Return shape and days of what is believed of each row, see `rates.Belief`."""
        known = self.pages.rows  # a column at a time: gathering whole rows takes thrice as long
        changes, own = known["changes"][rows].astype(np.float64), known["days"][rows].astype(np.float64)
        if not self.rule.shares:
            return SHAPE + changes, SHAPE * FIRST_DAYS + own
        days = SHAPE * np.array(self._change_days)[known["group"][rows]] + own
        return SHAPE + changes, days / self._recent.factors(changes, known["watched"][rows])

    def _links(self, rows: Rows) -> tuple[Column, Column]:
        """Return how many new links pages showed, and in how many days."""
        known = self.pages.rows
        watched = known["watched"][rows].astype(np.float64)
        links, hubs = np.zeros(len(watched)), np.flatnonzero(known["flags"][rows] & HUB)
        if len(hubs):
            links[hubs] = [self._hubs[key] for key in known["key"][rows][hubs].tolist()]
        return links, watched

    def _due(self, row: int, worth: float, waiting: Waiting, at: int) -> Due:
        known = self.pages.rows[row]
        waited, stale = waiting.waited[at : at + 1], waiting.shape[at] / waiting.days[at]
        new = float(discovery_worth(waiting.discoveries[at : at + 1], waited)[0])
        reason = "check" if worth == np.inf else "hub" if new > worth / 2.0 else "stale"
        changes = float(waited[0] * stale)
        key, last = int(known["key"]), float(known["last"])
        validators = self._validators.get(key, NOTHING_SAID)
        kind = next(name for name, flag in KINDS.items() if flag == int(known["flags"]) & (SITEMAP | FEED))
        return Due(self.pages.url(row), key, worth, reason, last, changes, float(stale), validators, kind)

    def _enter(self, fetch: Fetched) -> int:
        new = Row(
            fetch.key,
            _seconds(fetch.now_s),
            interval=self._bounded(FIRST_DAYS),
            own=fetch.own % 0x10000,
            group=self.groups.number(fetch.link_path, fetch.pattern),
            title=fetch.title,
            structured=fetch.structured,
            flags=KINDS[fetch.kind],
        )
        row = self.pages.add(new, fetch.url)
        if is_step(len(self.pages)):
            self._price = 0.0  # as many fetches for more pages: found again when it is asked for
        if len(self._change_days) < len(self.groups):  # like the rest of the site until the next fit
            self._change_days.append(self._change_days[0])
            self._link_days.append(self._link_days[0])
        return row

    def _bounded(self, days: float) -> float:
        least, longest = self.settings.least_s / DAY_S, self.settings.longest_s / DAY_S
        return max(min(max(days, least), longest, _MOST_DAYS), _LEAST_DAYS)

    def _change(self, before: Row, fetch: Fetched) -> PageChange:
        longer = own_difference(before.own, fetch.own) - fetch.taken
        chars = self._stamps.without(changed_chars(fetch.unseen, longer))
        titles, self._titles = marked(before.title, fetch.title, self._titles)
        values, self._structured = marked(before.structured, fetch.structured, self._structured)
        chars = max(chars, titles, values)
        share = chars / max(fetch.own, fetch.own - longer, chars, 1)
        is_list = fetch.kind == "page" and fetch.fresh_links > 0
        return PageChange(chars > 0 or is_list, share, fetch.fresh_links)

    def _learn(
        self, row: int, known: Row, now_s: float, change: PageChange, *, flags: int, **other: int
    ) -> None:
        """Let the page, and those like it, learn from what a fetch found; write its row, `other` too."""
        at = _seconds(now_s)
        waited = (at - known.last) / DAY_S
        if known.flags & FAILED:
            self._failures.forget(known.key)
        self._heed(known, now_s, changed=change.changed)
        later = self._check_notice(known, now_s, changed=change.changed)
        flags = flags & ~(FAILED | LISTED | MOVED | NOTICED) | later
        self.fetches += 1
        self.wasted += not (change.changed or change.fresh_links)
        if waited <= 0.0:
            self.pages.put(row, known._replace(last=at, flags=flags, **other))
            return  # no time between the two, or they came out of order: that says nothing of a rate
        before = self._even(known)
        if self.rule.shares:
            expected = 1.0 - (1.0 + waited / before.days) ** -before.shape
            self._recent.learn(
                changes=known.changes, watched=known.watched, expected=expected, changed=change.changed
            )
        after = before.after(waited, changed=change.changed)
        changes, days = max(0.0, after.shape - before.shape), max(0.0, after.days - before.days)
        learned = known._replace(
            last=at,
            flags=flags,
            changes=FORGET * known.changes + changes,
            days=min(FORGET * known.days + days, _MOST_DAYS),
            interval=self._bounded(self.rule.next_interval(known.interval, changed=change.changed)),
            watched=min(FORGET * known.watched + waited, _MOST_DAYS),
            **other,
        )
        self.pages.put(row, learned)
        self._learn_links(row, known.key, float(change.fresh_links))
        self._since_fit += 1
        if self._since_fit >= max(_FIT_LEAST, len(self.pages) // _FIT_SHARE):
            self._fit()

    def _learn_links(self, row: int, key: int, links: float) -> None:
        if links and key not in self._hubs:
            self._hubs[key] = 0.0
            self.pages.flag(row, HUB, is_set=True)
            for old, _ in drop_oldest(self._hubs, _HUBS):
                at = self.pages.find(old)
                if at >= 0:
                    self.pages.flag(at, HUB, is_set=False)
        if key in self._hubs:
            self._hubs[key] = FORGET * self._hubs[key] + links

    def belief(self, row: int) -> Belief:
        """Return what is believed of the rate of a row."""
        return self._belief(self.pages.row(row))

    def _belief(self, known: Row) -> Belief:
        even = self._even(known)
        if not self.rule.shares:
            return even
        return Belief(even.shape, even.days / self._recent.factor(known.changes, known.watched))

    def _even(self, known: Row) -> Belief:
        """Return what would be believed of a page if its rate never changed."""
        days = self._change_days[known.group] if self.rule.shares else FIRST_DAYS
        return Belief(SHAPE + known.changes, SHAPE * days + known.days)

    def _fit(self) -> None:
        """Let groups take over what their pages taught, and tell the price of a fetch; O(pages)."""
        rows, above = self.pages.rows, self.groups.link_paths()
        links, watched = self._links(slice(None))
        self._change_days, self._link_days = fit(
            rows["group"].astype(np.intp),
            above,
            np.array([rows["changes"], links]),
            np.array([rows["days"], watched]),
            np.array([FIRST_DAYS, FIRST_LINK_DAYS]),
        ).tolist()
        is_hub = links > 0.0
        self._hub_days = FIRST_LINK_DAYS
        if is_hub.any():
            self._hub_days = mean_days(links[is_hub], watched[is_hub], FIRST_LINK_DAYS)
        self._since_fit = 0
        if self.settings.fetches_per_day:
            self._price = self._price_now()

    def _answer(self, row: int, change: PageChange, *, is_again: bool = True) -> Revisited:
        known = self.pages.row(row)
        belief = self._belief(known)
        return Revisited(change, belief, None if change.gone else self._next(known, belief), is_again)

    def _next(self, known: Row, belief: Belief) -> float | None:
        """Return when to fetch a page again at the fetches a day that the site has, None if nobody said."""
        if not self.settings.fetches_per_day:
            return None
        if not self._price:
            self._price = self._price_now()
        days, least = self.rule.interval(self._one(known, belief), self._price), self.settings.least_s / DAY_S
        days *= 1.0 if known.watched else first_place(known.key, self.fetches / len(self.pages))
        return known.last + min(max(days, least), self.settings.longest_s / DAY_S) * DAY_S

    def _one(self, known: Row, belief: Belief) -> OnePage:
        """Return a row as a rule sees it: what `_waiting` does for many."""
        links = self._hubs[known.key] if known.flags & HUB else 0.0
        prior = SHAPE * (self._hub_days if known.flags & HUB else self._link_days[known.group])
        return OnePage(
            shape=belief.shape,
            days=belief.days,
            interval=known.interval,
            importance=self._fresh_worth * self._importance.get(known.key, 1.0),
            discoveries=self._found_worth * (SHAPE + links) / (prior + known.watched),
        )

    def _price_now(self) -> float:
        """Return what a fetch must be worth so that there are as many as there may be; O(pages)."""
        rows = self._known_rows()
        sample = rows[:: max(1, len(rows) // _SAMPLED)]
        share = self.settings.fetches_per_day * len(sample) / max(1, len(rows))
        waiting = self._waiting(sample, np.zeros(len(sample)))
        return price_of(lambda price: self._fetches(waiting, price), share, self._price)

    def _fetches(self, waiting: Waiting, price: float) -> float:
        """Return the fetches a day of pages, each as often as it is worth a price, within the bounds."""
        days = self.rule.intervals(waiting, price)
        days = np.minimum(np.maximum(days, self.settings.least_s / DAY_S), self.settings.longest_s / DAY_S)
        return float((1.0 / days).sum())


def _seconds(now_s: float) -> int:
    return min(max(0, int(now_s)), 0xFFFFFFFF)


def _days(now_s: float, last: NDArray[np.uint32]) -> Column:
    waited: Column = np.maximum(0.0, now_s - last) / DAY_S
    return waited
