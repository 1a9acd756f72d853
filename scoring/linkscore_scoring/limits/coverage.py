"""How much of what is wanted of a site was found, by what waits and by what is still discovered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import add

from linkscore_scoring.engine.limits import Coverage
from linkscore_scoring.engine.reports.advice import waiting_links
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.crawl_history import CrawlHistory, Group, History
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import UNKNOWN_LINK_PATH, PageObservation

AHEAD = 100
"""Fetches looked ahead; as the horizon of the advice."""
_WINDOW, _WINDOW_SHARE = 20.0, 0.1
"""Latest fetches whose links are looked at, at least so many and this share of all. Chosen."""
_FIRST_GROUPS = 8
"""Groups of links fetched from first lately, by which one that was not is judged. Chosen."""
_PRIOR_WEIGHT = 1.0
"""Fetches that this counts for. Chosen."""
_LATE = 0.8
"""Share of what is known of the discoveries of a group that is left after each fetch of it. Chosen."""
_CHAINS = 2
"""Links that wait of a group whose links name the next one only. Chosen."""
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
    discover at the rate of late ones. Lists that name the next one only would be taken for
    short by that: a group of links that goes on is expected to go on for as many fetches as it has had, and
    what these discover is `unseen` where it is more.
    """

    ahead: Stored[float]
    at: Stored[list[float]]
    _links: Stored[list[float]]
    _discovered: Stored[dict[Group, tuple[float, float, float]]]
    _worth: Stored[dict[int, float]]
    _prior: Stored[float]

    def __init__(self) -> None:
        self.ahead = 1.0
        self.at = []
        self._links = [0.0, 0.0]
        self._discovered = {}
        self._worth, self._prior = {}, 1.0

    @property
    def coverage(self) -> Coverage | None:
        """The estimate of the last look; None before one."""
        if not self.at:
            return None
        share, low, high, found, waiting, unseen, fetches = self.at
        return Coverage(share, low, high, found, waiting, unseen, round(fetches))

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Take in which links of a page are new."""
        if page.failed or page.refetch:
            return
        window = self._window(site)
        worth = [self._worth.get(pattern, self._prior) for pattern in page.links.patterns]
        fresh = left_sum([w for w, is_new in zip(worth, page.fresh, strict=True) if is_new])
        kept = 1.0 - 1.0 / window
        self._links = [kept * self._links[0] + left_sum(worth), kept * self._links[1] + fresh]
        self._discover(page, site, fresh)

    @staticmethod
    def _window(site: SiteModel) -> float:
        """Return how many of the latest fetches count."""
        return max(_WINDOW, _WINDOW_SHARE * site.history.fetches)

    def _discover(self, page: PageObservation, site: SiteModel, fresh: float) -> None:
        """Count what a fetch of its group discovered: all, and links of its own group."""
        link_path = page.contexts[0][1] if page.contexts else UNKNOWN_LINK_PATH
        group = site.patterns.resolve(page.pattern), site.link_paths.get(link_path).folded
        own = sum(
            is_new and (site.patterns.resolve(pattern), site.link_paths.get(path).folded) == group
            for pattern, path, is_new in zip(
                page.links.patterns, page.links.link_paths, page.fresh, strict=True
            )
        )
        fetches, total, grown = self._discovered.get(group, (0.0, 0.0, 0.0))
        self._discovered[group] = (
            _LATE * fetches + 1.0,
            _LATE * total + fresh,
            _LATE * grown + own,
        )

    def look(self, site: SiteModel, policy: Policy) -> None:
        """Estimate anew; cost O(links remembered)."""
        history = site.history
        groups = history.groups_now(site.patterns)
        self._prior = _first_worth(groups, history)
        shapes = history.shapes_now(site.patterns)
        self._worth = {node: _late(part, self._prior, history) for node, part in shapes.items()}
        waits = waiting_links(site)
        rows = [(n, *self._expected(group, groups, site)) for group, n in waits.items()]
        tally = history.site().total()
        found = tally.reward if history.by_reward else tally.text
        waiting = left_sum([n * reward for n, reward, _ in rows])
        every, fresh = self._links
        p = min(_MOST_UNSEEN, fresh / every) if every else _MOST_UNSEEN
        most = waits.total() * fresh / min(self._window(site), max(1, history.fetches))
        unseen = max(min((found + waiting) * p / (1.0 - p), most), self._going_on(waits, groups, site))
        variance = left_sum([n * n * r * (1.0 - r) / (k + 1.0) + n * r for n, r, k in rows])
        rest, spread = waiting + unseen, _INTERVAL * math.sqrt(variance + unseen)
        usual = found / max(1, history.fetches)
        hidden = [(usual, math.ceil(unseen / usual))] if usual else []  # what lists lead to that wait
        self.ahead = _mean_ahead([*((reward, n) for n, reward, _ in rows), *hidden])
        self.at = [
            _share(found, rest),
            _share(found, rest + spread),
            _share(found, max(0.0, rest - spread)),
            found,
            waiting,
            unseen,
            float(history.fetches),
        ]

    def _going_on(
        self, waits: Mapping[Group, int], groups: Mapping[Group, History], site: SiteModel
    ) -> float:
        """Return the worth that groups of links will discover which go on as they did lately."""
        now: dict[Group, tuple[float, float, float]] = {}
        for (pattern, path), counts in self._discovered.items():
            key = site.patterns.resolve(pattern), path
            now[key] = tuple(map(add, counts, now[key])) if key in now else counts
        total = 0.0
        for (pattern, path), n in waits.items():
            group = site.patterns.resolve(pattern), path
            if n <= _CHAINS and group in now and group in groups:
                fetches, found, grown = now[group]
                had, growth = groups[group].fetched, grown / fetches
                ahead = min(n / (1.0 - growth), n + had) if growth < 1.0 else n + had
                total += ahead * found / fetches
        return total

    def _expected(
        self, group: Group, groups: Mapping[Group, History], site: SiteModel
    ) -> tuple[float, float]:
        """Return what a link of a group is worth, and the fetches that say so."""
        pattern = site.patterns.resolve(group[0])
        of_shape = self._worth.get(pattern, self._prior)
        own = groups.get((pattern, group[1]))
        return (_late(own, of_shape, site.history), own.fetched) if own is not None else (of_shape, 0.0)


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


def _mean_ahead(worth: list[tuple[float, int]]) -> float:
    """Return the mean worth of the best links that fetches ahead can take."""
    left, total = AHEAD, 0.0
    for reward, n in sorted(worth, reverse=True):
        total += min(left, n) * reward
        left -= min(left, n)
    return total / (AHEAD - left) if left < AHEAD else 0.0


def _share(found: float, rest: float) -> float:
    return found / (found + rest) if found + rest else 0.0
