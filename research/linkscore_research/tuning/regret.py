"""Regret to the greedy oracle, by site and by choice of constants, and what leaving one site out says of it.

A choice is the `Tunables` of `harvest` with some numbers changed. Every choice crawls every site once;
choosing, and choosing without one site, need no further crawl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import Any

from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import NONE, Case, Experiment
from linkscore_lab.replay.scorer import GREEDY
from linkscore_lab.replay.task import Task
from linkscore_scoring.policies.harvest import Harvest, Tunables
from linkscore_scoring.policies.registry import register

Choice = tuple[tuple[str, float], ...]
"""Numbers of `Tunables` with other values than the default, by name; empty for the defaults."""

BASELINES = ("breadth_first", "in_degree")
BELOW = 0.02
"""Valid ratio by which a site counts as one where a baseline is better (the bar of the project)."""
_WORST = 0.1  # share of the sites, those of most regret, whose mean counts as much as that of all
_AREA = "area_5pct"

GRID: Mapping[str, Sequence[float]] = {
    "prior": (0.2, 0.4),
    "prior_weight": (1.0, 4.0),
    "hub_links": (10.0, 40.0),
    "link_share": (0.75, 0.85),
    "text_quantile": (0.5, 0.9),
    "text_share": (0.0625, 0.25),
    "prior_pages": (2.0, 8.0),
    "half_saturation": (2.0, 20.0),
    "bulk": (0.0, 0.5),
    "bulk_half_saturation": (10.0, 100.0),
    "trust": (0.0, 0.1, 0.4),
}
"""Values tried of each constant, the others at their defaults: half and twice the default, or the ends."""


def choices(grid: Mapping[str, Sequence[float]] = GRID) -> list[Choice]:
    """Return the defaults, then each other value of each constant alone."""
    return [(), *(((name, value),) for name, values in grid.items() for value in values)]


@dataclass(frozen=True, slots=True)
class Row:
    """One choice on one site.

    Attributes
    ----------
    site, choice
        Which.
    valid, area
        Wanted pages of those fetched, 25 % of the site; and the same over the first 5 %, early ones first.
    regret
        Mean of what the greedy oracle has more of either.
    below
        How much more the better of `BASELINES` has in `valid`.
    """

    site: str
    choice: Choice
    valid: float
    area: float
    regret: float
    below: float


def rows_of(experiment: Experiment, task: Task, tried: Sequence[Choice]) -> Iterator[Row]:
    """Yield a row for each choice on one site."""
    oracle, *others = (figures(experiment, task, name) for name in (GREEDY, *BASELINES))
    for choice in tried:
        valid, area = figures(experiment, task, tuned(choice).name)
        regret = ((oracle[0] - valid) + (oracle[1] - area)) / 2.0
        yield Row(experiment.site.name, choice, valid, area, regret, max(v for v, _ in others) - valid)


def with_numbers(tunables: Tunables, choice: Choice) -> Tunables:
    """Return tunables with other numbers."""
    numbers: dict[str, Any] = dict(choice)
    return replace(tunables, **numbers)


@cache
def tuned(choice: Choice) -> type[Harvest]:
    """Return `harvest` with other numbers, registered under a name of its own; itself for the defaults."""
    if not choice:
        return Harvest
    numbers = with_numbers(Tunables(), choice)

    class Tuned(Harvest):
        name = "_".join(["harvest", *(f"{number}_{value:g}" for number, value in choice)])

        def __init__(self, params: Any, *, seed: int = 0) -> None:
            super().__init__(params, seed=seed, tunables=numbers)

    register(Tuned)
    return Tuned


def loss(regrets: Sequence[float]) -> float:
    """Return the mean regret plus that of the worst tenth, halved.

    Examples
    --------
    >>> loss([0.1] * 9 + [0.6])
    0.375
    """
    return (fmean(regrets) + worst(regrets)) / 2.0


def worst(regrets: Sequence[float]) -> float:
    """Return the mean of the worst tenth, of at least one site."""
    return fmean(sorted(regrets)[-max(1, round(_WORST * len(regrets))) :])


def best(table: Mapping[Choice, Mapping[str, float]], without: str = "") -> Choice:
    """Return the choice of least loss over all sites but one; of equal ones the first."""
    return min(table, key=lambda choice: loss([r for s, r in table[choice].items() if s != without]))


def by_choice(rows: Sequence[Row]) -> dict[Choice, dict[str, float]]:
    """Return the regret of each choice on each site."""
    table: dict[Choice, dict[str, float]] = {}
    for row in rows:
        table.setdefault(row.choice, {})[row.site] = row.regret
    return table


def left_out(table: Mapping[Choice, Mapping[str, float]]) -> list[float]:
    """Return the regret on each site of what would be chosen without it."""
    return [table[best(table, without=site)][site] for site in next(iter(table.values()))]


def figures(experiment: Experiment, task: Task, policy: str) -> tuple[float, float]:
    """Return valid ratio and early area of a crawl that is told nothing."""
    run: RunResult = experiment.run(Case(task, NONE, read_policy(policy), seed=1))
    return run.curve[-1] / run.budget if run.curve else 0.0, float(run.metrics[_AREA] or 0.0)
