"""What people look at: activity of a crawl, templates, groups of waiting links, rewards over time.

Nothing here changes a site, and no crawler needs it: these are tables made of the state that scoring keeps
anyway. Costs are given because they are paid while no event is applied.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from linkscore_scoring.engine.progressive_validation import NO_ANSWER
from linkscore_scoring.engine.reports.advice import waiting_links
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.sites import SiteFacts
from linkscore_scoring.policies.base import Explanation, Policy
from linkscore_scoring.site.crawl_history import MAX_BINS, Group, History, Tally
from linkscore_scoring.site.memory import NOT_FETCHED
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_scoring.site.navigation import NavigationEntry, hits
from linkscore_scoring.types import UNKNOWN_CLUSTER, LinkBatch

MAX_VALUED = 2_000
"""A bound: groups of waiting links that are valued at once, 20 us each."""
TENTHS = 10
"""Points of a lookback, and links it needs at least: one a point."""


@dataclass(slots=True)
class Activity:
    """What became of a crawl, sums over its sites; `tally` of all fetches that count."""

    sites: int = 0
    learned: int = 0
    learning: int = 0
    pages: int = 0
    failed: int = 0
    duplicates: int = 0
    tally: Tally = field(default_factory=Tally)


def activity(sites: Iterable[SiteFacts]) -> Activity:
    """Return what became of a crawl; cost O(sites)."""
    found = Activity()
    sums = np.zeros(len(found.tally.values()))
    for site in sites:
        found.sites += 1
        found.learned += site.stage == Stage.READY
        found.learning += site.learning
        found.pages += site.pages
        found.failed += site.failed
        found.duplicates += site.duplicates
        sums += site.tally
    found.tally = Tally(*sums.tolist())
    return found


@dataclass(slots=True)
class TemplateRecord:
    """A template with what is known of its pages.

    Attributes
    ----------
    id, size, dsim, example, top_paths
        As of `ClusterStats`.
    crawled, balance
        Pages crawled, and the share of crawled pages that are of other templates (Xu 2018, section 4.4.1).
    min_depth
        Clicks to the nearest of its sampled pages.
    judged, reward
        Fetches remembered and judged, and their mean reward.
    hub, authority
        Of the links between all templates (Xu 2018, eqs. 7 and 8).
    exits
        Rows of the navigation table with the most links, and whether these are confirmed page links.
    """

    id: int
    size: int
    dsim: float
    example: str
    top_paths: tuple[str, ...]
    crawled: int
    balance: float
    min_depth: int
    judged: int
    reward: float
    hub: float
    authority: float
    exits: list[tuple[NavigationEntry, bool]]


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
    pagination, crawled = site.pagination.confirmed_places(), max(1, site.crawled.total())
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


def _is_pagination(site: SiteModel, row: NavigationEntry, pagination: set[int]) -> bool:
    """Say whether links lead to further pages of the same list: confirmed, and to the same template."""
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

    Attributes
    ----------
    bucket, value, why
        Bucket of a link of the group of which no more is known, its value, and the reasons.
    url_pattern, tag_path
        Names of the group.
    waiting, fetched, reported
        Links found and not fetched, fetches, and those with feedback.
    early, late
        Mean reward of the first and of the last half of the fetches.
    """

    bucket: str
    value: float
    why: Explanation
    url_pattern: str
    tag_path: str
    waiting: int
    fetched: int
    reported: int
    early: float
    late: float


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
    site, waiting = shard.model, waiting_links(shard.model)
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
        early, late = (half.worth(by_reward=site.history.by_reward) for half in history.halves())
        total = history.total()
        found.append(
            BucketRecord(
                f"{site.name}/{scored.buckets[row]}",
                float(scored.scores[row]),
                why,
                site.patterns.text(pattern),
                names.get(link_path, ""),
                waiting[largest[row]],
                round(total.fetched),
                round(total.reported),
                early,
                late,
            )
        )
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
    links = shard.validation.links
    if not len(links):
        return []
    rewards, found = links.rewards(), []
    for column in links.scores().T:
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
