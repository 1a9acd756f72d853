"""Which parts of a site look like traps: many fetches, little new, and always more of the same to fetch.

Its figures were chosen, not measured; docs/reference/operations.md explains them to users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from linkscore_scoring.site.crawl_history import CrawlHistory, Group, History, Tally
from linkscore_scoring.sums import left_sum
from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatterns

MIN_FETCHES = 20
"""Fetches before anything is suspected."""
LOW_USE = 0.15
"""A later half that brings less than this a fetch is low: some 70 new characters, and no good new link."""
LOW_SHARE = 0.5
"""With feedback, low is less than this share of the site's mean reward, at most `LOW_USE`."""
COPY_SHARE = 0.7
"""Share of known text among the fetches of a later half that makes them copies."""
GROWTH = 0.9
"""New links of the same kind by which a fetch about replaces itself; with fewer the kind runs out."""
FADED = 1 / 3
"""A later half that is worth at most this share of the first has faded."""
_MIN_FADING = 40
"""Fetches before fading is told from chance."""
_MIN_WAITING, _WAITING_SHARE = 5, 0.1
"""Links that wait, and their share of the fetches, from which a part goes on."""
_MIN_GOOD = 5
"""Fetches of a later half before it can be good."""
_GOOD_SHARE = 0.25
"""Share of the fetches of a part in good parts below it from which it is not reported itself."""
_HOST_AND_ROOT = 2
"""Nodes above the first shape below the host."""


class TrapKind(IntEnum):
    """What makes a part of a site suspicious; numbers as in the wire contract."""

    COPIES = 1
    ENDLESS = 2
    FADING = 3


@dataclass(slots=True)
class TrapReport:
    """A part of a site that looks like a trap.

    Attributes
    ----------
    kind
        The strongest sign.
    shape
        URL pattern id, `ROOT` if it is a tag path.
    link_path
        Folded link path id, 0 if it is a URL shape.
    early, late
        Tallies of the first and of the last half of its fetches.
    early_use, late_use
        Worth of a fetch and of the links it led to, mean of each half.
    waiting
        Links found and not fetched.
    examples
        URLs of its latest fetches.
    """

    kind: TrapKind
    shape: int
    link_path: int
    early: Tally
    late: Tally
    early_use: float
    late_use: float
    waiting: int
    examples: list[str]

    @property
    def fetched(self) -> int:
        """Number of fetches."""
        return round(self.early.fetched + self.late.fetched)

    @property
    def copy_share(self) -> float:
        """Share of the last half that showed only known text."""
        return self.late.copies / self.late.fetched if self.late.fetched else 0.0

    @property
    def growth(self) -> float:
        """New links of the same kind found by a fetch of the last half."""
        return self.late.grown / self.late.fetched if self.late.fetched else 0.0

    def evidence(self) -> str:
        """Return the reasons in words and numbers."""
        found = [
            f"{self.fetched} fetched, {self.waiting} waiting",
            f"a fetch brought {self.early_use:.2f} in the first half, {self.late_use:.2f} in the last",
            f"of the last {self.late.fetched:.0f}, {self.copy_share:.0%} showed only known text",
            f"each found {self.growth:.1f} new links of the same kind",
        ]
        if self.late.reported:
            mean = self.late.worth(by_reward=True)
            found.append(f"{self.late.reported:.0f} of them were reported, mean reward {mean:.2f}")
        return "; ".join(found)


@dataclass(slots=True)
class _Part:
    """A URL shape with what was fetched and waits below it."""

    history: History
    waiting: int = 0
    children: list[int] = field(default_factory=list)


def trap_reports(
    crawl_history: CrawlHistory, patterns: UrlPatterns, waiting: Mapping[Group, int]
) -> list[TrapReport]:
    """Return the suspicious parts of a site, most fetches first.

    A part is a URL shape below the host, or a tag path whose shapes are not suspicious themselves. It is
    suspected after 20 fetches when the last half of them brought little (`LOW_USE`) and

    - ``COPIES``: at least 70 % of that half showed long text and nothing new, and more links wait: five, and
      a tenth of those fetched (session ids, sort orders, permalinks);
    - ``ENDLESS``: the fetches of that half found 0.9 new links of the same kind each, or more: about as many
      as they used up (calendars, combinations of facets);
    - ``FADING``: of 40 fetches and more, the first half was worth three times the last and not little
      itself, and as many links wait.

    The widest shape is named that has nothing good below it: five fetches of a half that brought more.

    Parameters
    ----------
    crawl_history, patterns
        Histories and URL patterns of the site.
    waiting
        Links found and not fetched by (URL pattern, folded link path).

    Notes
    -----
    Deterministic; cost O(histories). Pages without any long text are judged by growth and by feedback alone:
    without both, a gallery and a calendar look the same. Not from a paper.
    """
    limits = _Limits(crawl_history)
    parts = _parts(crawl_history, patterns, waiting)
    roots = [node for node in parts if len(patterns.lineage(node)) == _HOST_AND_ROOT + 1]
    found = [report for node in roots for report in _search(node, parts, limits)]
    inside = {node for report in found for node in _below(report.shape, parts)}
    found += _tag_paths(crawl_history, patterns, waiting, limits, inside)
    return sorted(found, key=lambda report: -report.fetched)


class _Limits:
    """Compares halves with what is low on this site."""

    def __init__(self, crawl_history: CrawlHistory) -> None:
        self.by_reward = crawl_history.by_reward
        mean = crawl_history.site().total().worth(by_reward=True)
        self.low = min(LOW_USE, LOW_SHARE * mean) if self.by_reward else LOW_USE

    def use(self, tally: Tally) -> float:
        """Return what a fetch brought; where nothing was reported, by new text."""
        return tally.use(by_reward=self.by_reward and tally.reported > 0)

    def is_good(self, history: History) -> bool:
        """Say whether the last half of some fetches brought what a fetch should bring."""
        late = history.latest(0.5)
        return late.fetched >= _MIN_GOOD and self.use(late) > self.low

    def report(
        self, history: History, waiting: int, *, shape: int = ROOT, link_path: int = 0
    ) -> TrapReport | None:
        """Return the report on some fetches, None if there is nothing to report."""
        if history.fetched < MIN_FETCHES:
            return None
        early, late = history.halves()
        before, after = self.use(early), self.use(late)
        kind = self._kind(early, late, before, after, waiting)
        if kind is None:
            return None
        return TrapReport(kind, shape, link_path, early, late, before, after, waiting, list(history.examples))

    def _kind(self, early: Tally, late: Tally, before: float, after: float, waiting: int) -> TrapKind | None:
        if after > self.low or not waiting:
            return None
        fetched = early.fetched + late.fetched
        goes_on = waiting >= max(_MIN_WAITING, _WAITING_SHARE * fetched)
        if late.copies >= COPY_SHARE * late.fetched and goes_on:
            return TrapKind.COPIES
        if late.grown >= GROWTH * late.fetched:
            return TrapKind.ENDLESS
        faded = before > self.low and after <= FADED * before
        return TrapKind.FADING if faded and goes_on and fetched >= _MIN_FADING else None


def _parts(
    crawl_history: CrawlHistory, patterns: UrlPatterns, waiting: Mapping[Group, int]
) -> dict[int, _Part]:
    """Return the shapes that were fetched, with links that wait and the shapes below each."""
    parts = {node: _Part(history) for node, history in crawl_history.shapes_now(patterns).items()}
    for node in parts:
        for parent in patterns.lineage(node)[1:2]:
            if parent in parts:
                parts[parent].children.append(node)
    for (pattern, _), n in waiting.items():
        for node in patterns.lineage(pattern):
            if node in parts:
                parts[node].waiting += n
    return parts


def _search(node: int, parts: Mapping[int, _Part], limits: _Limits) -> list[TrapReport]:
    """Return the widest suspicious shapes at or below one that have nothing good below them."""
    part = parts[node]
    found = limits.report(part.history, part.waiting, shape=node)
    good = left_sum(parts[n].history.fetched for n in _good_below(node, parts, limits)) if found else 0.0
    if found is not None and not good:
        return [found]
    below = [report for child in part.children for report in _search(child, parts, limits)]
    if found is not None and not below and good < _GOOD_SHARE * part.history.fetched:
        return [found]
    return below


def _good_below(node: int, parts: Mapping[int, _Part], limits: _Limits) -> Iterable[int]:
    """Yield the finest good shapes below one."""
    for child in parts[node].children:
        finer = list(_good_below(child, parts, limits))
        if finer:
            yield from finer
        elif limits.is_good(parts[child].history):
            yield child


def _below(node: int, parts: Mapping[int, _Part]) -> Iterable[int]:
    yield node
    for child in parts[node].children:
        yield from _below(child, parts)


def _tag_paths(
    crawl_history: CrawlHistory,
    patterns: UrlPatterns,
    waiting: Mapping[Group, int],
    limits: _Limits,
    inside: set[int],
) -> list[TrapReport]:
    """Return suspicious tag paths that lead to no good shape, and mostly not to suspicious ones."""
    shapes: defaultdict[int, list[tuple[int, History]]] = defaultdict(list)
    for (pattern, link_path), history in crawl_history.groups_now(patterns).items():
        shapes[link_path].append((pattern, history))
    found = []
    for link_path, history in crawl_history.tag_paths.items():
        explained = left_sum(h.fetched for pattern, h in shapes[link_path] if pattern in inside)
        if (
            not link_path
            or 2 * explained >= history.fetched
            or any(limits.is_good(h) for _, h in shapes[link_path])
        ):
            continue
        n = sum(count for (_, found_at), count in waiting.items() if found_at == link_path)
        report = limits.report(history, n, link_path=link_path)
        found += [report] if report is not None else []
    return found
