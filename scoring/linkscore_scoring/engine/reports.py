"""What people are told about a site: what its next fetches should bring, and traps.

Nothing here changes a site. Costs are given because they are paid while no event is applied. Figures of traps
are chosen, not measured; docs/reference/operations.md explains them to users.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from linkscore_scoring.columns import left_sum
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.site.crawl_history import (
    GOOD_SHARE,
    GROWTH,
    HORIZON,
    HOST_AND_ROOT,
    LOW_SHARE,
    LOW_USE,
    CrawlHistory,
    Group,
    History,
    Tally,
    best_ahead,
    late_worth,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import SiteWarning
from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatterns

MIN_FETCHES = 20
"""Fetches before anything is suspected."""
COPY_SHARE = 0.7
"""Share of known text among the fetches of a later half that makes them copies."""
FADED = 1 / 3
"""A later half that is worth at most this share of the first has faded."""
_MIN_FADING = 40
"""Fetches before fading is told from chance."""
_MIN_WAITING, _WAITING_SHARE = 5, 0.1
"""Links that wait, and their share of the fetches, from which a part goes on."""
_MIN_GOOD = 5
"""Fetches of a later half before it can be good."""


class TrapKind(IntEnum):
    """What makes a part of a site suspicious; numbers as in the wire contract."""

    COPIES = 1
    ENDLESS = 2
    FADING = 3


@dataclass(slots=True)
class TrapReport:
    """A part of a site that looks like a trap; fields as of `TrapSuspicion` in the wire contract.

    `shape`: URL pattern id, `ROOT` if it is a tag path. `link_path`: folded link path id, 0 if it is a URL
    shape. `early`, `late`: tallies of the first and of the last half of its fetches. `url_pattern`,
    `tag_path`: empty until it is named.
    """

    kind: TrapKind
    shape: int
    link_path: int
    early: Tally
    late: Tally
    early_yield: float
    late_yield: float
    waiting_count: int
    example_urls: list[str]
    url_pattern: str = ""
    tag_path: str = ""

    @property
    def fetched_count(self) -> int:
        """Number of fetches."""
        return round(self.early.fetched + self.late.fetched)

    @property
    def evidence(self) -> str:
        """The reasons in words and numbers."""
        late = self.late
        copies, grown = late.copies / late.fetched, late.grown / late.fetched
        found = [
            f"{self.fetched_count} fetched, {self.waiting_count} waiting",
            f"a fetch brought {self.early_yield:.2f} in the first half, {self.late_yield:.2f} in the last",
            f"of the last {late.fetched:.0f}, {copies:.0%} showed only known text",
            f"each found {grown:.1f} new links of the same kind",
        ]
        if late.reported:
            mean = late.worth(by_reward=True)
            found.append(f"{late.reported:.0f} of them were reported, mean reward {mean:.2f}")
        return "; ".join(found)


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

    `crawl_history`, `patterns`: histories and URL patterns of the site. `waiting`: links found and not
    fetched by (URL pattern, folded link path).

    Deterministic; cost O(histories). Pages without any long text are judged by growth and by feedback alone:
    without both, a gallery and a calendar look the same. Not from a paper.
    """
    limits = _Limits(crawl_history)
    found = _shapes(crawl_history, patterns, waiting, limits)
    found += _tag_paths(crawl_history, patterns, waiting, limits, {report.shape for report in found})
    return sorted(found, key=lambda report: -report.fetched_count)


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


def _shapes(
    crawl_history: CrawlHistory, patterns: UrlPatterns, waiting: Mapping[Group, int], limits: _Limits
) -> list[TrapReport]:
    """Return the suspicious shapes: the widest that have nothing good below them; then, apart from those, the
    finest of which less than a quarter is good."""
    shapes, below, good = crawl_history.shapes_now(patterns), Counter[int](), Counter[int]()
    for (pattern, _), n in waiting.items():
        below.update(dict.fromkeys(patterns.lineage(pattern), n))
    lineages = {node: patterns.lineage(node) for node in shapes}
    for node in sorted(shapes, key=lambda node: -len(lineages[node])):
        if not good[node] and limits.is_good(shapes[node]):
            good.update(dict.fromkeys(lineages[node][1:], shapes[node].fetched))
    wide_first = sorted(shapes, key=lambda node: len(lineages[node]))
    found, around = dict[int, TrapReport](), set[int]()
    for nodes, share in ((wide_first, 0.0), (reversed(wide_first), GOOD_SHARE)):
        for node in nodes:
            is_apart = node not in around and found.keys().isdisjoint(lineages[node])
            is_bad = good[node] < share * shapes[node].fetched or not good[node]
            may_be = is_apart and is_bad and len(lineages[node]) > HOST_AND_ROOT
            if may_be and (report := limits.report(shapes[node], below[node], shape=node)):
                found[node] = report
                around.update(lineages[node])
    return list(found.values())


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
        explained = left_sum(
            h.fetched for at, h in shapes[link_path] if not inside.isdisjoint(patterns.lineage(at))
        )
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


MAX_GROUPS = 20
"""A bound: groups that are listed, those with the most fetches."""
MAX_TRAPS = 20
"""A bound: suspicious parts that are listed."""
UNSURE_FETCHES = 30
"""Fetches of a site before a policy that is unsupervised is taken for unsure of it. Of 20, 30 and 50 the
first that tells sites apart well: area under the ROC curve .75, .80, .87."""
UNSURE_BELOW, BROUGHT_LITTLE = 0.5, 0.45
"""Mean reward it expects of the next 100 fetches, and that of the latest 100, below which it is. The first is
chosen on 50 synthetic sites among .4 to .6, the second on half of the sites at hand:
research/notebook/when-to-stop.md."""

_NEEDS_EXAMPLES = SiteWarning(
    "needs_examples",
    "no examples of this host, feedback or query, and little is expected of the links that wait: three "
    "example pages of what is wanted help most, or answers to what `linkscore console` asks",
)


@dataclass(slots=True)
class GroupHistory:
    """What the links of one URL shape and tag path brought; fields as of `GroupYield` in the contract."""

    url_pattern: str
    tag_path: str
    fetched_count: int
    reported_count: int
    waiting_count: int
    early_reward: float
    late_reward: float


@dataclass(slots=True)
class SiteAdvice:
    """What a crawler may want to know before it goes on; fields as of the message in the wire contract.

    `by_reward`: rewards are those of feedback; else they say how much new text came.
    """

    by_reward: bool
    waiting_links: int = 0
    expected_fetches: int = 0
    expected_reward: float = 0.0
    policy_estimate: bool = False
    warnings: list[SiteWarning] = field(default_factory=list)
    recent_fetches: int = 0
    recent_reward: float = 0.0
    yields: list[GroupHistory] = field(default_factory=list)
    traps: list[TrapReport] = field(default_factory=list)


def advise(shard: SiteShard) -> SiteAdvice:
    """Return advice about a site; changes nothing. Cost O(links remembered + histories)."""
    site = shard.model
    found = site.waiting_links()
    advice = SiteAdvice(site.history.by_reward, waiting_links=sum(found.values()))
    _look_ahead(advice, shard, found)
    waiting: Counter[Group] = Counter()
    for (pattern, link_path), n in found.items():
        waiting[site.patterns.resolve(pattern), link_path] += n
    names = site.link_paths.folded_names()
    advice.yields = list(_largest_groups(site, waiting, names))
    advice.traps = trap_reports(site.history, site.patterns, waiting)[:MAX_TRAPS]
    for trap in advice.traps:
        trap.url_pattern, trap.tag_path = site.patterns.text(trap.shape), names.get(trap.link_path, "")
    return advice


def _look_ahead(advice: SiteAdvice, shard: SiteShard, waiting: Counter[Group]) -> None:
    groups = list(waiting)
    rewards, advice.policy_estimate = expected_rewards(shard, groups)
    worth = zip(rewards, map(waiting.__getitem__, groups), strict=True)
    advice.expected_fetches, advice.expected_reward = fetches, reward = best_ahead(worth)
    latest = shard.served.latest_rewards(HORIZON, shard.model) if advice.policy_estimate else None
    if latest is None:
        advice.recent_reward, advice.recent_fetches = shard.model.history.recent(HORIZON)
    elif len(latest):
        advice.recent_reward, advice.recent_fetches = float(latest.mean()), len(latest)
    is_due = shard.is_unsupervised and shard.model.history.fetches >= UNSURE_FETCHES
    brought_little = latest is None or latest.mean() < BROUGHT_LITTLE
    if is_due and advice.policy_estimate and reward < UNSURE_BELOW * fetches and brought_little:
        advice.warnings.append(_NEEDS_EXAMPLES)
    advice.warnings += shard.served.warnings(reward / max(1, fetches), shard.model)


def expected_rewards(shard: SiteShard, groups: Sequence[Group]) -> tuple[list[float], bool]:
    """Return what a fetch of each group is expected to bring, and whether the policy itself says so."""
    known = shard.served.expected_rewards(groups, shard.model)
    if known is not None:
        return known.tolist(), True
    prior = shard.model.history.prior()
    return [_expected(group, shard.model, prior) for group in groups], False


def _expected(group: Group, site: SiteModel, prior: float) -> float:
    """Return the reward to expect of a link by what its group brought lately, else its URL shape."""
    by_reward = site.history.by_reward
    promise = site.history.promise(site.patterns.lineage(group[0]), prior)
    history = site.history.groups.get((site.patterns.resolve(group[0]), group[1]))
    return late_worth(history, promise, by_reward=by_reward) if history is not None else promise


def _largest_groups(
    site: SiteModel, waiting: Counter[Group], names: Mapping[int, str]
) -> Iterator[GroupHistory]:
    groups = site.history.groups_now(site.patterns)
    for group in sorted(groups, key=lambda group: -groups[group].fetched)[:MAX_GROUPS]:
        yield group_history(site, group, groups[group], waiting[group], names)


def group_history(
    site: SiteModel, group: Group, history: History, waiting: int, names: Mapping[int, str]
) -> GroupHistory:
    """Return what the links of a group brought; `names`: of link paths, by id."""
    early, late = (half.worth(by_reward=site.history.by_reward) for half in history.halves())
    total, named = history.total(), (site.patterns.text(group[0]), names.get(group[1], ""))
    return GroupHistory(*named, round(total.fetched), round(total.reported), waiting, early, late)
