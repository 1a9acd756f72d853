"""What people are told about a site: what its next fetches should bring, traps, templates, waiting links.

Nothing here changes a site: these are tables made of the state that scoring keeps anyway. Costs are given
because they are paid while no event is applied. Figures of traps are chosen, not measured;
docs/reference/operations.md explains them to users.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from enum import IntEnum

import numpy as np

from linkscore_scoring.columns import left_sum
from linkscore_scoring.engine.progressive_validation import NO_ANSWER
from linkscore_scoring.engine.shard import SiteFacts, SiteShard
from linkscore_scoring.policies.base import Explanation, Policy
from linkscore_scoring.site.crawl_history import (
    GROWTH,
    LOW_SHARE,
    LOW_USE,
    MAX_BINS,
    CrawlHistory,
    Group,
    History,
    Tally,
    late_worth,
)
from linkscore_scoring.site.memory import NOT_FETCHED
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_scoring.site.navigation import NavigationEntry, hits
from linkscore_scoring.types import UNKNOWN_CLUSTER, LinkBatch, SiteWarning
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
    def copy_share(self) -> float:
        """Share of the last half that showed only known text."""
        return self.late.copies / self.late.fetched if self.late.fetched else 0.0

    @property
    def growth(self) -> float:
        """New links of the same kind found by a fetch of the last half."""
        return self.late.grown / self.late.fetched if self.late.fetched else 0.0

    @property
    def evidence(self) -> str:
        """The reasons in words and numbers."""
        found = [
            f"{self.fetched_count} fetched, {self.waiting_count} waiting",
            f"a fetch brought {self.early_yield:.2f} in the first half, {self.late_yield:.2f} in the last",
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

    `crawl_history`, `patterns`: histories and URL patterns of the site. `waiting`: links found and not
    fetched by (URL pattern, folded link path).

    Deterministic; cost O(histories). Pages without any long text are judged by growth and by feedback alone:
    without both, a gallery and a calendar look the same. Not from a paper.
    """
    limits = _Limits(crawl_history)
    parts = _parts(crawl_history, patterns, waiting)
    roots = [node for node in parts if len(patterns.lineage(node)) == _HOST_AND_ROOT + 1]
    found = [report for node in roots for report in _search(node, parts, limits)]
    inside = {node for report in found for node in _below(report.shape, parts)}
    found += _tag_paths(crawl_history, patterns, waiting, limits, inside)
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


DEFAULT_HORIZON = 100
"""Fetches looked ahead and back unless the caller says; as in the wire contract."""
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
    "no examples, feedback or query, and little is expected of the links that wait: three example pages of "
    "what is wanted help most, or answers to suggest_examples",
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
    horizon: int
    waiting_links: int = 0
    expected_fetches: int = 0
    expected_reward: float = 0.0
    policy_estimate: bool = False
    warnings: list[SiteWarning] = field(default_factory=list)
    recent_fetches: int = 0
    recent_reward: float = 0.0
    yields: list[GroupHistory] = field(default_factory=list)
    traps: list[TrapReport] = field(default_factory=list)


def advise(shard: SiteShard, horizon: int) -> SiteAdvice:
    """Return advice about a site; changes nothing. Cost O(links remembered + histories)."""
    site = shard.model
    found = site.waiting_links()
    advice = SiteAdvice(site.history.by_reward, horizon, waiting_links=sum(found.values()))
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
    best_first = sorted(
        ((reward, waiting[group]) for reward, group in zip(rewards, groups, strict=True)), reverse=True
    )
    advice.expected_fetches, advice.expected_reward = _taken(best_first, advice.horizon)
    latest = shard.served.latest_rewards(advice.horizon, shard.model) if advice.policy_estimate else None
    if latest is None:
        advice.recent_reward, advice.recent_fetches = shard.model.history.recent(advice.horizon)
    elif len(latest):
        advice.recent_reward, advice.recent_fetches = float(latest.mean()), len(latest)
    fetches, reward = _taken(best_first, DEFAULT_HORIZON)
    is_due = shard.is_unsupervised and shard.model.history.fetches >= UNSURE_FETCHES
    if is_due and advice.policy_estimate and reward < UNSURE_BELOW * fetches:
        latest = shard.served.latest_rewards(DEFAULT_HORIZON, shard.model)
        if latest is None or latest.mean() < BROUGHT_LITTLE:
            advice.warnings.append(_NEEDS_EXAMPLES)
    advice.warnings += shard.served.warnings(reward / max(1, fetches), shard.model)


def expected_rewards(shard: SiteShard, groups: Sequence[Group]) -> tuple[list[float], bool]:
    """Return what a fetch of each group is expected to bring, and whether the policy itself says so."""
    known = shard.served.expected_rewards(groups, shard.model)
    if known is not None:
        return known.tolist(), True
    prior = shard.model.history.prior()
    return [_expected(group, shard.model, prior) for group in groups], False


def _taken(best_first: Sequence[tuple[float, int]], horizon: int) -> tuple[int, float]:
    """Return how many links `horizon` fetches take and what they bring in all, of (reward, links)."""
    left, total = horizon, 0.0
    for reward, n in best_first:
        taken = min(left, n)
        total += taken * reward
        left -= taken
    return horizon - left, total


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
        yield _group_history(site, group, groups[group], waiting[group], names)


def _group_history(
    site: SiteModel, group: Group, history: History, waiting: int, names: Mapping[int, str]
) -> GroupHistory:
    early, late = (half.worth(by_reward=site.history.by_reward) for half in history.halves())
    total, named = history.total(), (site.patterns.text(group[0]), names.get(group[1], ""))
    return GroupHistory(*named, round(total.fetched), round(total.reported), waiting, early, late)


MAX_VALUED = 2_000
"""A bound: groups of waiting links that are valued at once, 20 us each."""
TENTHS = 10
"""Points of a lookback, and links it needs at least: one a point."""


@dataclass(slots=True)
class Activity:
    """What became of a crawl, sums over its sites; fields as of the message, `tally` of all that count."""

    site_count: int = 0
    learned_site_count: int = 0
    learning_site_count: int = 0
    page_count: int = 0
    failed_count: int = 0
    duplicate_count: int = 0
    tally: Tally = field(default_factory=Tally)


def activity(sites: Iterable[SiteFacts]) -> Activity:
    """Return what became of a crawl; cost O(sites)."""
    found = Activity()
    sums = np.array(astuple(found.tally))
    for site in sites:
        found.site_count += 1
        found.learned_site_count += site.stage == Stage.READY
        found.learning_site_count += site.learning
        found.page_count += site.pages
        found.failed_count += site.failed
        found.duplicate_count += site.duplicates
        sums += site.tally
    found.tally = Tally(*sums.tolist())
    return found


@dataclass(slots=True)
class TemplateRecord:
    """A template with what is known of its pages; fields as of `Template` in the wire contract.

    `dissimilarity`, `balance`, `hub`, `authority`: Xu 2018, eqs. 7, 8 and 10, section 4.4.1. `rows`: those of
    the navigation table with the most links, and whether these are confirmed page links.
    """

    id: int
    sample_pages: int
    dissimilarity: float
    example_url: str
    tag_paths: tuple[str, ...]
    crawled_pages: int
    balance: float
    min_depth: int
    judged_count: int
    reward: float
    hub: float
    authority: float
    rows: list[tuple[NavigationEntry, bool]]


def templates(site: SiteModel, start: int, n: int, max_exits: int) -> list[TemplateRecord]:
    """Return the templates from place `start` on, most crawled first.

    Cost O(fetches + navigation rows + templates^2).
    """
    if site.templates is None:
        return []
    ordered = sorted(site.templates.clusters, key=lambda stats: (-site.crawled[stats.id], stats.id))
    chosen = ordered[start : start + n]
    rewards, depths = _rewards_by_template(site), _depths_by_template(site)
    exits = site.navigation.strongest({stats.id for stats in chosen}, max_exits)
    ids = site.templates.ids()
    scores = dict(zip(ids, zip(*hits(site.navigation.adjacency(ids)), strict=True), strict=True))
    pagination = {place for place, n in site.page_link_places.items() if n >= _PAGE_LINKS}
    crawled = max(1, site.crawled.total())
    return [
        TemplateRecord(
            stats.id,
            stats.size,
            stats.dsim,
            stats.example,
            stats.top_paths,
            site.crawled[stats.id],
            1.0 - site.crawled[stats.id] / crawled,
            depths.get(stats.id, 0),
            len(rewards[stats.id]),
            float(np.mean(rewards[stats.id])) if rewards[stats.id] else 0.0,
            *scores[stats.id],
            [(row, _is_pagination(site, row, pagination)) for row in exits.get(stats.id, [])],
        )
        for stats in chosen
    ]


_PAGE_LINKS = 2
"""Page links at a place from which it turns pages: one may be an accident. Chosen, not measured."""


def _is_pagination(site: SiteModel, row: NavigationEntry, pagination: set[int]) -> bool:
    """Say whether links lead to further pages of the same list: page links, and to the same template."""
    stays = row.destinations.get(row.source, 0.0) >= max(row.destinations.values(), default=1.0)
    return stays and site.link_paths.get(row.link_path).classless in pagination


@dataclass(frozen=True, slots=True)
class SampledUrl:
    """A page of a template: identity, clicks, reward if known, in-links as (cluster, tag path), title."""

    url: str
    depth: int
    reward: float | None
    in_links: list[tuple[int, str]]
    title: str


def template_pages(site: SiteModel, cluster: int, start: int, n: int) -> tuple[list[SampledUrl], bool]:
    """Return sampled pages of a template from place `start` on, latest first, and whether there are more.

    Cost O(sample + fetches remembered).
    """
    of_cluster = [page for page in reversed(site.sample) if site.memory.cluster(page.hash) == cluster]
    chosen = of_cluster[start : start + n]
    wanted = {page.hash for page in chosen}
    rewards = {key: reward for key, _, reward in site.history.judged() if key in wanted}
    pages = [
        SampledUrl(
            page.key,
            site.memory.depth(page.hash) or 0,
            rewards.get(page.hash),
            [
                (site.cluster_of(source), site.link_paths.get(link_path).raw)
                for source, link_path in site.memory.contexts(page.hash)
            ],
            site.titles.get(page.hash, ""),
        )
        for page in chosen
    ]
    return pages, start + n < len(of_cluster)


@dataclass(slots=True)
class BucketRecord:
    """Waiting links of one URL shape and tag path, as a policy sees them.

    `bucket`, `value`, `why`: bucket of a link of the group of which no more is known, its value, and the
    reasons. `group`: what such links brought.
    """

    bucket: str
    value: float
    why: Explanation
    group: GroupHistory


@dataclass(slots=True)
class BucketPage:
    """Some groups, how many wait in all, and how many links in them."""

    buckets: list[BucketRecord]
    groups: int
    links: int
    valued: int


def buckets(shard: SiteShard, policy: Policy, start: int, n: int) -> BucketPage:
    """Return groups of waiting links from place `start` on, best first; cost O(links remembered).

    Of more than `MAX_VALUED` groups those with the most links are valued.
    """
    site, waiting = shard.model, shard.model.waiting_links()
    largest = [group for group, _ in waiting.most_common(MAX_VALUED)]
    batch = _batch(site, largest)
    scored = policy.score(batch, site)
    order = np.argsort(-scored.scores, kind="stable")[start : start + n].tolist()
    reasons = policy.explain(batch.rows(order), site) if order else []
    histories, names = site.history.groups_now(site.patterns), site.link_paths.folded_names()
    found = []
    for row, why in zip(order, reasons, strict=True):
        pattern, link_path = largest[row]
        history = histories.get((site.patterns.resolve(pattern), link_path)) or History()
        group = _group_history(site, largest[row], history, waiting[largest[row]], names)
        name, value = f"{site.name}/{scored.buckets[row]}", float(scored.scores[row])
        found.append(BucketRecord(name, value, why, group))
    return BucketPage(found, len(waiting), waiting.total(), len(largest))


def _batch(site: SiteModel, groups: Sequence[Group]) -> LinkBatch:
    """Return one link of each group, of which nothing is known but its URL pattern and tag path."""
    n = len(groups)
    return LinkBatch(
        urls=[f"http://{site.name}/"] * n,
        keys=[0] * n,
        link_paths=[link_path for _, link_path in groups],
        sources=[UNKNOWN_CLUSTER] * n,
        depths=[1] * n,
        patterns=[pattern for pattern, _ in groups],
        anchors=[""] * n,
    )


@dataclass(frozen=True, slots=True)
class HarvestPoint:
    """Number of the first of some fetches of a site, and their tally."""

    at: int
    tally: Tally


def harvest(site: SiteModel) -> list[HarvestPoint]:
    """Return what all fetches of a site brought, in at most 16 stretches; cost O(1)."""
    return [HarvestPoint(round(at), Tally(*values)) for at, *values in site.history.site().bins]


def harvest_by_template(site: SiteModel, n: int) -> dict[int, list[HarvestPoint]]:
    """Return the same for the `n` templates with most fetches, of those remembered one by one.

    Stretches are the same for all templates: of equal length, those without a fetch left out. Cost
    O(fetches remembered).
    """
    judged = list(site.history.judged())
    if not judged:
        return {}
    first, last = min(at for _, at, _ in judged), max(at for _, at, _ in judged)
    width = (last - first) // MAX_BINS + 1
    by_reward = site.history.by_reward
    found: defaultdict[int, dict[int, Tally]] = defaultdict(dict)
    sizes: Counter[int] = Counter()
    for key, at, reward in judged:
        cluster = site.cluster_of(key)
        tally = found[cluster].setdefault((at - first) // width, Tally())
        tally.fetched += 1.0
        tally.reported += by_reward
        tally.reward += reward * by_reward
        tally.text += reward * (not by_reward)
        sizes[cluster] += 1
    return {
        cluster: [HarvestPoint(first + bin_ * width, found[cluster][bin_]) for bin_ in sorted(found[cluster])]
        for cluster, _ in sizes.most_common(n)
    }


def lookback(shard: SiteShard) -> list[tuple[int, list[float]]]:
    """Return, for each policy of the site, the links it was judged on and what its order would have given.

    The mean reward of its best tenth, two tenths, ... of the latest fetched links, by the scores it gave
    before they were fetched; nothing with fewer than ten links. Cost O(policies).
    """
    scores, rewards = shard.validation.columns()
    found = []
    for column in scores.T:
        on = column != NO_ANSWER
        best_first = rewards[on][np.argsort(-column[on], kind="stable")]
        n = len(best_first)
        cuts = [-(-n * tenth // TENTHS) for tenth in range(1, TENTHS + 1)] if n >= TENTHS else []
        found.append((n, [float(best_first[:cut].mean()) for cut in cuts]))
    return found


def _rewards_by_template(site: SiteModel) -> defaultdict[int, list[float]]:
    found: defaultdict[int, list[float]] = defaultdict(list)
    for key, _, reward in site.history.judged():
        found[site.cluster_of(key)].append(reward)
    return found


def _depths_by_template(site: SiteModel) -> dict[int, int]:
    found: dict[int, int] = {}
    for page in site.sample:
        cluster, depth = site.memory.cluster(page.hash), site.memory.depth(page.hash)
        if cluster != NOT_FETCHED and depth is not None:
            found[cluster] = min(depth, found.get(cluster, depth))
    return found
