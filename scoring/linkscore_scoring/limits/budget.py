"""`Crawl.budget`: a crawl or a site stops when something is spent, when it pays too little or is covered.

What counts is in the events: pages and bytes that came, and the times they were fetched at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum

from linkscore_scoring.columns import left_sum
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.results import Coverage, Stop
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.site.crawl_history import (
    GOOD_SHARE,
    GROWTH,
    HOST_AND_ROOT,
    LOW_SHARE,
    LOW_USE,
    CrawlHistory,
    Group,
    History,
    best_ahead,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch, PageObservation

_WINDOW, _WINDOW_SHARE = 20.0, 0.1
"""Latest fetches whose links are looked at, at least so many and this share of all. Chosen."""
_FIRST_GROUPS = 8
"""Groups of links fetched from first lately, by which one that was not is judged. Chosen."""
_PRIOR_WEIGHT = 1.0
"""Fetches that this counts for. Chosen."""
_MOST_UNSEEN = 0.95
"""Most of the links that can be unseen. A bound."""
_INTERVAL = 1.28
"""Standard deviations of an interval that has the truth in four cases of five."""


class CoverageEstimate(Stateful):
    """Found, waiting and unseen rewards of a site.

    ``share = found / (found + waiting + unseen)``. `found` is the sum of rewards so far. `waiting` is that of
    the links that wait, each by what the last half of the fetches of its group brought; of a group that was
    not fetched from, by what the latest such groups brought. Of the links on late pages, weighted by what
    they are worth, a share ``p`` was new: by Good and Turing the share of the links that no page has shown
    yet, so ``unseen = (found + waiting) p / (1 - p)``, and no more than fetches of all that waits would
    discover at the rate of late ones.

    `coverage`: the estimate of the last look; None before one. `ahead`: mean reward of the next fetches.
    """

    coverage: Stored[Coverage | None]
    ahead: Stored[float]
    _links: Stored[tuple[float, float]]  # worth of the links on late pages, and of those that were new
    _worth: Stored[dict[int, float]]
    _prior: Stored[float]

    def __init__(self) -> None:
        self.coverage, self._links = None, (0.0, 0.0)
        self.ahead = self._prior = 1.0

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Take in which links of a page are new."""
        if page.failed or page.refetch:
            return
        worth = [self._worth.get(pattern, self._prior) for pattern in page.links.patterns]
        fresh = left_sum([w for w, is_new in zip(worth, page.fresh, strict=True) if is_new])
        kept = 1.0 - 1.0 / _window(site)
        self._links = kept * self._links[0] + left_sum(worth), kept * self._links[1] + fresh

    def look(self, site: SiteModel) -> None:
        """Estimate anew; cost O(links remembered)."""
        history = site.history
        groups = history.groups_now(site.patterns)
        self._prior = _first_worth(groups, history)
        shapes = history.shapes_now(site.patterns)
        self._worth = {node: _late(part, self._prior, history) for node, part in shapes.items()}
        waits, rows = site.waiting_links(), []
        for group, n in waits.items():
            pattern = site.patterns.resolve(group[0])
            own, of_shape = groups.get((pattern, group[1])), self._worth.get(pattern, self._prior)
            rows.append((n, _late(own, of_shape, history), own.fetched) if own else (n, of_shape, 0.0))
        tally = history.site().total()
        found = tally.reward if history.by_reward else tally.text
        waiting = left_sum([n * reward for n, reward, _ in rows])
        every, fresh = self._links
        p = min(_MOST_UNSEEN, fresh / every) if every else _MOST_UNSEEN
        most = waits.total() * fresh / min(_window(site), max(1, history.fetches))
        unseen = min((found + waiting) * p / (1.0 - p), most)
        variance = left_sum([n * n * r * (1.0 - r) / (k + 1.0) + n * r for n, r, k in rows])
        rest, spread = waiting + unseen, _INTERVAL * math.sqrt(variance + unseen)
        usual = found / max(1, history.fetches)
        hidden = [(usual, math.ceil(unseen / usual))] if usual else []  # what lists lead to that wait
        fetches, worth = best_ahead([*((reward, n) for n, reward, _ in rows), *hidden])
        self.ahead = worth / fetches if fetches else 0.0
        low, high = _share(found, rest + spread), _share(found, max(0.0, rest - spread))
        share = _share(found, rest)
        self.coverage = Coverage(share, low, high, found, waiting, unseen, history.fetches)


def _window(site: SiteModel) -> float:
    """Return how many of the latest fetches count."""
    return max(_WINDOW, _WINDOW_SHARE * site.history.fetches)


def _late(part: History, prior: float, history: CrawlHistory) -> float:
    """Return what the last half of some fetches brought, those without text or report counted as nothing."""
    late = part.latest(0.5)
    worth = late.reward if history.by_reward else late.text
    return (worth + _PRIOR_WEIGHT * prior) / (late.fetched + _PRIOR_WEIGHT)


def _first_worth(groups: Mapping[Group, History], history: CrawlHistory) -> float:
    """Return what the groups brought that were fetched from first lately, a mean over groups."""
    latest = sorted(groups.values(), key=lambda part: part.bins[0][0])[-_FIRST_GROUPS:]
    worth = [_late(part, 0.0, history) for part in latest]
    return left_sum(worth) / len(worth) if worth else 1.0


def _share(found: float, rest: float) -> float:
    return found / (found + rest) if found + rest else 0.0


_LEAST_OF_SHAPE = 12
"""Fetches that every part of a site may have: 5 % of 240. Chosen, not measured."""
_MIN_GOOD = 3
"""Fetches of a last half before it is good or not; fewer say nothing. Chosen."""
_LOW_USE, _LOW_SHARE = 0.05, 0.25
"""A last half that brings less than this a fetch, and less than this share of the mean of the site, is low:
some 20 new characters. A third of what makes a suspicion, for a cap cannot be wrong: pages of a shop without
labels, of little text, bring .14. Chosen on that shop."""
_LONG = 40
"""Fetches from which a part that brings next to nothing need not grow to be left: lists of a shop brought
nothing for a dozen pages, and goods after that. Chosen on that shop."""
_TRAP = 3  # of the wire contract: SKIP_REASON_TRAP


class TrapCaps(Stateful):
    """Parts of a site, URL shapes and tag paths, whose last half brought little, with their fetches.

    With feedback, the last half was low as of a suspicion. Without, it brought next to nothing, and about as
    many new links of the same kind as it used up, or the part has many fetches. A part a quarter of which is
    good is none: a shape by its shapes, a tag path by any shape that it leads to. Links of what is good are
    never to skip.
    """

    shapes: Stored[dict[int, int]]  # fetches by URL pattern, and by folded link path
    link_paths: Stored[dict[int, int]]
    good: Stored[list[int]]  # URL patterns whose last half brought something

    def look(self, site: SiteModel) -> None:
        """Look at what every part brought; cost O(histories)."""
        history, patterns = site.history, site.patterns
        by_reward = history.by_reward
        mean = history.site().total().worth(by_reward=by_reward)
        low = min(LOW_USE, LOW_SHARE * mean) if by_reward else min(_LOW_USE, _LOW_SHARE * mean)

        def is_good(part: History) -> bool | None:
            """Say whether the last half brought enough; None of too few fetches."""
            late = part.latest(0.5)
            if late.fetched < _MIN_GOOD:
                return None
            return late.use(by_reward=by_reward and late.reported > 0) > low

        shapes = history.shapes_now(patterns)
        found = {node: is_good(part) for node, part in shapes.items()}
        self.good = sorted(node for node, good in found.items() if good)
        good_below: Counter[int] = Counter()
        for node in self.good:
            good_below.update(dict.fromkeys(patterns.lineage(node), round(shapes[node].fetched)))
        self.shapes = {
            node: round(shapes[node].fetched)
            for node, good in found.items()
            if good is False
            and (by_reward or _is_endless(shapes[node]))
            and good_below[node] < GOOD_SHARE * shapes[node].fetched
            and len(patterns.lineage(node)) > HOST_AND_ROOT
        }
        fine = {path for (_, path), part in history.groups_now(patterns).items() if is_good(part)}
        self.link_paths = {
            path: round(part.fetched)
            for path, part in history.tag_paths.items()
            if path and path not in fine and is_good(part) is False and (by_reward or _is_endless(part))
        }

    def judge(self, links: LinkBatch, site: SiteModel, share: float, reasons: list[int]) -> None:
        """Write `_TRAP` as reason of the links whose part has taken `share` of the fetches of the site."""
        if not (self.shapes or self.link_paths):
            return
        most = max(_LEAST_OF_SHAPE, share * site.history.fetches)
        shapes = {node for node, fetched in self.shapes.items() if fetched >= most}
        paths = {path for path, fetched in self.link_paths.items() if fetched >= most}
        if not (shapes or paths):
            return
        groups, good = links.grouped(site.link_paths.folded), set(self.good)

        def is_capped(pattern: int, link_path: int) -> bool:
            for node in site.patterns.lineage(pattern):  # from fine to coarse
                if node in good:
                    return False
                if node in shapes:
                    return True
            return link_path in paths

        capped = [is_capped(*group) for group in groups.distinct]
        for row, place in enumerate(groups.places.tolist()):
            if capped[place] and not reasons[row]:
                reasons[row] = _TRAP


def _is_endless(part: History) -> bool:
    """Say whether the last half found about as many new links of the same kind as it used up, or is long."""
    late = part.latest(0.5)
    return late.grown >= GROWTH * late.fetched or part.fetched >= _LONG


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

    def problems(self, groups: int) -> Iterator[FieldProblem]:
        """Yield what is wrong with the bounds, for a crawl of so many groups."""
        given = {f.name: value for f in fields(Budget) if (value := getattr(self, f.name)) is not None}
        for name, value in given.items():
            if not value > 0:
                yield FieldProblem(f"budget.{name}", f"must be above 0, got {value}")
            elif name in _SHARES and value > 1:
                yield FieldProblem(f"budget.{name}", f"must be in (0, 1], got {value}")
        for name in _OF_CRAWL:
            if name in given and groups > 1:
                rule = f"needs a crawl of one group, whose pages one process counts; it has {groups}"
                yield FieldProblem(f"budget.{name}", rule)


_OF_CRAWL = ("max_fetches", "max_bytes", "max_seconds")
_SHARES = ("max_trap_share", "enough_coverage", "least_yield")


class _Spent(Stateful):
    """What fetches took: how many there were, their bytes, the times of the first and the latest."""

    fetches: Stored[int]
    bytes: Stored[int]
    first_s: Stored[float]
    last_s: Stored[float]

    def __init__(self) -> None:
        self.budget = Budget()

    def spend(self, event: PageFetched) -> None:
        """Count a fetch. Pages that come late are no earlier than they were fetched."""
        self.first_s = min(self.first_s, event.now_s) if self.fetches else event.now_s
        self.last_s = max(self.last_s, event.now_s)
        self.fetches += 1
        if event.features is not None:
            self.bytes += event.features.facts.get("bytes", 0)

    def stop_of(self, whole: str) -> Stop | None:
        """Return that something is spent of what there is: of a crawl, or, ``site_``, of a site."""
        spent = {"fetches": self.fetches, "bytes": self.bytes, "seconds": self.last_s - self.first_s}
        return next(
            filter(None, (self._over(f"max_{whole}{name}", so_far) for name, so_far in spent.items())), None
        )

    def _over(self, name: str, spent: float) -> Stop | None:
        most = getattr(self.budget, name)
        if most is None or spent < most:
            return None
        return Stop(Decision.STOP_BUDGET, f"{name}: {spent:,.10g} of {most:,.10g} are spent")


class CrawlBudget(_Spent):
    """What a crawl has spent of its budget, and why sites of it have stopped, by name."""

    stopped: Stored[dict[str, Stop]]

    def site_stops(self, site: str, stop: Stop | None) -> None:
        """Take note that a site stops, or goes on."""
        self.stopped.pop(site, None)
        if stop is not None:
            self.stopped[site] = stop

    @property
    def spent(self) -> Stop | None:
        """Why the crawl stops, whatever its sites do."""
        return self.stop_of("")

    def stop(self, sites: int) -> Stop | None:
        """Return why a crawl of so many sites stops: by itself, or as all of them have stopped."""
        if (spent := self.spent) or not self.stopped or len(self.stopped) < sites:
            return spent
        *_, last = self.stopped.values()
        said = last.reason if sites == 1 else f"all {sites} sites stopped; the last: {last.reason}"
        return Stop(last.decision, said)

    def fetches_left(self) -> int | None:
        """Return how many fetches are left, None without such a bound."""
        most = self.budget.max_fetches
        return max(0, most - self.fetches) if most is not None else None


class SiteBudget(_Spent):
    """What a site has spent of the budget of its crawl, what it still has, and its traps."""

    traps: Stored[TrapCaps]
    estimate: Stored[CoverageEstimate]
    _next: Stored[int]

    def __init__(self) -> None:
        super().__init__()
        self.traps, self.estimate = TrapCaps(), CoverageEstimate()
        self._next = _MIN_EVERY

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch, that the site has taken in already."""
        budget = self.budget
        if budget.looks_ahead:
            self.estimate.observe(page, site)
        if self.fetches < self._next:
            return
        self._next = self.fetches + max(_MIN_EVERY, self.fetches // _EVERY)
        if budget.max_trap_share is not None:
            self.traps.look(site)
        if budget.looks_ahead:
            self.estimate.look(site)

    def judge(self, links: LinkBatch, site: SiteModel, reasons: list[int]) -> None:
        """Write why links are to skip where there is no reason yet."""
        if self.stop(site) is not None:
            reasons[:] = [reason or _SITE_STOPPED for reason in reasons]
        elif (share := self.budget.max_trap_share) is not None:
            self.traps.judge(links, site, share, reasons)

    def stop(self, site: SiteModel) -> Stop | None:
        """Return why the site stops, None if it goes on."""
        budget, spent = self.budget, self.stop_of("site_")
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
        """Return how much of what is wanted was found, None before that can be told."""
        return self.estimate.coverage if self.budget.looks_ahead else None
