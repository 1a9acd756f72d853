"""What the fetches of a site brought, by URL shape, tag path and both: the ground of advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice

from linkscore_scoring.errors import reading_state
from linkscore_scoring.site.histories import History, Tally
from linkscore_scoring.site.history_tables import folded, history_of, largest
from linkscore_scoring.state import State
from linkscore_scoring.types import UNKNOWN_APATH, FeedbackObservation, PageObservation
from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatterns

HALF_CHARS = 400.0
MIN_REPORTED = 20
"""Fetches with feedback before the site is judged by rewards, not by new text."""
_PRIOR = 0.3
_PRIOR_WEIGHT = 2.0
_KNOWN_AFTER = 3
_LATEST, _LATEST_FETCHES = 0.25, 10
_NOT_REPORTED = -1.0
_GROWN = 5

Group = tuple[int, int]
"""URL pattern and folded Apath: what links of one shape at one place of a page have in common."""
Fold = Callable[[int], int]


@dataclass(slots=True)
class _Fetch:
    """A fetch that feedback may still come for; `is_page` is False when only its feedback was seen so far."""

    at: int
    pattern: int
    way: int
    is_page: bool
    text: float = 0.0
    reward: float = _NOT_REPORTED


class Yields:
    """Histories of a site's fetches.

    A fetch counts in the history of every shape its URL has (finest pattern to root), of the tag path it was
    fetched through, and of both together. Feedback is counted at the fetch it is about, however late it
    comes; a page that is reported and never ingested counts as a fetch. Repeated fetches of a URL do not
    count.

    Parameters
    ----------
    max_fetches
        Fetches remembered one by one; feedback that comes later than that is left out.
    max_groups
        Histories of each kind; beyond it the quarter with the fewest fetches is dropped.

    Notes
    -----
    Cost of a fetch: O(depth of its pattern + distinct patterns of new links). About 400 bytes a history with
    few fetches, at most 2 KB. Not from a paper.
    """

    def __init__(self, *, max_fetches: int = 20_000, max_groups: int = 5_000) -> None:
        self.max_fetches = max_fetches
        self.max_groups = max_groups
        self.fetches = self.reported = 0
        self.shapes: dict[int, History] = {}
        self.ways: dict[int, History] = {}
        self.groups: dict[Group, History] = {}
        self._known: dict[int, _Fetch] = {}

    @property
    def by_reward(self) -> bool:
        """Whether enough feedback came to judge by it."""
        return self.reported >= MIN_REPORTED

    def site(self) -> History:
        """Return the history of all fetches."""
        return self.shapes.get(ROOT) or History()

    def observe(self, page: PageObservation, way: int, patterns: UrlPatterns, fold: Fold) -> float | None:
        """Count a fetch; return the reward that was reported before the page came, None if none was.

        Parameters
        ----------
        page
            The fetch.
        way
            Apath it was fetched through.
        patterns, fold
            The site's URL patterns, and the id each Apath is counted under.
        """
        key = page.requested if page.refetch else page.key
        early = self._known.get(page.requested) or self._known.get(key)
        if (page.refetch and page.requested == page.key) or (early is not None and early.is_page):
            return None
        fetch = early or _Fetch(self._next(), page.pattern, fold(way), is_page=True)
        fetch.is_page, fetch.text = True, _novelty(page)
        self._known.pop(page.requested, None)
        self._remember(key, fetch)
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
        is_new = fetch is None
        if fetch is None:
            way = event.contexts[0][1] if event.contexts else UNKNOWN_APATH
            fetch = _Fetch(self._next(), event.pattern, fold(way), is_page=False)
            self._remember(event.key, fetch)
        first = fetch.reward == _NOT_REPORTED
        change = event.reward - (0.0 if first else fetch.reward)
        fetch.reward = event.reward
        self.reported += first
        lineage = patterns.lineage(fetch.pattern)
        values = Tally(fetched=1.0, silent=1.0, reported=1.0, reward=event.reward).values() if is_new else ()
        for history in self._histories(fetch, lineage):
            history.add(fetch.at, values) if is_new else history.rate(fetch.at, first, change)

    def recent(self, n: int) -> tuple[float, int]:
        """Return the mean reward of the last `n` fetches (of those reported on, once there is feedback), and
        the number of fetches it is the mean of.
        """
        last = list(islice(reversed(self._known.values()), n))
        if self.by_reward:
            rewards = [fetch.reward for fetch in last if fetch.reward != _NOT_REPORTED]
        else:
            rewards = [fetch.text for fetch in last]
        return (sum(rewards) / len(rewards) if rewards else 0.0), len(rewards)

    def reported_only(self) -> list[int]:
        """Return the identity hashes of pages that were reported and not ingested."""
        return [key for key, fetch in self._known.items() if not fetch.is_page]

    def shapes_now(self, patterns: UrlPatterns) -> dict[int, History]:
        """Return the histories by the shapes there are now; those that were folded together are one."""
        return folded(self.shapes, patterns.resolve)

    def groups_now(self, patterns: UrlPatterns) -> dict[Group, History]:
        """Return the histories of groups by the shapes there are now."""
        return folded(self.groups, lambda group: (patterns.resolve(group[0]), group[1]))

    def prior(self, *, by_reward: bool) -> float:
        """Return the reward expected where nothing is known: the mean of the last quarter of the fetches, at
        least of ten.
        """
        site = self.site().latest(_LATEST, at_least=_LATEST_FETCHES)
        return site.worth(by_reward=by_reward) if site.fetched else _PRIOR

    def promise(self, lineage: Iterable[int], prior: float, *, by_reward: bool) -> float:
        """Return the reward expected of a URL: the later half of the finest shape fetched thrice, shrunk.

        Fetches without any long text say nothing about new text: the prior stands for them, as it does for
        what was not fetched yet.
        """
        for node in lineage:
            history = self.shapes.get(node)
            if history is not None and history.fetched >= _KNOWN_AFTER:
                return shrunk(history, prior, by_reward=by_reward)
        return prior

    def _next(self) -> int:
        self.fetches += 1
        return self.fetches

    def _remember(self, key: int, fetch: _Fetch) -> None:
        self._known[key] = fetch
        if len(self._known) > self.max_fetches:
            del self._known[next(iter(self._known))]

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
            copies=float(_is_copy(page)),
            silent=float(not page.long_chars) - (not is_new),
        ).values()
        grown = _grown(found, lineage, patterns)
        here = sum(fold(apath) == fetch.way for apath in compress(page.links.apaths, page.fresh))
        for history, n in zip(self._histories(fetch, lineage), [*grown, here, grown[0]], strict=True):
            values[_GROWN] = float(n)
            history.add(fetch.at, values) if is_new else history.amend(fetch.at, values)
            history.saw(page.url)
        self._bound(patterns)

    def _hub(self, found: Mapping[int, int], own: int, patterns: UrlPatterns) -> float:
        """Return what new links of other shapes promise together, at most 1."""
        if not found:
            return 0.0
        by_reward, hub = self.by_reward, 0.0
        prior = self.prior(by_reward=by_reward)
        for pattern, n in found.items():
            lineage = patterns.lineage(pattern)
            if lineage[0] != own:
                hub += n * self.promise(lineage, prior, by_reward=by_reward)
            if hub >= 1.0:
                return 1.0
        return hub

    def _histories(self, fetch: _Fetch, lineage: Sequence[int]) -> list[History]:
        """Return the histories a fetch counts in: shapes from fine to coarse, tag path, group."""
        return [
            *(history_of(self.shapes, node) for node in lineage),
            history_of(self.ways, fetch.way),
            history_of(self.groups, (lineage[0], fetch.way)),
        ]

    def _bound(self, patterns: UrlPatterns) -> None:
        if len(self.shapes) > self.max_groups:
            self.shapes = largest(self.shapes_now(patterns), self.max_groups)
        if len(self.groups) > self.max_groups:
            self.groups = largest(self.groups_now(patterns), self.max_groups)
        if len(self.ways) > self.max_groups:
            self.ways = largest(self.ways, self.max_groups)

    def to_state(self) -> State:
        """Return the histories as plain values."""
        return {
            "counts": [self.fetches, self.reported],
            "shapes": [[node, history.to_state()] for node, history in self.shapes.items()],
            "ways": [[way, history.to_state()] for way, history in self.ways.items()],
            "groups": [[*group, history.to_state()] for group, history in self.groups.items()],
            "known": [
                [key, f.at, f.pattern, f.way, f.is_page, f.text, f.reward] for key, f in self._known.items()
            ],
        }

    def load_state(self, state: State) -> None:
        """Take over the histories of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("yields"):
            self.fetches, self.reported = state["counts"]
            self.shapes = {node: History.from_state(h) for node, h in state["shapes"]}
            self.ways = {way: History.from_state(h) for way, h in state["ways"]}
            self.groups = {(p, way): History.from_state(h) for p, way, h in state["groups"]}
            self._known = {key: _Fetch(*values) for key, *values in state["known"]}


def shrunk(history: History, prior: float, *, by_reward: bool) -> float:
    """Return the worth of the later half of a history, shrunk to `prior` by two fetches."""
    late = history.latest(0.5)
    n = late.reported if by_reward else late.fetched - late.silent
    worth = late.reward if by_reward else late.text
    return (worth + _PRIOR_WEIGHT * prior) / (n + _PRIOR_WEIGHT)


def _novelty(page: PageObservation) -> float:
    return page.novel_chars / (page.novel_chars + HALF_CHARS)


def _is_copy(page: PageObservation) -> bool:
    return page.refetch or (page.long_chars > 0 and not page.novel_chars)


def _grown(found: Mapping[int, int], lineage: Sequence[int], patterns: UrlPatterns) -> list[int]:
    """Return, for each shape of a page, how many of its new links have that shape too."""
    grown = dict.fromkeys(lineage, 0)
    for pattern, n in found.items():
        for node in patterns.lineage(pattern):
            if node in grown:
                grown[node] += n
    return list(grown.values())
