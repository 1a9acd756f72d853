"""What experience of other sites is worth: `python -m linkscore_research.tuning.warm_start`, or `--judge`.

Each synthetic site is crawled without experience and with that of other sites: of a sibling (the same
software, another site: `synthetic.draw_sibling`) without labels or with feedback, of all sites drawn but this
one, of the next site drawn (other software that shares class names: it misleads where it matches), and of a
sibling with every reward turned round (the worst there can be). A stored site is crawled with the experience
of all others: leave one out. No site is told anything itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.runs import FEEDBACK, NONE, Case, Experiment
from linkscore_lab.replay.scorer import CrawlSetup
from linkscore_lab.replay.task import Task
from linkscore_research.tuning.options import CORPORA, JUDGE, OUT, SITE
from linkscore_research.tuning.options import synthetic as synthetic_sites
from linkscore_research.tuning.sites import opened, wanted_on
from linkscore_research.zoo import CHOOSING, JUDGING, SyntheticSite, draw_sibling, sibling_seed
from linkscore_scoring.engine.config import MAX_EXPERIENCES
from linkscore_scoring.policies.experience import Experience

COLD = "nothing"
WORSE = 0.01
"""Valid ratio by which a crawl that starts warm may be worse than a cold one (the bar of the project)."""


@dataclass(frozen=True, slots=True)
class Row:
    """Wanted pages of those fetched, 25 % of a site, and over its first 5 %, by what it started from."""

    site: str
    start: str
    valid: float
    area: float


@dataclass(frozen=True, slots=True)
class Learned:
    """What a crawl that was told nothing, and one that had feedback, learned of one site."""

    alone: Experience
    taught: Experience


class _LearningScorer(InProcessScorer):
    """The library, asked at the end what it learned."""

    def experience(self) -> Experience:
        """Return what was learned of the only site."""
        (name,) = self.model.sites
        return self._queries.experience(name)


def learn(experiment: Experiment, task: Task) -> Learned:
    """Crawl a site twice and return what was learned."""
    made: list[_LearningScorer] = []

    def scorer(setup: CrawlSetup) -> _LearningScorer:
        made.append(_LearningScorer(setup))
        return made[-1]

    before, experiment.make_scorer = experiment.make_scorer, scorer
    for mode in (NONE, FEEDBACK):
        experiment.run(Case(task, mode, read_policy("harvest"), seed=1))
    experiment.make_scorer = before
    return Learned(*(each.experience() for each in made))


def crawl(experiment: Experiment, task: Task, start: str, experiences: Iterable[Experience]) -> Row:
    """Crawl a site that starts from what others learned."""
    documents = tuple(experience.to_bytes() for experience in experiences)[:MAX_EXPERIENCES]
    before = experiment.protocol
    experiment.protocol = replace(before, experience=documents)
    run = experiment.run(Case(task, NONE, read_policy("harvest"), seed=1))
    experiment.protocol = before
    valid = run.curve[-1] / run.budget if run.curve else 0.0
    return Row(experiment.site.name, start, valid, float(run.metrics["area_5pct"] or 0.0))


def turned_round(experience: Experience) -> Experience:
    """Return an experience that is wrong about everything."""
    return Experience.of(replace(group, reward=1.0 - group.reward) for group in experience.groups)


def synthetic_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """Yield a row for each site of the synthetic corpus and each start."""
    siblings: dict[int, Learned] = {}
    for seed in seeds:
        with opened(SyntheticSite(sibling_seed(seed, 1), draw_sibling(seed, 1))) as (experiment, task):
            siblings[seed] = learn(experiment, task)
    for i, seed in enumerate(seeds):
        own, other = siblings[seed], siblings[seeds[(i + 1) % len(seeds)]]
        several = [
            siblings[seeds[(i + k) % len(seeds)]].taught for k in range(1, min(len(seeds), MAX_EXPERIENCES))
        ]
        starts: Mapping[str, Sequence[Experience]] = {
            COLD: (),
            "a sibling, told nothing": [own.alone],
            "a sibling with feedback": [own.taught],
            "the same among 15 others": [own.taught, *several],
            "15 other sites with feedback": several,
            "another site, told nothing": [other.alone],
            "another site with feedback": [other.taught],
            "a sibling turned round": [turned_round(own.taught)],
        }
        with opened(SyntheticSite(seed)) as (experiment, task):
            for start, experiences in starts.items():
                yield crawl(experiment, task, start, experiences)


def stored_rows(corpora: Sequence[Path], names: Sequence[str]) -> Iterator[Row]:
    """Yield rows of each stored site: without experience, with that of all others, and with its own."""
    learned = {
        experiment.site.name: learn(experiment, task) for experiment, task in wanted_on(corpora, (), names)
    }
    for experiment, task in wanted_on(corpora, (), names):
        others = [each for name, each in learned.items() if name != experiment.site.name]
        own = learned[experiment.site.name]
        yield crawl(experiment, task, COLD, ())
        yield crawl(experiment, task, "all others, told nothing", [each.alone for each in others])
        yield crawl(experiment, task, "all others with feedback", [each.taught for each in others])
        yield crawl(experiment, task, "the same site with feedback", [own.taught])


def table_of(rows: Sequence[Row]) -> Table:
    """Return a line for each start: means, and the sites where it made the crawl worse or better."""
    cold = {row.site: row.valid for row in rows if row.start == COLD}
    table = Table("started from", "valid", "early", f"worse by {WORSE}", f"better by {WORSE}", "worst")
    for start in dict.fromkeys(row.start for row in rows):
        of_it = [row for row in rows if row.start == start]
        gains = [row.valid - cold[row.site] for row in of_it]
        table.add_row(
            start,
            f"{fmean(row.valid for row in of_it):.3f}",
            f"{fmean(row.area for row in of_it):.3f}",
            f"{sum(gain < -WORSE for gain in gains)} of {len(gains)}",
            f"{sum(gain > WORSE for gain in gains)} of {len(gains)}",
            f"{min(gains):+.3f}",
        )
    return table


@click.command(help=__doc__)
@CORPORA
@SITE
@synthetic_sites(0)
@JUDGE
@OUT
def warm_start(
    corpora: Sequence[Path], names: Sequence[str], synthetic: int, judge: bool, out: Path | None
) -> None:
    rows: list[Row] = []
    for found in (synthetic_rows((JUDGING if judge else CHOOSING)[:synthetic]), stored_rows(corpora, names)):
        some = list(found)
        if some:
            Console(width=140).print(table_of(some))
        rows += some
    if not rows:
        raise click.UsageError("no site: name --corpora or a --synthetic above 0")
    if out:
        out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))


if __name__ == "__main__":
    sys.exit(warm_start())
