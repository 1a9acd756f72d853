"""What is found of kinds of pages by name: `python -m linkscore_research.tuning.targets --kind hidden`.

Every site that has enough pages of a kind is crawled for them with examples of it, over several draws, and
with feedback, from the entry and from pages drawn; beside the greedy oracle. One crawl says little of kinds
that one list alone leads to, so the table has means, and how much the crawls of a site differ.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import EXAMPLES, FEEDBACK, NONE, Case, Experiment
from linkscore_lab.replay.scorer import GREEDY
from linkscore_lab.replay.task import USER_CONTENT, Task, draw_starts, target_name, type_rewards, wanted_pages
from linkscore_research.tuning.options import CORPORA, OUT, SITE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING
from linkscore_scoring.policies.harvest import Harvest

LEAST_PAGES = 8
"""Pages of a kind below which a site is left out: three of them are examples."""
_STARTS_SEED = 1  # of the start pages drawn


@dataclass(frozen=True, slots=True)
class Row:
    """One crawl of one site for one kind of pages: the share of them it found, by what was told."""

    site: str
    kind: str
    told: str
    start: str
    seed: int
    recall: float


def rows_of(
    experiment: Experiment, kind: str, *, seeds: int, starts: int, as_share: bool = False
) -> Iterator[Row]:
    """Yield the rows of one kind on one site, none if it has too few pages.

    Parameters
    ----------
    seeds, starts
        Draws of examples, and start pages, the entry first.
    as_share
        Fetch as much as the protocol says, not as many pages as there are of the kind.
    """
    rewards = type_rewards(experiment.site, kind)
    wanted = wanted_pages(experiment.site, experiment.facts, rewards)
    if len(wanted) < LEAST_PAGES:
        return
    task = Task(USER_CONTENT if as_share else target_name(kind), wanted, rewards)
    told = [(EXAMPLES, Harvest.name, seed) for seed in range(1, seeds + 1)]
    for start in draw_starts(experiment.site, experiment.pages, starts, _STARTS_SEED):
        for mode, policy, seed in [*told, (FEEDBACK, Harvest.name, 1), (NONE, GREEDY, 1)]:
            run = experiment.run(Case(task, mode, read_policy(policy), seed, start))
            recall = run.curve[-1] / run.n_wanted if run.curve and run.n_wanted else 0.0
            yield Row(experiment.site.name, kind, GREEDY if policy == GREEDY else mode, start, seed, recall)


def table_of(rows: Sequence[Row]) -> Table:
    """Return a line for each kind and what was told: means over sites, each the mean of its crawls."""
    table = Table("kind", "told", "sites", "recall", "spread on a site", "nothing found")
    for kind, told in dict.fromkeys((row.kind, row.told) for row in rows):
        by_site: dict[str, list[float]] = {}
        for row in rows:
            if (row.kind, row.told) == (kind, told):
                by_site.setdefault(row.site, []).append(row.recall)
        crawls = list(by_site.values())
        figures = (
            fmean(map(fmean, crawls)),
            fmean(map(pstdev, crawls)),
            fmean(not any(found) for found in crawls),
        )
        table.add_row(kind, told, str(len(crawls)), *(f"{figure:.3f}" for figure in figures))
    return table


@click.command(help=__doc__)
@click.option("--kind", "kinds", multiple=True, required=True, help="Page type to look for; repeatable.")
@CORPORA
@SITE
@synthetic_sites(0)
@click.option("--first", type=click.IntRange(JUDGING.start), help="Those from this seed, kept for judging.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Draws of examples.")
@click.option("--starts", type=click.IntRange(1), default=1, show_default=True, help="Start pages.")
@click.option("--share", is_flag=True, help="Fetch a quarter of the site, not as many pages as are wanted.")
@OUT
def targets(
    kinds: Sequence[str],
    corpora: Sequence[Path],
    names: Sequence[str],
    synthetic: int,
    first: int | None,
    seeds: int,
    starts: int,
    share: bool,
    out: Path | None,
) -> None:
    sites = CHOOSING[:synthetic] if first is None else range(first, first + synthetic)
    rows: list[Row] = []
    for experiment, _ in wanted_on(corpora, sites, names):
        for kind in kinds:
            rows += rows_of(experiment, kind, seeds=seeds, starts=starts, as_share=share)
    if not rows:
        raise click.UsageError(
            f"no site has {LEAST_PAGES} pages of these kinds: name --corpora or --synthetic"
        )
    if out:
        out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    Console(width=120).print(table_of(rows))


if __name__ == "__main__":
    sys.exit(targets())
