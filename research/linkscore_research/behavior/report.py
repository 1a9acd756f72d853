"""How well orders mined from a browse log foresee the visits of later days."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linkscore_lab.replay.browse_log import read_counts
from linkscore_research.behavior.orders import (
    PolicyOrder,
    breadth_first,
    by_pagerank,
    by_worth,
    discovery_share,
    fetch_share,
    greedy_order,
    read_mirror,
)
from linkscore_scoring.browse_logs.mining import mine_site
from linkscore_scoring.policies.registry import all_policies


def shares_of_oracle(
    log: Path, archive: Path, *, days: int = 30, workers: int = 0
) -> Iterator[tuple[str, str, float]]:
    """Yield task, order and how few pages it needs for 80 % of the later visits: those of the oracle over it.

    The first days of the log are mined, the days after them judge.
    """
    first = read_counts(log, n_days=None)
    counts = read_counts(log, first_day=first.first_day, n_days=days)
    later = read_counts(log, first_day=first.first_day + days, n_days=first.n_days - days)
    mirror = read_mirror([archive], workers=workers)
    visits, mined = mirror.visits(later), mine_site(counts)
    fetch, discovery = PolicyOrder("behavior_fetch", mined), PolicyOrder("behavior_discovery", mined)
    others = {"breadth_first": list(breadth_first(mirror))}
    if "pagerank" in all_policies():
        others["pagerank of all links"] = list(by_pagerank(mirror))
    best = fetch_share(by_worth(visits), visits)
    for name, order in {"behavior_fetch": list(fetch.fetches(mirror)), **others}.items():
        yield "visits", name, best / fetch_share(order, visits)
    known = greedy_order(mirror.links, fetch.expected(mirror))
    ours = {"behavior_discovery": list(discovery.visits(mirror)), "same demand, all links known": known}
    best = discovery_share(greedy_order(mirror.links, visits), mirror.links, visits)
    for name, order in {**ours, **others}.items():
        yield "links", name, best / discovery_share(order, mirror.links, visits)
