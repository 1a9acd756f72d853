"""What `harvest` finds with many fetches under way: `python -m linkscore_research.tuning.in_flight --judge`.

Every site is crawled told nothing, with each number of fetches under way, by `harvest`, breadth first, and by
the greedy oracle under the same rule: what a fetch shows is known when those before it were answered.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.runs import Experiment
from linkscore_lab.replay.scorer import GREEDY
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE, OUT
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.regret import figures
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING
from linkscore_scoring.policies.harvest import Harvest

UNDER_WAY = (1, 4, 16, 64, 256)
"""Fetches under way: one, and what real crawls have of a site and of many."""

BREADTH_FIRST = "breadth_first"
POLICIES = (Harvest.name, BREADTH_FIRST, GREEDY)


@dataclass(frozen=True, slots=True)
class Row:
    """One policy on one site with so many fetches under way.

    Attributes
    ----------
    site, in_flight, policy
        Which.
    valid, area
        Wanted pages of those fetched, 25 % of the site; and the same over the first 5 %, early ones first.
    """

    site: str
    in_flight: int
    policy: str
    valid: float
    area: float


def rows_of(experiment: Experiment, task: Task, under_way: Sequence[int] = UNDER_WAY) -> Iterator[Row]:
    """Yield the rows of one site."""
    for in_flight in under_way:
        crowded = replace(experiment, protocol=replace(experiment.protocol, in_flight=in_flight))
        for policy in POLICIES:
            yield Row(experiment.site.name, in_flight, policy, *figures(crowded, task, policy))


def table_of(rows: Iterable[Row]) -> Table:
    """Return the means of each number under way; of `harvest` what it loses, and how its regret grows."""
    rows = list(rows)
    table = Table("under way", *POLICIES, "valid lost", "early regret, times that of one")
    means: dict[tuple[int, str], tuple[float, float]] = {}
    for in_flight in sorted({row.in_flight for row in rows}):
        for policy in POLICIES:
            of_it = [row for row in rows if (row.in_flight, row.policy) == (in_flight, policy)]
            means[in_flight, policy] = fmean(row.valid for row in of_it), fmean(row.area for row in of_it)
        first = min(row.in_flight for row in rows)
        lost = means[first, Harvest.name][0] - means[in_flight, Harvest.name][0]
        regret, alone = (means[n, GREEDY][1] - means[n, Harvest.name][1] for n in (in_flight, first))
        table.add_row(
            str(in_flight),
            *("{:.3f} / {:.3f}".format(*means[in_flight, policy]) for policy in POLICIES),
            f"{lost:.3f}",
            f"{regret / alone:.2f}" if alone > 0.0 else "",
        )
    return table


@click.command(help=__doc__)
@CORPORA
@synthetic_sites(60)
@JUDGE
@OUT
def crowded(corpora: Sequence[Path], synthetic: int, judge: bool, out: Path | None) -> None:
    rows = [
        row
        for experiment, task in wanted_on(corpora, (JUDGING if judge else CHOOSING)[:synthetic])
        for row in rows_of(experiment, task)
    ]
    if not rows:
        raise click.UsageError("no site: name --corpora or a --synthetic above 0")
    if out:
        out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    Console().print(table_of(rows))


if __name__ == "__main__":
    sys.exit(crowded())
