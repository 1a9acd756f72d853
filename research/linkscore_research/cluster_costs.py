"""An hour of a cluster in virtual time, by what a page was measured to cost: `python -m` this for its table.

Owners are queues of work. Pages come at random, each to the owner of its slot. An owner that fails leaves its
slots to those with fewest; what came in the silence waits, and its groups replay what no snapshot has.
Fronts and brokers are not simulated: they share nothing, and notebook/cluster-sizing adds them up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OWNER_MS = {1: 4.4, 10: 2.3}
"""CPU of a page at its owner, by pages of one site a call: notebook/cluster-sizing."""
REPLAY_MS = 3.0
"""CPU of an event replayed: the setting `snapshot_events`."""
SNAPSHOT_EVENTS = 500
"""Events of a group between snapshots: the default."""
SILENCE_S = 3.1
"""From kill -9 to the next page: notebook/cluster-faults."""
SITE_MB, READ_BACK_MS = 0.75, 8.0
"""A site of 30 pages in memory: notebook/cluster-sizing; an evicted one: 65 ms at 240 pages, see ADR 31."""
OWNER_MB = 900.0
"""Memory of an owner for sites. Chosen, as in notebook/cluster-sizing."""
STEP_S = 0.1
"""Virtual time between two looks at the queues. Pages of a step wait for all that came in it, so that waits
below a step say nothing: halved, it halves the median and leaves the longest. Chosen."""


@dataclass(frozen=True)
class Cluster:
    """What is simulated.

    Attributes
    ----------
    pages_s
        Pages that come a second.
    pages_a_call
        Of one site: 1 or 10.
    delay_s
        Between two fetches of a site: with more, more sites are in progress.
    fault_s, back_s
        Between failures of an owner, and until it is back.
    step_s
        Of virtual time.
    """

    owners: int = 64
    slots: int = 64
    groups: int = 1_024
    pages_s: float = 10_000
    pages_a_call: int = 1
    delay_s: float = 2.0
    fault_s: float = 300.0
    back_s: float = 60.0
    seconds: float = 3_600.0
    step_s: float = STEP_S


@dataclass(frozen=True)
class Figures:
    """What came of it: pages, share of an owner's core in use, and how long pages waited."""

    pages: int
    busy: float
    wait_p50_s: float
    wait_p99_s: float
    wait_max_s: float


def simulate(cluster: Cluster, seed: int = 0) -> Figures:
    """Simulate a cluster; the same seed gives the same figures."""
    draws = np.random.default_rng(seed)
    groups_of = np.bincount(41 * np.arange(cluster.groups) % cluster.slots, minlength=cluster.slots)
    shares = groups_of / cluster.groups
    owner_of = np.arange(cluster.slots) % cluster.owners
    page_ms = OWNER_MS[cluster.pages_a_call] + _read_back_ms(cluster)
    work_ms, silent_s, away_s = (np.zeros(cluster.owners) for _ in range(3))
    waits: list[Floats] = []
    weights: list[Floats] = []
    busy_ms, next_fault_s = 0.0, cluster.fault_s
    for step in range(round(cluster.seconds / cluster.step_s)):
        if cluster.fault_s and step * cluster.step_s >= next_fault_s:
            next_fault_s += cluster.fault_s
            _fail(int(draws.integers(cluster.owners)), cluster, owner_of, (work_ms, silent_s, away_s), draws)
        of_slots = draws.poisson(cluster.pages_s * cluster.step_s * shares)
        came = np.bincount(owner_of, of_slots, cluster.owners).astype(float)
        work_ms += came * page_ms
        waits.append(silent_s + work_ms / 1e3)
        weights.append(came)
        done = np.where(silent_s > 0, 0.0, np.minimum(work_ms, 1e3 * cluster.step_s))
        work_ms -= done
        busy_ms += float(done.sum())
        silent_s = np.maximum(silent_s - cluster.step_s, 0)
        _come_back(owner_of, away_s, cluster.step_s)
    busy = busy_ms / 1e3 / cluster.seconds / cluster.owners
    return _figures(np.concatenate(waits), np.concatenate(weights), busy)


def _figures(wait_s: Floats, pages: Floats, busy: float) -> Figures:
    """Return the figures of waits, each of so many pages."""
    order = np.argsort(wait_s)
    reached = np.cumsum(pages[order]) / pages.sum()
    p50, p99 = (float(wait_s[order][np.searchsorted(reached, share)]) for share in (0.5, 0.99))
    return Figures(int(pages.sum()), busy, p50, p99, float(wait_s[pages > 0].max()))


def _read_back_ms(cluster: Cluster) -> float:
    """Return what a page pays on average since its site was evicted: more are in progress than fit."""
    in_progress, fit = cluster.pages_s * cluster.delay_s, cluster.owners * OWNER_MB / SITE_MB
    return max(0.0, 1 - fit / in_progress) * READ_BACK_MS


def _fail(
    gone: int,
    cluster: Cluster,
    owner_of: Ints,
    state: tuple[Floats, Floats, Floats],
    draws: np.random.Generator,
) -> None:
    """Give the slots and the work of an owner to those that have fewest; they replay its groups."""
    work_ms, silent_s, away_s = state
    slots = np.flatnonzero(owner_of == gone)
    away_s[gone] = cluster.back_s
    for slot in slots:
        loads = np.bincount(owner_of, minlength=cluster.owners).astype(float)
        loads[away_s > 0] = np.inf
        heir = int(draws.choice(np.flatnonzero(loads == loads.min())))
        owner_of[slot] = heir
        replayed = draws.integers(0, SNAPSHOT_EVENTS, round(cluster.groups / cluster.slots)).sum()
        work_ms[heir] += float(replayed) * REPLAY_MS + work_ms[gone] / len(slots)
        silent_s[heir] = SILENCE_S
    work_ms[gone] = 0


def _come_back(owner_of: Ints, away_s: Floats, step_s: float) -> None:
    """Give an owner that is back its share of slots, from whoever has most: handed over, none replays."""
    for back in np.flatnonzero((away_s > 0) & (away_s <= step_s)):
        while True:
            loads = np.bincount(owner_of, minlength=len(away_s))
            most = int(loads.argmax())
            if loads[most] <= loads[back] + 1:
                break
            owner_of[np.flatnonzero(owner_of == most)[0]] = back
    np.maximum(away_s - step_s, 0, out=away_s)


def main() -> None:
    """Print a row for each cluster worth a look."""
    heads = "owners", "slots", "pages of a call", "s between fetches of a site", "busy", "wait p50, s", "p99"
    print(f"| {' | '.join((*heads, 'longest'))} |\n{'|---' * (len(heads) + 1)}|")
    base = Cluster()
    for cluster in (
        base,
        replace(base, owners=96, slots=96),
        replace(base, owners=96, slots=1_024),
        replace(base, slots=1_024),
        replace(base, pages_a_call=10),
        replace(base, pages_a_call=10, slots=1_024),
        replace(base, pages_a_call=10, delay_s=15.0),
        replace(base, pages_a_call=10, delay_s=15.0, owners=128, slots=1_024),
        replace(base, owners=8, slots=64, pages_s=1_000),
    ):
        found = simulate(cluster)
        of = f"{cluster.owners} | {cluster.slots} | {cluster.pages_a_call} | {cluster.delay_s:g}"
        waits = f"{found.wait_p50_s:.2f} | {found.wait_p99_s:.1f} | {found.wait_max_s:.0f}"
        print(f"| {of} | {found.busy:.2f} | {waits} |")


if __name__ == "__main__":
    main()
