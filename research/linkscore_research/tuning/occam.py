"""What each mechanism of `harvest` is worth on stored sites: `python -m linkscore_research.tuning.occam`.

Each is taken away alone, its numbers at values that leave nothing of it, and every site is crawled without
it: unlabelled and with three examples a type, one at a time and with many in flight. What costs little in
the mean and nowhere much may go. A mechanism that costs too much somewhere is tried on no further site.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import EXAMPLES, NONE, Case, Experiment
from linkscore_lab.replay.task import Task, draw_starts
from linkscore_research.tuning.options import CORPORA, OUT, SITE
from linkscore_research.tuning.regret import Choice, tuned
from linkscore_research.tuning.sites import wanted_on

LITTLE, MUCH = 0.003, 0.01
"""Valid ratio that a mechanism is worth in the mean of the sites, or on one site, if it stays (the bar)."""
NEVER = 1 << 30

WITHOUT: Mapping[str, Choice] = {
    "pulls pooled in the bonus": (("pooled", 0.0),),
    "bulk": (("bulk", 0.0),),
    "trust": (("trust", 0.0),),
    "half saturation of links that wait": (("half_saturation", 1e-9),),
    "share of the mean that a link brings": (("link_share", 1.0),),
    "places by answers": (("places_per_pull", float(NEVER)),),
    "links that wait for better ones": (("worth_a_place", 0.0),),
    "scale of the site": (("text_share", 1e9),),
    "pages before the first": (("prior_pages", 1.0),),
    "looks that grow rarer": (("look_growth", 1.0),),
    "doubt of texts": (("least_left", 1.0),),
    "yields forgotten": (("decay", 1.0),),
    "class tokens of few pages": (("few_pages", NEVER),),
    "kinds nobody opened": (("unopened", 0.0),),
    "tries that fade": (("unopened_kept", 1.0),),
}
"""Mechanisms, and the numbers that leave nothing of each."""

LABELLED = frozenset({"few_pages", "decay", "unopened", "unopened_kept"})
"""Numbers that no crawl without labels asks."""
CROWDED = frozenset({"worth_a_place", "places_per_pull"})
"""Numbers that only crawls with several fetches under way ask."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one mechanism is worth on one site in one setting: what is lost without it.

    Attributes
    ----------
    site, without, told, in_flight
        Which; `told` is the mode of the replay.
    valid, area
        Without it: wanted pages of those fetched, 25 % of the site, and over the first 5 %, early ones first;
        means over the start pages.
    valid_lost, area_lost
        What the whole policy has more.
    """

    site: str
    without: str
    told: str
    in_flight: int
    valid: float
    area: float
    valid_lost: float
    area_lost: float


def rows_of(
    experiment: Experiment, task: Task, tried: Mapping[str, Choice], in_flight: int, starts: int
) -> Iterator[Row]:
    """Yield the rows of one site; of a mechanism none after the first in which much is lost."""
    left = dict(tried)
    pages = draw_starts(experiment.site, experiment.pages, starts)
    for told in (NONE, EXAMPLES):
        for many in (1, in_flight):
            setting = replace(experiment, protocol=replace(experiment.protocol, in_flight=many))
            valid, area = figures(setting, task, told, (), pages)
            for name, choice in list(left.items()):
                if not _is_asked(choice, told, many):
                    continue
                less = figures(setting, task, told, choice, pages)
                row = Row(setting.site.name, name, told, many, *less, valid - less[0], area - less[1])
                yield row
                if row.valid_lost > MUCH:
                    del left[name]


def figures(
    experiment: Experiment, task: Task, told: str, choice: Choice, starts: Sequence[str]
) -> tuple[float, float]:
    """Return valid ratio and early area of crawls with some numbers, means over the start pages."""
    policy = read_policy(tuned(choice).name)
    runs = [experiment.run(Case(task, told, policy, seed=1, start=start)) for start in starts]
    return (
        fmean(run.curve[-1] / run.budget if run.curve else 0.0 for run in runs),
        fmean(float(run.metrics["area_5pct"] or 0.0) for run in runs),
    )


def _is_asked(choice: Choice, told: str, in_flight: int) -> bool:
    """Say whether a crawl of a setting can come to any of the numbers."""
    labelled, crowded = ({number for number, _ in choice} <= numbers for numbers in (LABELLED, CROWDED))
    return (told != NONE or not labelled) and (in_flight > 1 or not crowded)


def table_of(rows: Sequence[Row]) -> Table:
    """Return a line a mechanism: what it is worth in the mean, and on the site where it is worth most."""
    table = Table("without", "settings", "valid lost, mean", "most", "on", "early area lost, mean", "may go")
    for name in dict.fromkeys(row.without for row in rows):
        found = [row for row in rows if row.without == name]
        most, mean = max(found, key=lambda row: row.valid_lost), fmean(row.valid_lost for row in found)
        table.add_row(
            name,
            str(len(found)),
            f"{mean:+.4f}",
            f"{most.valid_lost:+.3f}",
            f"{most.site}, {most.told}, {most.in_flight}",
            f"{fmean(row.area_lost for row in found):+.4f}",
            "yes" if mean < LITTLE and most.valid_lost <= MUCH else "",
        )
    return table


@click.command(help=__doc__)
@CORPORA
@SITE
@click.option("--without", "tried", multiple=True, type=click.Choice(list(WITHOUT)), help="Repeatable.")
@click.option("--together", is_flag=True, help="Take them all away at once.")
@click.option("--in-flight", type=click.IntRange(2), default=16, show_default=True)
@click.option("--starts", type=click.IntRange(1), default=2, show_default=True, help="Start pages a site.")
@OUT
def occam(
    corpora: Sequence[Path],
    names: Sequence[str],
    tried: Sequence[str],
    together: bool,
    in_flight: int,
    starts: int,
    out: Path | None,
) -> None:
    rows: list[Row] = []
    taken = {name: WITHOUT[name] for name in tried or WITHOUT}
    if together:
        taken = {" + ".join(taken): tuple(chain.from_iterable(taken.values()))}
    for experiment, task in wanted_on(corpora, (), names):
        lost = {row.without for row in rows if row.valid_lost > MUCH}
        left = {name: choice for name, choice in taken.items() if name not in lost}
        for row in rows_of(experiment, task, left, in_flight, starts):
            rows.append(row)
            if out:
                with out.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
    if not rows:
        raise click.UsageError("no site: name --corpora with labelled sites")
    Console(width=140).print(table_of(rows))


if __name__ == "__main__":
    sys.exit(occam())
