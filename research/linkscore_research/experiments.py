"""What do experiments on a running crawl say? `python -m linkscore_research.experiments --synthetic 60`.

Every site is crawled under each policy for as many fetches as count, without feedback to learn from; the
figure of a site is the share of wanted pages. Then sites come in a drawn order, are divided by a drawn salt,
and the comparison is looked at after each: what it says at the first verdict is counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from linkscore_lab.datasets.synthetic import CHOOSING, JUDGING
from linkscore_lab.live.comparison import MIN_SITES, Verdict, verdict_of
from linkscore_lab.live.sequential import difference
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import NONE, Case, ReplayProtocol
from linkscore_research.tuning.options import CORPORA, JUDGE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import wanted_on

POLICIES = ("harvest", "in_degree", "source_ucc", "breadth_first")
HORIZON = 100
"""First fetches that count; as the default of the policy."""
_MARGIN = 0.02
"""Difference that nobody minds; as the default of `linkscore compare --live`."""
_DRAWN: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "beta(.5, .5)": lambda rng, n: rng.beta(0.5, 0.5, n),
    "nine in ten are 0": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.uniform(0.05, 1.0, n)),
    "one in fifty is 1, others 0": lambda rng, n: (rng.random(n) < 0.02).astype(float),
    "uniform .4 to .6": lambda rng, n: rng.uniform(0.4, 0.6, n),
}
"""Figures of sites on which false alarms are counted: skewed ones are where asymptotics hold last."""


@dataclass(frozen=True, slots=True)
class Found:
    """What experiments said: how often each verdict was the first, and sites until then (median)."""

    verdicts: Counter[Verdict]
    sites: float

    def share(self, verdict: Verdict) -> str:
        """Return how often a verdict was the first."""
        return f"{self.verdicts[verdict] / self.verdicts.total():.3f}"


def looked_at(
    first: NDArray[np.float64], second: NDArray[np.float64], looks: Sequence[int], share: float, seed: int
) -> tuple[Verdict, int]:
    """Divide sites, look at some counts of them, and return the first verdict and the sites until then.

    `first` and `second` have the figure of each site under either policy, in the order in which they come.
    """
    is_second = np.random.default_rng(seed).random(len(first)) < share
    for n in looks:
        a, b = first[:n][~is_second[:n]], second[:n][is_second[:n]]
        if min(len(a), len(b)) < MIN_SITES:
            continue
        verdict, _ = verdict_of(difference(a.tolist(), b.tolist()), _MARGIN)
        if verdict is not Verdict.GO_ON:
            return verdict, n
    return Verdict.GO_ON, looks[-1]


def on_stored(figures: dict[str, NDArray[np.float64]], pair: tuple[str, str], sites: int, runs: int) -> Found:
    """Return what `runs` experiments of some sites, drawn from those there are, say of two policies."""
    verdicts, counts = Counter[Verdict](), []
    rng = np.random.default_rng(0)
    for seed in range(runs):
        drawn = rng.integers(len(figures[pair[0]]), size=sites)
        looks = range(2 * MIN_SITES, sites + 1, 10)
        verdict, n = looked_at(figures[pair[0]][drawn], figures[pair[1]][drawn], looks, 0.5, seed)
        verdicts[verdict] += 1
        counts.append(n)
    return Found(verdicts, median(counts))


def false_alarms(name: str, share: float, *, runs: int, sites: int) -> float:
    """Return how often an experiment of two equal policies called one better, looked at every few sites."""
    looks = [*range(40, 200, 4), *range(200, sites + 1, 20)]
    rng = np.random.default_rng(1)
    alarms = 0
    for seed in range(runs):
        drawn = _DRAWN[name](rng, sites)
        verdict, _ = looked_at(drawn, drawn, looks, share, seed)
        alarms += verdict in {Verdict.FIRST_BETTER, Verdict.SECOND_BETTER}
    return alarms / runs


@click.command(help=__doc__)
@CORPORA
@synthetic_sites(60)
@JUDGE
@click.option("--runs", default=1_000, show_default=True, help="Experiments of each kind.")
@click.option("--sites", default=600, show_default=True, help="Most sites of one.")
def experiments(corpora: Sequence[Path], synthetic: int, judge: bool, runs: int, sites: int) -> None:
    console = Console()
    alarms = Table("figures of sites", "half and half", "one in five")
    for name in _DRAWN:
        rates = [false_alarms(name, share, runs=runs, sites=sites) for share in (0.5, 0.2)]
        alarms.add_row(name, *(f"{rate:.3f}" for rate in rates))
    console.print(alarms)
    figures = figures_of(corpora, (JUDGING if judge else CHOOSING)[:synthetic])
    said = Table("policies", "difference", "first", "second", "none", "go on", "sites")
    for pair in (
        [(name, name) for name in POLICIES] + list(pairwise(POLICIES)) + [(POLICIES[0], POLICIES[-1])]
    ):
        found = on_stored(figures, pair, sites, runs)
        gain = fmean(figures[pair[1]]) - fmean(figures[pair[0]])
        shares = [found.share(v) for v in (*list(Verdict)[:3], Verdict.GO_ON)]
        said.add_row(", ".join(pair), f"{gain:+.3f}", *shares, f"{found.sites:.0f}")
    console.print(said)


def figures_of(corpora: Sequence[Path], seeds: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Crawl each site under each policy; return the share of wanted pages among the first fetches."""
    figures: dict[str, list[float]] = {name: [] for name in POLICIES}
    for experiment, task in wanted_on(corpora, seeds):
        experiment.protocol = ReplayProtocol(budget=str(HORIZON))
        runs = [experiment.run(Case(task, NONE, read_policy(name), seed=1)) for name in POLICIES]
        if min(run.fetched for run in runs) < HORIZON:
            continue  # smaller: it would never count
        for name, run in zip(POLICIES, runs, strict=True):
            figures[name].append(run.curve[HORIZON - 1] / HORIZON)
    return {name: np.array(found) for name, found in figures.items()}


if __name__ == "__main__":
    sys.exit(experiments())
