"""How uneven servers with equally many slots are, and what moving slots by their load would change.

Sites are put into groups and groups into slots by the server's own functions; slots are dealt to servers
as the group of a cluster deals them: equally many, whatever their load. `python -m` this for its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.engine.groups import Shard, group_of
from linkscore_server.cluster.slots import slot_of

Floats = NDArray[np.float64]

DRAWS = 20
"""Names of crawls, and deals of slots."""
ZIPF = 1.0
"""Site k of a crawl, and crawl k of a cluster, has 1 / k of the pages of the first. Chosen: the usual one."""
DELAY_S, PAGES_S = 2.0, 100.0
"""Between two fetches of a site, and pages a second of a server (notebook/cluster-sizing): how much of a
server one site can be."""


@dataclass(frozen=True)
class Load:
    """Events a second of each shard of a cluster.

    Attributes
    ----------
    name
        For the table.
    crawls, groups, sites
        How many; groups of a crawl and sites of a crawl.
    is_polite
        Whether sites have equally many pages a second, else as many as their size says.
    """

    name: str
    crawls: int
    groups: int
    sites: int
    is_polite: bool

    def of_slots(self, slots: int, draw: int) -> Floats:
        """Return the events a second of each slot, with crawls and sites of names that are drawn."""
        found = np.zeros(slots)
        for crawl in range(self.crawls):
            name, share = f"crawl-{draw}-{crawl}", 1 / (crawl + 1) ** ZIPF
            rates = np.ones(self.sites) if self.is_polite else 1 / np.arange(1, self.sites + 1) ** ZIPF
            groups = [group_of(f"site{site}.{name}.test", self.groups) for site in range(self.sites)]
            of_groups = np.bincount(groups, rates, self.groups) * share / rates.sum()
            for group, rate in enumerate(of_groups):
                found[slot_of(Shard(name, group, self.groups), slots)] += rate
        return found


def dealt(loads: Floats, servers: int, draws: np.random.Generator) -> float:
    """Return the load of the busiest server by the mean, slots dealt equally many at random."""
    owners = draws.permutation(np.arange(len(loads)) % servers)
    return float(np.bincount(owners, loads, servers).max() / loads.sum() * servers)


def weighed(loads: Floats, servers: int) -> float:
    """Return the same of slots that go, the busiest first, to the server that has least."""
    has = np.zeros(servers)
    for load in sorted(loads, reverse=True):
        has[has.argmin()] += load
    return float(has.max() / loads.sum() * servers)


def row(load: Load, servers: int, slots: Sequence[int]) -> str:
    """Return a row of the table: mean and worst of what is dealt, and mean of what is weighed, by slots."""
    draws, cells = np.random.default_rng(servers), []
    for n in slots:
        of_draws = [load.of_slots(n, draw) for draw in range(DRAWS)]
        equal = [dealt(loads, servers, draws) for loads in of_draws]
        best = np.mean([weighed(loads, servers) for loads in of_draws])
        cells += [f"{np.mean(equal):.2f} ({max(equal):.2f})", f"{best:.2f}"]
    return f"| {load.name} | {servers} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    slots = (64, 1_024)
    heads = [f"{n} slots, {how}" for n in slots for how in ("equally many (worst)", "weighed")]
    print(f"| events a second | servers | {' | '.join(heads)} |\n{'|---' * (2 + len(heads))}|")
    for servers in (3, 8, 32):
        groups = min(256, 4 * servers)
        for load in (
            Load(f"one crawl, {groups} groups, sites alike", 1, groups, 2_000, is_polite=True),
            Load("256 groups, sites alike", 1, 256, 2_000, is_polite=True),
            Load("256 groups, by size of site", 1, 256, 2_000, is_polite=False),
            Load("64 crawls of Zipf, one group each", 64, 1, 50, is_polite=True),
            Load("64 crawls of Zipf, 16 groups each", 64, 16, 50, is_polite=True),
        ):
            print(row(load, servers, slots), flush=True)
    print(f"\nOne site is at most {1 / DELAY_S / PAGES_S:.3f} of a server.")


if __name__ == "__main__":
    main()
