"""What the fetches of a site brought over time, by URL shape, tag path and both: the ground of advice.

A `History` keeps a few bins of counts, so that early and late fetches can be compared; `CrawlHistory` has one
for every group of fetches, and the fetches one by one as long as feedback may come.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import accumulate, compress
from operator import add, itemgetter
from typing import Any, TypeVar

from linkscore_scoring.columns import Records, left_sum, shrunk
from linkscore_scoring.site.texts import text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import UNKNOWN_LINK_PATH, FeedbackObservation, Fold, PageObservation
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
_HALF = 0.5  # share of the fetches that is the later half: whether a part of a site still brings something
_GROWN = 5
"""Place of `Tally.grown` among its fields."""

Group = tuple[int, int]
"""URL pattern and folded link path: what links of one shape at one place of a page have in common."""

_K = TypeVar("_K", bound=Hashable)

MAX_BINS = 16
"""Bins of a history, a bound: halves and quarters are then exact to some 6 % of the fetches."""
MAX_EXAMPLES = 3
"""URLs kept of a group for people to look at; chosen, not measured."""
LOW_USE = 0.15
"""A later half that brings less than this a fetch is low: some 70 new characters, and no good new link."""
LOW_SHARE = 0.5
"""With feedback, low is less than this share of the site's mean reward, at most `LOW_USE`."""
GOOD_SHARE = 0.25
"""Share of the fetches of a part in good parts below it from which it is neither reported nor left."""
HOST_AND_ROOT = 2  # nodes above the first shape below the host
HORIZON = 100  # fetches looked ahead and back, as the wire contract says
GROWTH = 0.9
"""New links of the same kind by which a fetch about replaces itself; with fewer the kind runs out."""
Bin = list[float]
"""Site fetch number of the bin's first fetch, then the fields of a `Tally`."""


@dataclass(slots=True)
class Tally:
    """Sums over some fetches, each a number of fetches unless it says otherwise.

    `text` sums the novelty rewards x / (x + 400), x = new characters of long text, 4,000 for a thing that the
    page is about; `hub` what links found first there are worth, at most 1 a fetch; `grown` counts the links
    of the same group among them; `reward` sums the rewards of feedback on the `reported` ones. `copies`
    showed long text, none of it new, or led to a page fetched before; `silent` had none, as failed ones.
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


class History:
    """The tallies of a group of fetches in at most 16 bins, oldest first; bins widen in pairs as they fill.

    Adding costs O(1) amortised. Totals are exact; a half is exact to the bin. `examples` are the URLs of the
    latest fetches, at most 3.
    """

    __slots__ = ("_late", "_width", "bins", "examples", "fetched")

    def __init__(
        self, width: int = 1, bins: Iterable[Sequence[float]] = (), examples: Iterable[str] = ()
    ) -> None:
        self.bins: list[Bin] = [list(counts) for counts in bins]
        self.examples = list(examples)
        self.fetched = left_sum([counts[1] for counts in self.bins])
        self._width = width
        self._late: Tally | None = None

    def add(self, at: int, values: Sequence[float], url: str = "") -> None:
        """Count the site's fetch number `at` by the fields of its tally; no new fetch joins its bin."""
        bins, self._late = self.bins, None
        if values[0] and not (bins and bins[-1][1] < self._width):
            bins.append([at, *values])
        elif bins:
            counts = bins[-1]
            if at < counts[0]:  # feedback that comes late, as it seldom does
                counts = bins[max(0, bisect_right(bins, at, key=itemgetter(0)) - 1)]
            counts[1:] = map(add, counts[1:], values)
        self.fetched += values[0]
        if url:
            self.examples = [*self.examples[-MAX_EXAMPLES + 1 :], url]
        if len(bins) > MAX_BINS:
            self.widen()

    def widen(self) -> None:
        """Join bins in pairs until there are few enough."""
        while len(self.bins) > MAX_BINS:
            pairs = zip(self.bins[::2], [*self.bins[1::2], [0.0] * len(self.bins[0])], strict=False)
            self.bins = [[one[0], *map(add, one[1:], other[1:])] for one, other in pairs]
            self._width *= 2

    def total(self) -> Tally:
        """Return the tally of all fetches."""
        return _tally(self.bins)

    def halves(self) -> tuple[Tally, Tally]:
        """Return the tallies of the first and of the last half of the fetches, to the bin."""
        cut = self._cut(_HALF)
        return _tally(self.bins[:cut]), _tally(self.bins[cut:])

    def latest(self, share: float) -> Tally:
        """Return the tally of the last `share` of the fetches, to the bin, of one bin at least."""
        if share == _HALF and self._late is not None:
            return self._late
        found = _tally(self.bins[min(self._cut(1.0 - share), len(self.bins) - 1) :])
        if share == _HALF:  # asked of the same histories again and again
            self._late = found
        return found

    def _cut(self, share: float) -> int:
        """Return how many bins hold about the first `share` of the fetches."""
        fetched = [counts[1] for counts in self.bins]
        middles = map(add, accumulate(fetched, initial=0.0), map(_HALF.__mul__, fetched))
        return bisect_left(list(middles), share * self.fetched)

    def to_state(self) -> list[Any]:
        """Return the history as plain values."""
        return [self._width, self.bins, self.examples]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> History:
        """Rebuild a history."""
        return cls(*state)


def merged(histories: Sequence[History]) -> History:
    """Return one history of the fetches of several groups."""
    if len(histories) == 1:
        return histories[0]
    bins = sorted((counts for history in histories for counts in history.bins), key=itemgetter(0))
    examples = [url for history in reversed(histories) for url in history.examples]
    made = History(1, bins, examples[-MAX_EXAMPLES:])
    made.widen()
    return made


def _tally(bins: Sequence[Bin]) -> Tally:
    return Tally(*map(left_sum, list(zip(*bins, strict=True))[1:])) if bins else Tally()


_FIELDS = "IIQBdd"
"""Of a fetch that feedback may still come for: its number, URL pattern and folded link path, whether it was
ingested (or its feedback alone was seen so far), its reward by text and by feedback."""


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
    _known: Stored[Records]

    def __init__(self, *, max_fetches: int = 20_000, max_groups: int = 5_000) -> None:
        self.max_groups = max_groups
        self._known = Records(_FIELDS, most=max_fetches)
        self.by_reward = False

    def after_load(self) -> None:
        """Find out whether enough feedback came to judge by it."""
        self.by_reward = self.reported >= MIN_REPORTED

    def site(self) -> History:
        """Return the history of all fetches."""
        return self.shapes.get(ROOT) or History()

    def observe(
        self, page: PageObservation, link_path: int, patterns: UrlPatterns, fold: Fold
    ) -> float | None:
        """Count a fetch that came through a link path; return the reward reported before it, if one was.

        `fold` gives the ids that link paths are counted under.
        """
        key, known = page.requested if page.refetch else page.key, self._known
        ats, of_pattern, paths, is_page, texts, rewards = known.columns
        early = known.rows.get(page.requested, known.rows.get(key))
        if (page.refetch and page.requested == page.key) or (early is not None and is_page[early]):
            return None
        self.fetches += early is None
        brought, path = page.novel_chars + page.thing_chars, fold([link_path])[0]
        text = text_reward(brought)
        if early is None:
            row = known.add([key], [self.fetches], [page.pattern], [path], [True], [text], [_NOT_REPORTED])
        else:
            row = early
            known.rename(known.keys[row], key)
            is_page[row], texts[row] = True, text
        at, path = ats[row], paths[row]
        lineage, is_new = patterns.lineage(of_pattern[row]), early is None
        grown, hub = self._led_to(Counter(compress(page.links.patterns, page.fresh)), lineage, patterns)
        copies = float(page.refetch or (page.long_chars > 0 and not brought))
        silent = float(not (page.long_chars or brought)) - (not is_new)
        values = [float(is_new), text, hub, copies, silent, 0.0, 0.0, 0.0]
        here = fold(list(compress(page.links.link_paths, page.fresh))).count(path)
        for history, n in zip(self._histories(path, lineage), [*grown, here, grown[0]], strict=True):
            values[_GROWN] = float(n)
            history.add(at, values, page.url)
        if max(len(self.shapes), len(self.groups), len(self.tag_paths)) > self.max_groups:
            self.shapes = _largest(self.shapes_now(patterns), self.max_groups)
            self.groups = _largest(self.groups_now(patterns), self.max_groups)
            self.tag_paths = _largest(self.tag_paths, self.max_groups)
        reported = rewards[row] if early is not None else None
        known.trim()
        return reported

    def _led_to(
        self, found: Mapping[int, int], lineage: Sequence[int], patterns: UrlPatterns
    ) -> tuple[list[int], float]:
        """Return how many new links of a page have each of its shapes, and what those of other shapes promise
        together, at most 1.
        """
        grown, hub = dict.fromkeys(lineage, 0), 0.0
        prior = self.prior() if found else 0.0
        for pattern, n in found.items():
            above = patterns.lineage(pattern)
            for node in above:
                if node in grown:
                    grown[node] += n
            if above[0] != lineage[0] and hub < 1.0:
                hub += n * self.promise(above, prior)
        return list(grown.values()), min(1.0, hub)

    def feedback(
        self, event: FeedbackObservation, patterns: UrlPatterns, fold: Fold, *, was_fetched: bool
    ) -> None:
        """Count feedback; the latest reward of a page replaces the ones before.

        Feedback by ticket alone (`event.key` is 0) says nothing about one fetch and is left out.
        """
        row = self._known.rows.get(event.key)
        if not event.key or (row is None and was_fetched):
            return
        is_new = float(row is None)
        if row is None:
            link_path = event.contexts[0][1] if event.contexts else UNKNOWN_LINK_PATH
            self.fetches += 1
            told = [self.fetches], [event.pattern], fold([link_path]), [False], [0.0], [_NOT_REPORTED]
            row = self._known.add([event.key], *told)
        ats, of_pattern, paths, _, _, rewards = self._known.columns
        first = rewards[row] == _NOT_REPORTED
        change = event.reward - (0.0 if first else rewards[row])
        rewards[row] = event.reward
        self.reported += first
        self.by_reward = self.reported >= MIN_REPORTED
        values = astuple(Tally(fetched=is_new, silent=is_new, reported=float(first), reward=change))
        for history in self._histories(paths[row], patterns.lineage(of_pattern[row])):
            history.add(ats[row], values)
        self._known.trim()

    def recent(self, n: int) -> tuple[float, int]:
        """Return the mean reward of the last `n` fetches, or of those reported on, and how many those are."""
        *_, texts, rewards = self._known.columns
        last = texts[-n:] if not self.by_reward else [r for r in rewards[-n:] if r != _NOT_REPORTED]
        return (left_sum(last) / len(last) if last else 0.0), len(last)

    def judged(self) -> Iterator[tuple[int, int, float]]:
        """Yield identity hash, number and reward of the fetches remembered whose reward is known."""
        ats, _, _, is_page, texts, rewards = self._known.columns
        for key, row in self._known.items():
            if self.by_reward and rewards[row] != _NOT_REPORTED:
                yield key, ats[row], rewards[row]
            elif is_page[row] and not self.by_reward:
                yield key, ats[row], texts[row]

    def reported_only(self) -> set[int]:
        """Return the identity hashes of pages that were reported and not ingested."""
        is_page = self._known.columns[3]
        return {key for key, row in self._known.items() if not is_page[row]}

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
        late = site.latest(max(_LATEST, _LATEST_FETCHES / max(1.0, site.fetched)))
        return late.worth(by_reward=self.by_reward)

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

    def _histories(self, link_path: int, lineage: Sequence[int]) -> list[History]:
        """Return the histories a fetch counts in, made if there are none: shapes from fine to coarse, tag
        path, group.
        """
        places: list[tuple[dict[Any, History], Any]] = [(self.shapes, node) for node in lineage]
        places += [(self.tag_paths, link_path), (self.groups, (lineage[0], link_path))]
        return [known.get(key) or known.setdefault(key, History()) for known, key in places]


def _folded(histories: Mapping[_K, History], now: Callable[[_K], _K]) -> dict[_K, History]:
    """Return the histories by what each group is `now`; those of groups that became one are joined."""
    parts: defaultdict[_K, list[History]] = defaultdict(list)
    for key, history in histories.items():
        parts[now(key)].append(history)
    return {key: merged(some) for key, some in parts.items()}


def _largest(histories: Mapping[_K, History], most: int) -> dict[_K, History]:
    """Return the histories, of more than `most` three quarters of that with the most fetches, in order."""
    if len(histories) <= most:
        return dict(histories)
    kept = set(sorted(histories, key=lambda key: -histories[key].fetched)[: 3 * most // 4])
    return {key: history for key, history in histories.items() if key in kept}


def best_ahead(worth: Iterable[tuple[float, int]]) -> tuple[int, float]:
    """Return how many links the next fetches take and what they bring in all, of (reward, links) each."""
    left, total = HORIZON, 0.0
    for reward, n in sorted(worth, reverse=True):
        taken = min(left, n)
        total += taken * reward
        left -= taken
    return HORIZON - left, total


def late_worth(history: History, prior: float, *, by_reward: bool) -> float:
    """Return the worth of the later half of a history, shrunk to `prior` by two fetches."""
    late = history.latest(_HALF)
    if by_reward:
        return shrunk(late.reward, late.reported, prior, _PRIOR_WEIGHT)
    return shrunk(late.text, late.fetched - late.silent, prior, _PRIOR_WEIGHT)
