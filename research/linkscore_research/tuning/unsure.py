"""Is `harvest` often wrong where it says it is unsure? `python -m linkscore_research.tuning.unsure --judge`.

Every site is crawled told nothing and with three examples of each wanted type. Sites are told apart by what
the advice said after 30 fetches of the first crawl (`SiteAdvice.needs_examples`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import EXAMPLES, NONE, Case, Experiment
from linkscore_lab.replay.scorer import GREEDY, CrawlSetup, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING
from linkscore_scoring.engine.reports.advice import UNSURE_FETCHES
from linkscore_scoring.policies.harvest import Harvest


@dataclass(frozen=True, slots=True)
class Row:
    """What `harvest` misses of the valid ratio of the greedy oracle, 25 % of a site fetched.

    Attributes
    ----------
    site
        Which.
    is_unsure
        Whether the advice asked for examples.
    missed, missed_with_examples
        Told nothing, and with three examples of each wanted type.
    """

    site: str
    is_unsure: bool
    missed: float
    missed_with_examples: float


class WatchedScorer(InProcessScorer):
    """The library, asked for advice once when a site has enough fetches."""

    def __init__(self, setup: CrawlSetup) -> None:
        super().__init__(setup)
        self.is_unsure: bool | None = None

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`."""
        scores = super().visit(site, visit)
        name = self.model.site_of(site.records[visit.number].url)
        if self.is_unsure is None and self.model.shard(name).model.history.fetches >= UNSURE_FETCHES:
            self.is_unsure = self._queries.advice(name).needs_examples
        return scores


def row_of(experiment: Experiment, task: Task) -> Row:
    """Crawl a site and return its row."""
    oracle = _valid(experiment, Case(task, NONE, read_policy(GREEDY), seed=1))
    with_examples = _valid(experiment, Case(task, EXAMPLES, read_policy(Harvest.name), seed=1))
    made: list[WatchedScorer] = []

    def watched(setup: CrawlSetup) -> WatchedScorer:
        made.append(WatchedScorer(setup))
        return made[-1]

    experiment.make_scorer = watched
    nothing = _valid(experiment, Case(task, NONE, read_policy(Harvest.name), seed=1))
    is_unsure = any(scorer.is_unsure for scorer in made)
    return Row(experiment.site.name, is_unsure, oracle - nothing, oracle - with_examples)


def _valid(experiment: Experiment, case: Case) -> float:
    run = experiment.run(case)
    return run.curve[-1] / run.budget if run.curve else 0.0


@click.command(help=__doc__)
@CORPORA
@synthetic_sites(60)
@JUDGE
def unsure(corpora: Sequence[Path], synthetic: int, judge: bool) -> None:
    sites = wanted_on(corpora, (JUDGING if judge else CHOOSING)[:synthetic])
    rows = [row_of(experiment, task) for experiment, task in sites]
    if not rows:
        raise click.UsageError("no site: name --corpora or a --synthetic above 0")
    Console().print(table_of(rows))


def table_of(rows: Iterable[Row]) -> Table:
    """Return the means of both kinds of sites."""
    rows = list(rows)
    table = Table("the advice", "sites", "missed, told nothing", "missed, three examples")
    for said, words in ((True, "asks for examples"), (False, "does not")):
        of_it = [row for row in rows if row.is_unsure == said]
        means = (
            [fmean(row.missed for row in of_it), fmean(row.missed_with_examples for row in of_it)]
            if of_it
            else []
        )
        table.add_row(words, str(len(of_it)), *(f"{mean:.3f}" for mean in means))
    return table


if __name__ == "__main__":
    sys.exit(unsure())
