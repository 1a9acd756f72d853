"""What a change of `harvest` gained, site by site: `python -m linkscore_research.tuning.paired BEFORE AFTER`.

Both files are what `python -m linkscore_research.tuning --out FILE` wrote of the constants as they are,
before and after the change. Sites that only one of them has are left out, and counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.summary import Estimate, estimate
from linkscore_research.tuning.regret import BELOW, Row, worst

METRICS = ("valid", "area", "regret")
"""Fields of `Row` that are compared; less is better of the last."""


@dataclass(frozen=True, slots=True)
class Gain:
    """One metric on the sites of both files.

    Attributes
    ----------
    metric
        Field of `Row`.
    before, after
        Means over the sites.
    change
        Mean of after - before, a pair a site, with its 95 % interval.
    more, less
        Sites where the metric rose, or fell, by more than .02.
    """

    metric: str
    before: float
    after: float
    change: Estimate
    more: int
    less: int


def gains(before: Mapping[str, Row], after: Mapping[str, Row]) -> list[Gain]:
    """Return what each metric gained on the sites that both have, at least one."""
    return [_gain(metric, before, after) for metric in METRICS]


def _gain(metric: str, before: Mapping[str, Row], after: Mapping[str, Row]) -> Gain:
    pairs = [
        (getattr(before[site], metric), getattr(after[site], metric)) for site in before if site in after
    ]
    changes = [new - old for old, new in pairs]
    change = estimate(changes)
    if change is None:
        raise click.UsageError("no site is in both files")
    return Gain(
        metric,
        fmean(old for old, _ in pairs),
        fmean(new for _, new in pairs),
        change,
        sum(each > BELOW for each in changes),
        sum(each < -BELOW for each in changes),
    )


def rows_in(path: Path) -> dict[str, Row]:
    """Return the rows of the constants as they are, by site.

    Raises
    ------
    click.BadParameter
        If the file is not one of rows.
    """
    try:
        rows = [Row(**json.loads(line)) for line in path.read_text().splitlines()]
    except (TypeError, ValueError) as error:
        raise click.BadParameter(f"{path}: {error}") from error
    return {row.site: row for row in rows if not row.choice}


@click.command(help=__doc__)
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def paired(before: Path, after: Path) -> None:
    old, new = rows_in(before), rows_in(after)
    both = [site for site in old if site in new]
    table = Table("", "before", "after", "change, 95 %", "sites up by .02", "down by .02")
    for gain in gains(old, new):
        change = f"{gain.change.mean:+.4f}"
        if gain.change.half_width is not None:
            change += f" ± {gain.change.half_width:.4f}"
        table.add_row(
            gain.metric, f"{gain.before:.3f}", f"{gain.after:.3f}", change, str(gain.more), str(gain.less)
        )
    for name, of in (("regret of the worst tenth", _worst), ("a baseline is better by .02", _below)):
        table.add_row(name, *(f"{of([rows[site] for site in both]):.3f}" for rows in (old, new)))
    console = Console()
    console.print(table)
    console.print(f"{len(both)} sites; in one file only: {len(old.keys() ^ new.keys())}")


def _worst(rows: Sequence[Row]) -> float:
    return worst([row.regret for row in rows])


def _below(rows: Sequence[Row]) -> float:
    return fmean(row.below > BELOW for row in rows)


if __name__ == "__main__":
    sys.exit(paired())
