"""How well orders mined from a browse log foresee the visits of later days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linkscore_lab.replay.browse_log import read_counts
from linkscore_research.behavior.orders import (
    Floats,
    Mirror,
    PolicyOrder,
    breadth_first,
    by_pagerank,
    by_worth,
    discovery_share,
    fetch_share,
    greedy_order,
    read_mirror,
)
from linkscore_research.behavior.patterns import PatternFigures, pattern_figures
from linkscore_scoring.browse_logs.behavior import BehaviorSettings
from linkscore_scoring.browse_logs.mining import MinedSite, MiningSettings, mine_site
from linkscore_scoring.policies.registry import all_policies

ORACLE = "oracle"


@dataclass(frozen=True, slots=True)
class OrderFigure:
    """Share of the pages that an order needs for 80 % of the later visits; `times` as many as the oracle."""

    order: str
    share: float
    times: float


@dataclass(frozen=True, slots=True)
class BehaviorReport:
    """All figures of one log."""

    site: str  # The stored site, and how many pages it has
    pages: int
    mined_days: int  # Days mined, from the first of the log, and days judged after them
    judged_days: int
    # Visits of the days judged, and the share of them that went to pages of the stored site; the others are
    # left out
    judged_visits: int
    of_mirror: float
    fetch: list[OrderFigure]  # Figures of each order, the oracle last
    discovery: list[OrderFigure]
    patterns: list[PatternFigures]  # Quality of the URL patterns


def behavior_report(
    log: Path, archives: Iterable[Path], *, days: int = 30, judged: int = 0, workers: int = 0
) -> BehaviorReport:
    """Mine the first days of a log, and measure on the days after them."""
    first = read_counts(log, n_days=None)
    counts = read_counts(log, first_day=first.first_day, n_days=days)
    rest = judged or first.n_days - days
    later = read_counts(log, first_day=first.first_day + days, n_days=rest)
    mirror = read_mirror(list(archives), workers=workers)
    visits = mirror.visits(later)
    ours = mine_site(counts)
    paper = mine_site(counts, MiningSettings(behavior=BehaviorSettings(by_drop=True)))
    total = int(later.visits().sum())
    return BehaviorReport(
        site=mirror.name,
        pages=len(mirror.keys),
        mined_days=days,
        judged_days=rest,
        judged_visits=total,
        of_mirror=float(visits.sum() / total),
        fetch=_beside_oracle(_fetch_orders(mirror, ours, paper, visits)),
        discovery=_beside_oracle(_discovery_orders(mirror, ours, paper, visits)),
        patterns=pattern_figures(counts, later, mirror),
    )


def _fetch_orders(
    mirror: Mirror, ours: MinedSite, paper: MinedSite, visits: Floats
) -> Iterator[tuple[str, float]]:
    for ranking in ("demand", "graph", "volume", "visits", "average_visits"):
        order = PolicyOrder("behavior_fetch", ours, ranking=ranking)
        yield _name("behavior_fetch", ranking, "demand"), fetch_share(order.fetches(mirror), visits)
    order = PolicyOrder("behavior_fetch", paper, ranking="graph")
    yield "behavior_fetch graph, paper", fetch_share(order.fetches(mirror), visits)
    yield "breadth_first", fetch_share(breadth_first(mirror), visits)
    if "pagerank" in all_policies():
        yield "pagerank of all links", fetch_share(by_pagerank(mirror), visits)
    yield ORACLE, fetch_share(by_worth(visits), visits)


def _discovery_orders(
    mirror: Mirror, ours: MinedSite, paper: MinedSite, visits: Floats
) -> Iterator[tuple[str, float]]:
    def share(order: Iterable[int]) -> float:
        return discovery_share(order, mirror.links, visits)

    for ranking in ("gain", "hub", "referrals", "average_referrals"):
        order = PolicyOrder("behavior_discovery", ours, ranking=ranking)
        yield _name("behavior_discovery", ranking, "gain"), share(order.visits(mirror))
    order = PolicyOrder("behavior_discovery", paper, ranking="hub")
    yield "behavior_discovery hub, paper", share(order.visits(mirror))
    known = PolicyOrder("behavior_fetch", ours).expected(mirror)
    yield "same demand, all links known", share(greedy_order(mirror.links, known))
    yield "breadth_first", share(breadth_first(mirror))
    if "pagerank" in all_policies():
        yield "pagerank of all links", share(by_pagerank(mirror))
    yield ORACLE, share(greedy_order(mirror.links, visits))


def _name(policy: str, ranking: str, default: str) -> str:
    return policy if ranking == default else f"{policy} {ranking}"


def _beside_oracle(rows: Iterable[tuple[str, float]]) -> list[OrderFigure]:
    shares = dict(rows)
    return [OrderFigure(name, share, share / shares[ORACLE]) for name, share in shares.items()]
