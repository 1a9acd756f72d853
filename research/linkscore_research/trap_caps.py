"""What does a cap on traps keep out, and what does it cost? `python -m linkscore_research.trap_caps`.

Sites are crawled to their end by `harvest` with and without `max_trap_share`; a link is asked about once more
before it is fetched. Of the synthetic corpus each site has a calendar, orders and filters added.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import click

from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import FEEDBACK, NONE, Case, Experiment, ReplayProtocol
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import opened, wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING, SyntheticSite, draw_traits

_TRAPS = ("calendar", "list_variant", "tag_variant", "month_variant")


@click.command(help=__doc__)
@CORPORA
@synthetic_sites(20)
@JUDGE
@click.option("--share", default=0.05, help="Budget.max_trap_share.")
def trap_caps(corpora: Sequence[Path], synthetic: int, judge: bool, share: float) -> None:
    lost: list[float] = []
    trapped: list[float] = []
    for experiment, task in _sites(corpora, (JUDGING if judge else CHOOSING)[:synthetic]):
        for mode in (NONE, FEEDBACK):
            case = Case(task, mode, read_policy("harvest"), seed=1)
            free, capped = (_run(experiment, case, limits) for limits in ({}, {"max_trap_share": share}))
            lost.append(free[0] - capped[0])
            trapped.append(capped[1])
            click.echo(
                f"{experiment.site.name:20} {mode:9} recall {free[0]:.3f} -> {capped[0]:.3f}, "
                f"traps {free[1]:.3f} -> {capped[1]:.3f} of {free[2]} -> {capped[2]} fetches"
            )
    click.echo(f"lost {fmean(lost):.4f}, at most {max(lost):.4f}; traps {fmean(trapped):.3f}")


def _sites(corpora: Sequence[Path], seeds: Sequence[int]) -> Iterator[tuple[Experiment, Task]]:
    for seed in seeds:
        traits = replace(draw_traits(seed), calendar=400, sorts=3, facets=2)
        with opened(SyntheticSite(seed, traits)) as found:
            yield found
    yield from wanted_on(corpora, ())


def _run(experiment: Experiment, case: Case, budget: dict[str, float]) -> tuple[float, float, int]:
    """Return recall, the share of fetches in traps, and the fetches."""
    limits = {"budget": budget} if budget else {}
    experiment.protocol = ReplayProtocol(budget="100%", obey_verdicts=True, limits=limits)
    run = experiment.run(case)
    traps = sum(run.composition[kind][-1] for kind in _TRAPS if kind in run.composition)
    return run.curve[-1] / run.n_wanted, traps / run.fetched, run.fetched


if __name__ == "__main__":
    sys.exit(trap_caps())
