"""Where does a crawl with a budget stop? `python -m linkscore_research.stopping --synthetic 60`.

Every site is crawled to its end, told nothing or with feedback. At each fetch the estimate of coverage is
noted beside what was found of the wanted pages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import FEEDBACK, NONE, Case, Experiment, ReplayProtocol
from linkscore_lab.replay.scorer import CrawlSetup, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING

WANTED = (0.5, 0.7, 0.8, 0.9, 0.95)
_LEAST_FETCHES = 30
"""Fetches before a site stops for what it has; as `linkscore_scoring.limits.budget`."""


@dataclass(frozen=True, slots=True)
class Row:
    """A crawl: for each wanted recall, the recall at which it stopped and the share of the site fetched."""

    site: str
    mode: str
    stops: dict[float, tuple[float, float]]


class WatchedScorer(InProcessScorer):
    """The library; notes the estimate after each fetch."""

    def __init__(self, setup: CrawlSetup) -> None:
        super().__init__(setup)
        self.shares: list[float] = []

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`."""
        scores = super().visit(site, visit)
        name = self.model.site_of(site.records[visit.number].url)
        standing = self.model.standing(self.model.shard(name))
        self.shares.append(standing.coverage.share if standing.coverage else 0.0)
        scores.stopped = ""  # what comes after is looked at too
        return scores


def row_of(experiment: Experiment, task: Task, mode: str) -> Row:
    """Crawl a site to its end and return where it would have stopped."""
    made: list[WatchedScorer] = []

    def watched(setup: CrawlSetup) -> WatchedScorer:
        made.append(WatchedScorer(setup))
        return made[-1]

    experiment.make_scorer = watched
    run = experiment.run(Case(task, mode, read_policy("harvest"), seed=1))
    (scorer,) = made
    stops = {}
    for wanted in WANTED:
        at = next(
            (n for n, share in enumerate(scorer.shares) if share >= wanted and n + 1 >= _LEAST_FETCHES),
            len(scorer.shares) - 1,
        )
        stops[wanted] = run.curve[min(at, len(run.curve) - 1)] / run.n_wanted, (at + 1) / run.n_reachable
    return Row(experiment.site.name, mode, stops)


@click.command(help=__doc__)
@CORPORA
@synthetic_sites(60)
@JUDGE
@click.option("--each", is_flag=True, help="A line for each site.")
def stopping(corpora: Sequence[Path], synthetic: int, judge: bool, each: bool) -> None:
    rows: list[Row] = []
    for experiment, task in wanted_on(corpora, (JUDGING if judge else CHOOSING)[:synthetic]):
        limits = {"budget": {"enough_coverage": 1.0}}
        experiment.protocol = ReplayProtocol(budget="100%", limits=limits)
        for mode in (NONE, FEEDBACK):
            rows.append(row_of(experiment, task, mode))
            if each:
                found = " ".join(f"{w:.2f}:{r:.2f}@{f:.2f}" for w, (r, f) in rows[-1].stops.items())
                click.echo(f"{rows[-1].site:24} {mode:9} {found}")
    Console().print(table_of(rows))


def table_of(rows: Sequence[Row]) -> Table:
    """Return how far stops were from the recall wanted."""
    table = Table("mode", "wanted", "recall", "mean distance", "within .05", "early by .05", "fetched")
    for mode in (NONE, FEEDBACK):
        for wanted in WANTED:
            found = [row.stops[wanted] for row in rows if row.mode == mode]
            gaps = [recall - wanted for recall, _ in found]
            table.add_row(
                mode,
                f"{wanted:.2f}",
                f"{fmean(recall for recall, _ in found):.3f}",
                f"{fmean(map(abs, gaps)):.3f}",
                f"{fmean(abs(gap) <= 0.05 for gap in gaps):.2f}",
                f"{fmean(gap < -0.05 for gap in gaps):.2f}",
                f"{fmean(share for _, share in found):.2f}",
            )
    return table


if __name__ == "__main__":
    sys.exit(stopping())
