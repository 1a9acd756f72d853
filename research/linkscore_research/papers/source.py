"""SOUrCe (Xu, Gao and Callan 2018): tables 3, 4 and 5, figures 6, 7 and 8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

from linkscore_lab.replay.in_process import InProcessScorer, PageScores, ReplayVisit, best_first
from linkscore_lab.replay.prepare import StoredSite
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import EXAMPLES, NONE, Case, Experiment, Task, read_policy
from linkscore_lab.report import CurveChart
from linkscore_research.papers.obedient import is_learned, sampling_free
from linkscore_research.papers.results import Cell, PaperTable, Point, shown, thinned
from linkscore_research.papers.sites import FOUR, PaperOptions, stored_sites, target, user_content

Tables = tuple[list[PaperTable], list[CurveChart]]

Draws = Sequence[Sequence[float]]
"""Figures of each draw of one task under one policy."""

SEEDS = (1, 2, 3)
"""Draws of what is random: buckets to sample, an example page."""
PAPER: dict[str, Any] = {"clusterer": "dbscan", "paper": True}
"""How the paper learns a site: DBSCAN by the literal rule for eps, a table that is frozen afterwards."""
_AS_PAPER = ", as the paper"
_SPREAD = "draws"

TABLE_3 = {
    "SOUrCe": (0.9989, 0.2767, 0.4327),
    "iRobot": (0.9361, 0.0438, 0.0828),
    "BFS": (0.8779, 0.2408, 0.3773),
}
TABLE_4 = {"SOUrCe": (0.822, 0.822, 0.822), "TPM": (0.828, 0.273, 0.376), "BFS": (0.355, 0.355, 0.355)}
TABLE_5 = {
    "Dsim x Balance": (0.9892, 1.539),
    "Info x Balance": (0.9896, 1.1413),
    "Info x Dsim": (0.9936, 0.4949),
    "Info x Dsim x Balance": (0.9954, 0.8649),
}
"""Averages of the paper over its six sites."""
ABLATIONS = {
    "Dsim x Balance": "source_ucc:without_info=true",
    "Info x Balance": "source_ucc:without_dsim=true",
    "Info x Dsim": "source_ucc:without_balance=true",
    "Info x Dsim x Balance": "source_ucc",
}
TARGETS = {
    "forum_phpbb": ("thread", "profile"),
    "qa_q2a": ("question", "user"),
    "wiki_x3": ("article",),
    "blog_wordpress": ("post",),
}
"""Detail pages and profiles, as in the paper."""
GROWING = {"blog_wordpress": "post", "forum_phpbb": "thread"}
"""A target each, for the curves: they are whole crawls."""
TRAINED = {"blog_wordpress": "post", "forum_phpbb": "thread"}
"""Sites of figure 8, each with its target."""
TRAINING = (100, 200, 400, 700, 1_000)
"""Pages learned from, as in figure 8."""
_MOST_TRAINED = 0.25
"""Share of a site to learn from at most: of more, too little of what is wanted is left to be found."""


def runs_of(
    experiment: Experiment, task: Task, policy: str, seeds: Iterable[int] = SEEDS, **protocol: Any
) -> list[RunResult]:
    """Return the crawls of one task under a policy, one a seed, with some fields of the protocol changed."""
    changed = replace(experiment, protocol=replace(experiment.protocol, **protocol))
    return [changed.run(Case(task, NONE, read_policy(policy), seed)) for seed in seeds]


def draws_of(runs: Sequence[RunResult], metrics: Sequence[str]) -> Draws:
    """Return the metrics of each crawl; 0 where it has none."""
    return [[float(run.metrics[metric] or 0.0) for metric in metrics] for run in runs]


def means(draws: Draws) -> list[float]:
    """Return the mean of each figure."""
    return [fmean(values) for values in zip(*draws, strict=True)]


def spread(values: Sequence[float]) -> Cell:
    """Return the least and the largest of several draws, once if they look alike; None if all are equal.

    >>> spread([0.5, 0.25, 0.25])
    '.250 to .500'
    >>> spread([0.5661, 0.5664])
    '.566'
    """
    if min(values) == max(values):
        return None
    return " to ".join(dict.fromkeys((shown(min(values)), shown(max(values)))))


def table_3(options: PaperOptions) -> Tables:
    """Crawling for user content with a quarter of the site: valid ratio, recall and F."""
    ours = ("valid_ratio", "recall", "f", "entropy")
    policies = {
        "SOUrCe": ("source_ucc", {}),
        "SOUrCe" + _AS_PAPER: ("source_ucc", PAPER),
        "iRobot": ("irobot", {}),
        "BFS": ("breadth_first", {}),
        "harvest": ("harvest", {}),
    }
    rows: list[list[Cell]] = []
    found: dict[str, list[Draws]] = {name: [] for name in policies}
    for experiment, labels in stored_sites(options, FOUR, budget="25%"):
        task = user_content(experiment, labels)
        for name, (policy, protocol) in policies.items():
            seeds = SEEDS[:1] if policy == "breadth_first" else SEEDS
            runs = runs_of(experiment, task, policy, seeds, **protocol)
            draws = draws_of(runs, ours)
            found[name].append(draws)
            rows.append([labels.name, name, *means(draws), spread([draw[0] for draw in draws])])
    columns = ["valid ratio", "recall", "F", "entropy"]
    return [
        _beside_paper(found, TABLE_3, columns),
        PaperTable(["site", "policy", *columns, _SPREAD], rows, "Site by site"),
    ], []


def table_4(options: PaperOptions) -> Tables:
    """Crawling for a target with as many fetches as there are target pages: harvest rate, recall and F."""
    ours = ("valid_ratio", "recall", "f")
    policies = {
        "SOUrCe": ("source_target", {}),
        "SOUrCe" + _AS_PAPER: ("source_target:multi_hop=false", PAPER),
        "TPM": ("tpm", {}),
        "BFS": ("breadth_first", {}),
    }
    rows: list[list[Cell]] = []
    found: dict[str, list[Draws]] = {name: [] for name in policies}
    for experiment, labels in stored_sites(options, TARGETS, budget="25%"):
        for page_type in TARGETS[labels.name]:
            task = target(experiment, page_type)
            for name, (policy, protocol) in policies.items():
                seeds = SEEDS[:1] if policy == "breadth_first" else SEEDS
                runs = runs_of(experiment, task, policy, seeds, **protocol)
                draws = draws_of(runs, ours)
                found[name].append(draws)
                of_draws = spread([draw[0] for draw in draws])
                rows.append([labels.name, page_type, len(task.wanted), name, *means(draws), of_draws])
    columns = ["harvest rate", "recall", "F"]
    return [
        _beside_paper(found, TABLE_4, columns),
        PaperTable(["site", "target", "budget", "policy", *columns, _SPREAD], rows, "Target by target"),
    ], []


def table_5(options: PaperOptions) -> Tables:
    """What each factor of eq. 11 is worth: valid ratio, and entropy of the page types fetched."""
    found: dict[str, list[Draws]] = {name: [] for name in ABLATIONS}
    rows: list[list[Cell]] = []
    for experiment, labels in stored_sites(options, FOUR, budget="25%"):
        task = user_content(experiment, labels)
        for name, policy in ABLATIONS.items():
            draws = draws_of(runs_of(experiment, task, policy), ("valid_ratio", "entropy"))
            found[name].append(draws)
            rows.append([labels.name, name, *means(draws), spread([draw[0] for draw in draws])])
    columns = ["valid ratio", "entropy"]
    return [
        _beside_paper(found, TABLE_5, columns),
        PaperTable(["site", "factors", *columns, _SPREAD], rows, "Site by site"),
    ], []


def figures_6_7(options: PaperOptions) -> Tables:
    """Harvest rate and recall as a crawl for a target grows, to the end of the site; means of draws."""
    rows: list[list[Cell]] = []
    charts = []
    for experiment, labels in stored_sites(options, GROWING, budget="100%", n_examples=1):
        page_type = GROWING[labels.name]
        task = target(experiment, page_type, as_share=True)
        lines: dict[str, list[Point]] = {}
        for name, policy, mode in (("SOUrCe", "source_target", EXAMPLES), ("BFS", "breadth_first", NONE)):
            seeds = SEEDS[:1] if policy == "breadth_first" else SEEDS
            runs = [experiment.run(Case(task, mode, read_policy(policy), seed)) for seed in seeds]
            counts = [fmean(values) for values in zip(*(run.curve for run in runs), strict=False)]
            wanted = runs[0].n_wanted
            recalls = [good / wanted for good in counts]
            lines[f"harvest rate, {name}"] = thinned([good / (n + 1) for n, good in enumerate(counts)])
            lines[f"recall, {name}"] = thinned(recalls)
            row: list[Cell] = [labels.name, page_type, name, wanted]
            row += [recalls[n - 1] for n in (min(wanted, len(recalls)), len(recalls) // 2, len(recalls))]
            to_95 = [round(run.metrics["fetches_to_95pct"] or run.fetched) for run in runs]
            rows.append([*row, round(fmean(to_95)), spread(to_95)])
        charts.append(CurveChart(f"{labels.name}, {page_type}", "pages fetched", "share", lines))
    columns = ["site", "target", "policy", "targets", "recall at as many fetches", "at half of the site"]
    return [PaperTable([*columns, "recall at the end", "fetches to 95 %", _SPREAD], rows)], charts


class BreadthFirstSample(InProcessScorer):
    """Samples a site breadth-first, where `InProcessScorer` follows the plan of the paper's section 4.1.

    Until the site is learned each link waits in one more bucket, first in, first out, which comes first; so
    what is left when it is learned is in its own bucket too.
    """

    _QUEUE = "breadth first"

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        answer = super().visit(site, visit)
        if is_learned(self):
            return answer
        n = len(answer.keys)
        return replace(
            answer,
            keys=[*answer.keys, *answer.keys],
            scores=[*answer.scores, *answer.scores],
            bucket_names=[*answer.bucket_names, self._QUEUE],
            buckets=[*answer.buckets, *[len(answer.bucket_names)] * n],
            tickets=[*answer.tickets, *answer.tickets],
            skip=[*answer.skip, *answer.skip],
        )

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        if not is_learned(self):
            return best_first([float(name == self._QUEUE) for name in buckets], waiting, n)
        own = [row for row, name in enumerate(buckets) if name != self._QUEUE]
        values, takes = [-1.0] * len(buckets), [0] * len(buckets)
        found = super().plan([buckets[row] for row in own], [waiting[row] for row in own], in_flight, n)
        for row, value, take in zip(own, *found, strict=True):
            values[row], takes[row] = value, take
        return values, takes


SAMPLINGS = {
    "own sampling": lambda pages: partial(InProcessScorer, sample_pages=pages),
    "BFS sampling": lambda pages: partial(BreadthFirstSample, sample_pages=pages),
}


def figure_8(options: PaperOptions) -> Tables:
    """Valid ratio and harvest rate by pages learned from, sampled as the paper does and breadth-first."""
    rows: list[list[Cell]] = []
    charts = []
    for experiment, labels in stored_sites(options, TRAINED, budget="25%"):
        experiment.carry_out = sampling_free
        most = _MOST_TRAINED * len(experiment.pages)
        sizes = [pages for pages in TRAINING if pages <= most]
        tasks = [("valid ratio", "source_ucc", user_content(experiment, labels))]
        tasks.append(("harvest rate", "source_target", target(experiment, TRAINED[labels.name])))
        lines: dict[str, list[Point]] = {}
        for (metric, policy, task), (how, make) in product(tasks, SAMPLINGS.items()):
            sampled = [replace(experiment, make_scorer=make(pages)) for pages in sizes]
            draws = [draws_of(runs_of(each, task, policy), ("valid_ratio",)) for each in sampled]
            values = [means(each)[0] for each in draws]
            lines[f"{metric}, {how}"] = list(zip(map(float, sizes), values, strict=True))
            missing = [None] * (len(TRAINING) - len(sizes))
            rows.append([labels.name, metric, how, *values, *missing])
            of_draws = [spread([draw[0] for draw in each]) for each in draws]
            rows.append([labels.name, metric, f"{how}, {_SPREAD}", *of_draws, *missing])
        charts.append(CurveChart(labels.name, "pages learned from", "share", lines))
    columns = ["site", "figure", "sampled", *(f"{pages:,} pages" for pages in TRAINING)]
    return [PaperTable(columns, rows)], charts


def _beside_paper(
    found: Mapping[str, Sequence[Draws]],
    paper: Mapping[str, Sequence[float]],
    columns: Sequence[str],
) -> PaperTable:
    """Return a row for each policy: the paper's figures, a dash where it has none, beside means of ours.

    Last come the draws: the least and the largest mean of the first figure over all tasks.
    """
    heads = [head for column in columns for head in (f"{column}, paper", f"{column}, ours")]
    rows = []
    for name, tasks in found.items():
        theirs = paper.get(name.removesuffix(_AS_PAPER), ())
        ours = means([means(draws) for draws in tasks])
        row: list[Cell] = [name]
        for at, mean in enumerate(ours):
            row += [theirs[at] if at < len(theirs) else None, mean]
        of_draws = [fmean(draw[0] for draw in draws) for draws in zip(*tasks, strict=True)]
        rows.append([*row, spread(of_draws)])
    return PaperTable(["", *heads, f"{columns[0]}, {_SPREAD}"], rows)
