"""Choose the constants of `harvest` on stored and synthetic sites, or judge them on sites kept for that.

Every constant is tried at its default and at some other values, one at a time, on every site. What is chosen
is compared with what would have been chosen without the site it is used on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Column, Table

from linkscore_research.tuning.options import CORPORA, OUT
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.regret import (
    BELOW,
    Choice,
    Row,
    best,
    by_choice,
    choices,
    left_out,
    loss,
    rows_of,
    worst,
)
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING


@click.command(help=__doc__)
@CORPORA
@synthetic_sites(200)
@click.option(
    "--judge",
    is_flag=True,
    help="Only the defaults, on the sites of the synthetic corpus that nothing is chosen on.",
)
@click.option(
    "--first",
    type=click.IntRange(JUDGING.start),
    default=JUDGING.start,
    show_default=True,
    help="Seed of the first site to judge on: for the judging of a change each serves once.",
)
@click.option("--as-they-are", is_flag=True, help="Only the defaults, on the sites to choose on.")
@OUT
def tune(
    corpora: Sequence[Path], synthetic: int, judge: bool, first: int, as_they_are: bool, out: Path | None
) -> None:
    tried = [()] if judge or as_they_are else choices()
    rows: list[Row] = []
    for experiment, task in wanted_on(
        corpora, range(first, first + synthetic) if judge else CHOOSING[:synthetic]
    ):
        rows += rows_of(experiment, task, tried)
    if not rows:
        raise click.UsageError("no site: name --corpora or a --synthetic above 0")
    if out:
        out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    console = Console()
    console.print(_table(rows))
    if len(tried) > 1:
        _print_choice(rows, console)


def _table(rows: Sequence[Row]) -> Table:
    table = Table(
        Column("constants", no_wrap=True),
        "valid",
        "early",
        "regret",
        "worst tenth",
        "loss",
        "below a baseline",
    )
    for choice, regrets in by_choice(rows).items():
        of_it = [row for row in rows if row.choice == choice]
        figures = (
            fmean(row.valid for row in of_it),
            fmean(row.area for row in of_it),
            fmean(regrets.values()),
            worst(list(regrets.values())),
            loss(list(regrets.values())),
            fmean(row.below > BELOW for row in of_it),
        )
        table.add_row(_words(choice), *(f"{figure:.3f}" for figure in figures))
    return table


def _print_choice(rows: Sequence[Row], console: Console) -> None:
    table = by_choice(rows)
    of_all = list(table[best(table)].values())
    without = left_out(table)
    console.print(
        f"least loss: {_words(best(table))}; regret {fmean(of_all):.3f}, worst tenth {worst(of_all):.3f}"
    )
    console.print(f"chosen without the site: regret {fmean(without):.3f}, worst tenth {worst(without):.3f}")


def _words(choice: Choice) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in choice) or "as they are"


if __name__ == "__main__":
    sys.exit(tune())
