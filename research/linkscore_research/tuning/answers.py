"""What a few examples and a few answers are worth: `python -m linkscore_research.tuning.answers`.

Every site is crawled told nothing, with k examples of each wanted type, and with n answers to questions that
come while the crawl goes on: about the page `SuggestExamples` names first, or about a page drawn from those
fetched. A wanted page becomes an example, by its URL alone; of any other feedback says that it is not wanted.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.datasets.site import identity_or_none
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import EXAMPLES, FEEDBACK, NONE, Case, Experiment
from linkscore_lab.replay.scorer import CrawlSetup, PageScores, ReplayVisit
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE, OUT, SITE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.types import ExamplePage

NOTHING = "nothing"
WORSE = 0.01
"""Valid ratio by which a crawl that was told something may be worse than one that was not (the bar)."""
_EXAMPLES, _ANSWERS = (1, 3, 5), (5, 10, 12, 20)
_FIRST, _EVERY = 20, 5  # fetches before the first question, and between two; chosen, not measured
_SHOWN_SITES = 8  # columns a terminal has room for
_SUGGESTED = 5  # pages a question is chosen from: those already answered are passed over


class AskingScorer(InProcessScorer):
    """The library, and a person who answers questions about the pages it has fetched.

    Parameters
    ----------
    setup
        The crawl.
    wanted
        Identities of the pages the person wants.
    answers
        Questions that are answered, at most.
    drawn
        Seed to draw the pages with; None: those `SuggestExamples` names.
    """

    def __init__(
        self, setup: CrawlSetup, *, wanted: Collection[str], answers: int, drawn: int | None
    ) -> None:
        super().__init__(setup)
        self._wanted, self._left = wanted, answers
        self._rng = None if drawn is None else random.Random(drawn)
        self._fetched: list[str] = []
        self._answered: set[str] = set()

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`; asks after every fifth page."""
        scores = super().visit(site, visit)
        record = site.records[visit.number]
        if record.is_page:
            self._fetched.append(record.key)
        n = len(self._fetched)
        if self._left and record.is_page and n >= _FIRST and (n - _FIRST) % _EVERY == 0:
            self._ask()
        return scores

    def _ask(self) -> None:
        key = next((key for key in self._questions() if key and key not in self._answered), None)
        if key is None:
            return
        self._left -= 1
        self._answered.add(key)
        if key in self._wanted:
            config = self.model.config
            given = replace(config, examples=(*config.examples, ExamplePage(key, key)))
            self._apply(ConfigChanged(given.to_state()))
        else:
            self.feedback(key, key, 0.0)

    def _questions(self) -> Iterator[str]:
        if self._rng is not None:
            yield from self._rng.sample(self._fetched, len(self._fetched))
        else:
            for _, suggested in self._queries.suggest_examples(_SUGGESTED):
                yield identity_or_none(suggested.url) or ""


@dataclass(frozen=True, slots=True)
class Row:
    """Wanted pages of those fetched, 25 % of a site, and over its first 5 %, by what was told."""

    site: str
    told: str
    valid: float
    area: float


def rows_of(experiment: Experiment, task: Task, seeds: Sequence[int]) -> Iterator[Row]:
    """Yield a row for each way to tell what is wanted; means over the seeds where something is drawn."""
    crawl = partial(_crawl, experiment, task)
    yield crawl(NOTHING, NONE)
    protocol = experiment.protocol
    for k in _EXAMPLES:
        experiment.protocol = replace(protocol, n_examples=k)
        yield crawl(f"{k} examples a type", EXAMPLES, seeds)
    experiment.protocol, plain = protocol, experiment.make_scorer
    for n in _ANSWERS:
        experiment.make_scorer = partial(AskingScorer, wanted=task.wanted, answers=n, drawn=None)
        yield crawl(f"{n} answers, asked", NONE)
        drawn = []
        for seed in seeds:
            experiment.make_scorer = partial(AskingScorer, wanted=task.wanted, answers=n, drawn=seed)
            drawn.append(crawl(f"{n} answers, drawn", NONE))
        yield _mean(drawn)
    experiment.make_scorer = plain
    yield crawl("feedback", FEEDBACK)


def _crawl(experiment: Experiment, task: Task, told: str, mode: str, seeds: Sequence[int] = (1,)) -> Row:
    runs = [experiment.run(Case(task, mode, read_policy("harvest"), seed)) for seed in seeds]
    return _mean(
        Row(
            experiment.site.name,
            told,
            run.curve[-1] / run.budget if run.curve else 0.0,
            float(run.metrics["area_5pct"] or 0.0),
        )
        for run in runs
    )


def _mean(rows: Iterable[Row]) -> Row:
    found = list(rows)
    return replace(found[0], valid=fmean(row.valid for row in found), area=fmean(row.area for row in found))


def table_of(rows: Sequence[Row]) -> Table:
    """Return one line a way: the valid ratio on each site, the mean, and where telling made it worse."""
    sites = list(dict.fromkeys(row.site for row in rows))
    by_way: dict[str, dict[str, float]] = {}
    for row in rows:
        by_way.setdefault(row.told, {})[row.site] = row.valid
    shown = sites if len(sites) <= _SHOWN_SITES else []
    table = Table("told", *shown, "mean", f"worse than told nothing by {WORSE}")
    for told, valid in by_way.items():
        worse = sum(by_way[NOTHING][site] - valid[site] > WORSE for site in sites)
        figures = [*(valid[site] for site in shown), fmean(valid.values())]
        table.add_row(told, *(f"{figure:.3f}" for figure in figures), f"{worse} of {len(sites)}")
    return table


@click.command(help=__doc__)
@CORPORA
@SITE
@synthetic_sites(0)
@JUDGE
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Draws of what is drawn.")
@OUT
def answers(
    corpora: Sequence[Path], names: Sequence[str], synthetic: int, judge: bool, seeds: int, out: Path | None
) -> None:
    rows: list[Row] = []
    for experiment, task in wanted_on(corpora, (JUDGING if judge else CHOOSING)[:synthetic], names):
        rows += rows_of(experiment, task, range(1, seeds + 1))
    if not rows:
        raise click.UsageError("no site: name --corpora or a --synthetic above 0")
    if out:
        out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    Console(width=140).print(table_of(rows))


if __name__ == "__main__":
    sys.exit(answers())
