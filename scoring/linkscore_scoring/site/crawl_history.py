"""What the fetches of a site brought over time, by URL shape, tag path and both: the ground of advice.

A `History` keeps a few bins of counts, so that early and late fetches can be compared; `CrawlHistory` has one
for every group of fetches, and the fetches one by one as long as feedback may come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import compress, islice
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum, shrunk
from linkscore_scoring.types import UNKNOWN_LINK_PATH, FeedbackObservation, PageObservation
from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatterns

MIN_REPORTED = 20
"""Fetches with feedback before the site is judged by rewards, not by new text; chosen, not measured."""
_PRIOR = 0.3
"""Reward expected of a site of which nothing was fetched; chosen, not measured."""
_PRIOR_WEIGHT = 2.0
"""Fetches the prior counts for when a history is shrunk to it; chosen, not measured."""
_KNOWN_AFTER = 3
"""Fetches of a URL shape before it is asked itself, not the site; chosen, not measured."""
_LATEST, _LATEST_FETCHES = 0.25, 10
"""The latest fetches the prior is the mean of: this share, at least so many; chosen, not measured."""
_NOT_REPORTED = -1.0
"""Stands for no reward; rewards are in [0, 1]."""
_GROWN = 5
"""Place of `Tally.grown` among its fields."""

Group = tuple[int, int]
"""URL pattern and folded link path: what links of one shape at one place of a page have in common."""
Fold = Callable[[int], int]

_K = TypeVar("_K", bound=Hashable)

MAX_BINS = 16
"""Bins of a history, a bound: halves and quarters are then exact to some 6 % of the fetches."""
MAX_EXAMPLES = 3
"""URLs kept of a group for people to look at; chosen, not measured."""
LOW_USE = 0.15
"""A later half that brings less than this a fetch is low: some 70 new characters, and no good new link."""
LOW_SHARE = 0.5
"""With feedback, low is less than this share of the site's mean reward, at most `LOW_USE`."""
GROWTH = 0.9
"""New links of the same kind by which a fetch about replaces itself; with fewer the kind runs out."""
Bin = list[float]
"""Site fetch number of the bin's first fetch, then the fields of a `Tally`."""


@dataclass(slots=True)
class Tally:
    """Sums over some fetches, each a number of fetches unless it says otherwise.

    `text` sums the novelty rewards x / (x + 400), x = characters of long text the site had never shown; `hub`
    what the links found first there are worth, at most 1 a fetch; `grown` counts the links of the same group
    found first there; `reward` sums the rewards of feedback on the `reported` ones. `copies` showed long text
    and none of it new, or were led to a page fetched before; `silent` had no long text, failed ones included.
    """

    fetched: float = 0.0
    text: float = 0.0
    hub: float = 0.0
    copies: float = 0.0
    silent: float = 0.0
    grown: float = 0.0
    reported: float = 0.0
    reward: float = 0.0

    def worth(self, *, by_reward: bool) -> float:
        """Return the mean reward of feedback, or the mean novelty reward; 0 without any fetch to judge by."""
        if by_reward:
            return self.reward / self.reported if self.reported else 0.0
        return self.text / self.fetched if self.fetched else 0.0

    def use(self, *, by_reward: bool) -> float:
        """Return the worth of a fetch with that of the links it led to."""
        return self.worth(by_reward=by_reward) + (self.hub / self.fetched if self.fetched else 0.0)

    def values(self) -> list[float]:
        """Return the fields in order."""
        return list(_fields_of(self))


_fields_of = attrgetter(*(field.name for field in fields(Tally)))
_FETCHED, _TEXT, _SILENT, _REPORTED, _REWARD = 1, 2, 5, 7, 8  # columns of a bin


class History:
    """The tallies of a group of fetches in at most 16 bins, oldest first; bins widen in pairs as they fill.

    Adding costs O(1) amortised. Totals are exact; a half is exact to the bin. `examples` are the URLs of the
    latest fetches, at most 3.
    """

    __slots__ = ("_width", "bins", "examples", "fetched")

    def __init__(self) -> None:
        self.bins: list[Bin] = []
        self.examples: list[str] = []
        self.fetched = 0.0
        self._width = 1

    def add(self, at: int, values: Sequence[float]) -> None:
        """Count a fetch, the site's number `at`, by the fields of its tally."""
        self.fetched += values[0]
        if self.bins and self.bins[-1][_FETCHED] < self._width:
            _add(self.bins[-1], values)
            return
        self.bins.append([at, *values])
        if len(self.bins) > MAX_BINS:
            self._widen()

    def amend(self, at: int, values: Sequence[float]) -> None:
        """Add to the bin of a fetch counted before."""
        if self.bins:
            self.fetched += values[0]
            place = (
                len(self.bins) if at >= self.bins[-1][0] else bisect_right(self.bins, at, key=itemgetter(0))
            )
            _add(self.bins[max(0, place - 1)], values)

    def saw(self, url: str) -> None:
        """Note a URL as the latest example."""
        self.examples = [*self.examples[-MAX_EXAMPLES + 1 :], url]

    def take(self, other: History) -> None:
        """Take in the fetches of another group."""
        self.bins = sorted([*map(list, self.bins), *map(list, other.bins)], key=itemgetter(0))
        self.examples = [*other.examples, *self.examples][-MAX_EXAMPLES:]
        self.fetched += other.fetched
        while len(self.bins) > MAX_BINS:
            self._widen()

    def total(self) -> Tally:
        """Return the tally of all fetches."""
        return _tally(self.bins)

    def halves(self) -> tuple[Tally, Tally]:
        """Return the tallies of the first and of the last half of the fetches, to the bin."""
        cut = self._cut(0.5)
        return _tally(self.bins[:cut]), _tally(self.bins[cut:])

    def latest(self, share: float, *, at_least: int = 1) -> Tally:
        """Return the tally of the last `share` of the fetches or of `at_least` so many, to the bin."""
        return _tally(self.latest_bins(max(share, at_least / max(1.0, self.fetched))))

    def latest_bins(self, share: float) -> list[Bin]:
        """Return the bins of the last `share` of the fetches, at least one if there is any."""
        return self.bins[min(self._cut(1.0 - share), len(self.bins) - 1) :]

    def _cut(self, share: float) -> int:
        """Return how many bins hold about the first `share` of the fetches."""
        left, wanted = 0.0, share * self.fetched
        for cut, counts in enumerate(self.bins):
            if abs(left + counts[1] - wanted) >= abs(left - wanted):
                return cut
            left += counts[1]
        return len(self.bins)

    def _widen(self) -> None:
        for first, second in zip(self.bins[::2], self.bins[1::2], strict=False):
            _add(first, second[1:])
        self.bins = self.bins[::2]
        self._width *= 2

    def to_state(self) -> list[Any]:
        """Return the history as plain values."""
        return [self._width, self.bins, self.examples]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> History:
        """Rebuild a history."""
        made = cls()
        made._width, made.bins, made.examples = state[0], [list(b) for b in state[1]], list(state[2])
        made.fetched = left_sum(counts[1] for counts in made.bins)
        return made


def _sum(column: int, bins: Sequence[Bin]) -> float:
    return left_sum([counts[column] for counts in bins])


def merged(histories: Iterable[History]) -> History:
    """Return one history of the fetches of several groups."""
    made = History()
    for history in histories:
        made.take(history)
    return made


def _add(counts: Bin, values: Sequence[float]) -> None:
    for i, value in enumerate(values, 1):
        if value:
            counts[i] += value


def _tally(bins: Sequence[Bin]) -> Tally:
    return Tally(*map(left_sum, list(zip(*bins, strict=True))[1:])) if bins else Tally()


@dataclass(slots=True)
class _Fetch:
    """A fetch that feedback may still come for; `is_page` is False when only its feedback was seen so far."""

    at: int
    pattern: int
    link_path: int
    is_page: bool = False
    text: float = 0.0
    reward: float = _NOT_REPORTED


class CrawlHistory(Stateful):
    """Histories of the fetches of a site by shape of URL, finest pattern to root, by tag path, and by both.

    Feedback is counted at the fetch it is about, however late it comes, as long as the fetch is one of the
    last `max_fetches`; a page that is reported and never ingested counts as a fetch, a repeated one of a URL
    does not. Of each kind of history at most `max_groups` are kept, some 400 bytes each, 2 KB at most; beyond
    it the quarter with the fewest fetches is dropped. A fetch costs O(depth of its pattern + distinct
    patterns of new links). Not from a paper.
    """

    fetches: Stored[int]
    reported: Stored[int]
    shapes: Stored[dict[int, History]]
    tag_paths: Stored[dict[int, History]]
    groups: Stored[dict[Group, History]]
    _known: Stored[dict[int, _Fetch]]

    def __init__(self, *, max_fetches: int = 20_000, max_groups: int = 5_000) -> None:
        self.max_fetches = max_fetches
        self.max_groups = max_groups
        self.fetches = self.reported = 0
        self.shapes = {}
        self.tag_paths = {}
        self.groups = {}
        self._known = {}

    @property
    def by_reward(self) -> bool:
        """Whether enough feedback came to judge by it."""
        return self.reported >= MIN_REPORTED

    def site(self) -> History:
        """Return the history of all fetches."""
        return self.shapes.get(ROOT) or History()

    def observe(
        self, page: PageObservation, link_path: int, patterns: UrlPatterns, fold: Fold
    ) -> float | None:
        """Count a fetch that came through a link path; return the reward reported before it, if one was.

        `fold` gives the id that a link path is counted under.
        """
        key = page.requested if page.refetch else page.key
        early = self._known.get(page.requested) or self._known.get(key)
        if (page.refetch and page.requested == page.key) or (early is not None and early.is_page):
            return None
        self._known.pop(page.requested, None)
        fetch = self._remember(key, early or self._new(page.pattern, fold(link_path)))
        fetch.is_page, fetch.text = True, text_reward(page.novel_chars)
        self._count_page(page, fetch, patterns, fold, is_new=early is None)
        return early.reward if early is not None else None

    def feedback(
        self, event: FeedbackObservation, patterns: UrlPatterns, fold: Fold, *, was_fetched: bool
    ) -> None:
        """Count feedback; the latest reward of a page replaces the ones before.

        Feedback by ticket alone (`event.key` is 0) says nothing about one fetch and is left out.
        """
        fetch = self._known.get(event.key)
        if not event.key or (fetch is None and was_fetched):
            return
        is_new = float(fetch is None)
        if fetch is None:
            link_path = event.contexts[0][1] if event.contexts else UNKNOWN_LINK_PATH
            fetch = self._remember(event.key, self._new(event.pattern, fold(link_path)))
        first = fetch.reward == _NOT_REPORTED
        change = event.reward - (0.0 if first else fetch.reward)
        fetch.reward = event.reward
        self.reported += first
        values = Tally(fetched=is_new, silent=is_new, reported=float(first), reward=change).values()
        for history in self._histories(fetch, patterns.lineage(fetch.pattern)):
            (history.add if is_new else history.amend)(fetch.at, values)

    def recent(self, n: int) -> tuple[float, int]:
        """Return the mean reward of the last `n` fetches, or of those reported on, and how many those are."""
        last = list(islice(reversed(self._known.values()), n))
        if self.by_reward:
            rewards = [fetch.reward for fetch in last if fetch.reward != _NOT_REPORTED]
        else:
            rewards = [fetch.text for fetch in last]
        return (left_sum(rewards) / len(rewards) if rewards else 0.0), len(rewards)

    def judged(self) -> Iterator[tuple[int, int, float]]:
        """Yield identity hash, number and reward of the fetches remembered whose reward is known."""
        by_reward = self.by_reward
        for key, fetch in self._known.items():
            if by_reward and fetch.reward != _NOT_REPORTED:
                yield key, fetch.at, fetch.reward
            elif not by_reward and fetch.is_page:
                yield key, fetch.at, fetch.text

    def reported_only(self) -> list[int]:
        """Return the identity hashes of pages that were reported and not ingested."""
        return [key for key, fetch in self._known.items() if not fetch.is_page]

    def shapes_now(self, patterns: UrlPatterns) -> dict[int, History]:
        """Return the histories by the shapes there are now; those that were folded together are one."""
        return _folded(self.shapes, patterns.resolve)

    def groups_now(self, patterns: UrlPatterns) -> dict[Group, History]:
        """Return the histories of groups by the shapes there are now."""
        return _folded(self.groups, lambda group: (patterns.resolve(group[0]), group[1]))

    def prior(self) -> float:
        """Return the reward expected where nothing is known: the mean of the last quarter of the fetches, at
        least of ten.
        """
        site = self.site()
        if not site.fetched:
            return _PRIOR
        bins = site.latest_bins(max(_LATEST, _LATEST_FETCHES / max(1.0, site.fetched)))
        n, worth = (_REPORTED, _REWARD) if self.by_reward else (_FETCHED, _TEXT)
        weight = _sum(n, bins)
        return _sum(worth, bins) / weight if weight else 0.0

    def promise(self, lineage: Iterable[int], prior: float) -> float:
        """Return the reward expected of a URL: the later half of the finest shape fetched thrice, shrunk.

        Fetches without any long text say nothing about new text: the prior stands for them, as it does for
        what was not fetched yet.
        """
        for node in lineage:
            history = self.shapes.get(node)
            if history is not None and history.fetched >= _KNOWN_AFTER:
                return late_worth(history, prior, by_reward=self.by_reward)
        return prior

    def _new(self, pattern: int, link_path: int) -> _Fetch:
        self.fetches += 1
        return _Fetch(self.fetches, pattern, link_path)

    def _remember(self, key: int, fetch: _Fetch) -> _Fetch:
        self._known[key] = fetch
        drop_oldest(self._known, self.max_fetches)
        return fetch

    def _count_page(
        self, page: PageObservation, fetch: _Fetch, patterns: UrlPatterns, fold: Fold, *, is_new: bool
    ) -> None:
        """Add what a page brought to the histories of its fetch."""
        lineage = patterns.lineage(fetch.pattern)
        found = Counter(compress(page.links.patterns, page.fresh))
        values = Tally(
            fetched=float(is_new),
            text=fetch.text,
            hub=self._hub(found, lineage[0], patterns),
            copies=float(page.refetch or (page.long_chars > 0 and not page.novel_chars)),
            silent=float(not page.long_chars) - (not is_new),
        ).values()
        grown = _grown(found, lineage, patterns)
        here = sum(map(fetch.link_path.__eq__, map(fold, compress(page.links.link_paths, page.fresh))))
        for history, n in zip(self._histories(fetch, lineage), [*grown, here, grown[0]], strict=True):
            values[_GROWN] = float(n)
            (history.add if is_new else history.amend)(fetch.at, values)
            history.saw(page.url)
        self._bound(patterns)

    def _hub(self, found: Mapping[int, int], own: int, patterns: UrlPatterns) -> float:
        """Return what new links of other shapes promise together, at most 1."""
        if not found:
            return 0.0
        hub, prior = 0.0, self.prior()
        for pattern, n in found.items():
            lineage = patterns.lineage(pattern)
            if lineage[0] != own:
                hub += n * self.promise(lineage, prior)
            if hub >= 1.0:
                return 1.0
        return hub

    def _histories(self, fetch: _Fetch, lineage: Sequence[int]) -> list[History]:
        """Return the histories a fetch counts in: shapes from fine to coarse, tag path, group."""
        return [
            *(_history_of(self.shapes, node) for node in lineage),
            _history_of(self.tag_paths, fetch.link_path),
            _history_of(self.groups, (lineage[0], fetch.link_path)),
        ]

    def _bound(self, patterns: UrlPatterns) -> None:
        if len(self.shapes) > self.max_groups:
            self.shapes = _largest(self.shapes_now(patterns), self.max_groups)
        if len(self.groups) > self.max_groups:
            self.groups = _largest(self.groups_now(patterns), self.max_groups)
        if len(self.tag_paths) > self.max_groups:
            self.tag_paths = _largest(self.tag_paths, self.max_groups)


def _history_of(histories: dict[_K, History], key: _K) -> History:
    """Return the history of a group, made if there is none."""
    history = histories.get(key)
    if history is None:
        history = histories[key] = History()
    return history


def _folded(histories: Mapping[_K, History], now: Callable[[_K], _K]) -> dict[_K, History]:
    """Return the histories by what each group is `now`; those of groups that became one are joined."""
    parts: defaultdict[_K, list[History]] = defaultdict(list)
    for key, history in histories.items():
        parts[now(key)].append(history)
    return {key: some[0] if len(some) == 1 else merged(some) for key, some in parts.items()}


def _largest(histories: Mapping[_K, History], most: int) -> dict[_K, History]:
    """Return the histories with the most fetches, three quarters of the bound, in their order."""
    kept = sorted(histories, key=lambda key: -histories[key].fetched)[: 3 * most // 4]
    wanted = set(kept)
    return {key: history for key, history in histories.items() if key in wanted}


def late_worth(history: History, prior: float, *, by_reward: bool) -> float:
    """Return the worth of the later half of a history, shrunk to `prior` by two fetches."""
    late = history.latest_bins(0.5)
    if by_reward:
        n, worth = _sum(_REPORTED, late), _sum(_REWARD, late)
    else:
        n, worth = _sum(_FETCHED, late) - _sum(_SILENT, late), _sum(_TEXT, late)
    return shrunk(worth, n, prior, _PRIOR_WEIGHT)


def _grown(found: Mapping[int, int], lineage: Sequence[int], patterns: UrlPatterns) -> list[int]:
    """Return, for each shape of a page, how many of its new links have that shape too."""
    grown = dict.fromkeys(lineage, 0)
    for pattern, n in found.items():
        for node in patterns.lineage(pattern):
            if node in grown:
                grown[node] += n
    return list(grown.values())
