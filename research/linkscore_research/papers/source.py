"""SOUrCe (Xu, Gao and Callan 2018): tables 3, 4 and 5, figures 6, 7 and 8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.runs import EXAMPLES, NONE, Case, Experiment
from linkscore_lab.replay.scorer import CrawlSetup, PageScores, ReplayVisit, best_first
from linkscore_lab.replay.stored import StoredSite
from linkscore_lab.replay.task import Task
from linkscore_research.papers.results import Cell, PaperChart, PaperTable, Point, thinned
from linkscore_research.papers.sites import FOUR, PaperOptions, stored_sites, target, user_content

Tables = tuple[list[PaperTable], list[PaperChart]]

SEEDS = (1,)
"""Draws of what is random: one, so that a table takes minutes; `linkscore suite` has three."""
PAPER: dict[str, Any] = {"clusterer": "dbscan", "paper": True}
"""How the paper learns a site: DBSCAN by the literal rule for eps, a table that is frozen afterwards."""
_AS_PAPER = ", as the paper"

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
GROWING = {"blog_wordpress": "post"}
"""One target, for the curves: they are whole crawls."""
TRAINED = ("blog_wordpress",)
TRAINING = (100, 200, 400)
"""Pages learned from; the paper goes to 1,000, which is half of the smallest site here."""


def runs_of(
    experiment: Experiment, task: Task, policy: str, seeds: Iterable[int] = SEEDS, **protocol: Any
) -> list[RunResult]:
    """Return the crawls of one task under a policy, one a seed, with some fields of the protocol changed."""
    changed = replace(experiment, protocol=replace(experiment.protocol, **protocol))
    return [changed.run(Case(task, NONE, read_policy(policy), seed)) for seed in seeds]


def mean_of(runs: Sequence[RunResult], metric: str) -> float:
    """Return the mean of a metric over crawls; 0 where none has it."""
    return fmean(float(run.metrics[metric] or 0.0) for run in runs)


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
    found: dict[str, list[list[float]]] = {name: [] for name in policies}
    for experiment, labels in stored_sites(options, FOUR, budget="25%"):
        task = user_content(experiment, labels)
        for name, (policy, protocol) in policies.items():
            seeds = SEEDS[:1] if policy == "breadth_first" else SEEDS
            runs = runs_of(experiment, task, policy, seeds, **protocol)
            values = [mean_of(runs, metric) for metric in ours]
            found[name].append(values)
            rows.append([labels.name, name, *values])
    columns = ["valid ratio", "recall", "F", "entropy"]
    return [
        _beside_paper(found, TABLE_3, columns),
        PaperTable(["site", "policy", *columns], rows, "Site by site"),
    ], []


def table_4(options: PaperOptions) -> Tables:
    """Crawling for a target with as many fetches as there are target pages: harvest rate, recall and F."""
    ours = ("harvest_rate", "recall", "f")
    policies = {
        "SOUrCe": ("source_target", {}),
        "SOUrCe" + _AS_PAPER: ("source_target:multi_hop=false", PAPER),
        "TPM": ("tpm", {}),
        "BFS": ("breadth_first", {}),
    }
    rows: list[list[Cell]] = []
    found: dict[str, list[list[float]]] = {name: [] for name in policies}
    for experiment, labels in stored_sites(options, TARGETS, budget="25%"):
        for page_type in TARGETS[labels.name]:
            task = target(experiment, page_type)
            for name, (policy, protocol) in policies.items():
                seeds = SEEDS[:1] if policy == "breadth_first" else SEEDS
                runs = runs_of(experiment, task, policy, seeds, **protocol)
                values = [mean_of(runs, metric) for metric in ours]
                found[name].append(values)
                rows.append([labels.name, page_type, len(task.wanted), name, *values])
    columns = ["harvest rate", "recall", "F"]
    return [
        _beside_paper(found, TABLE_4, columns),
        PaperTable(["site", "target", "budget", "policy", *columns], rows, "Target by target"),
    ], []


def table_5(options: PaperOptions) -> Tables:
    """What each factor of eq. 11 is worth: valid ratio, and entropy of the page types fetched."""
    found: dict[str, list[list[float]]] = {name: [] for name in ABLATIONS}
    by_site: dict[str, list[Cell]] = {name: [name] for name in ABLATIONS}
    names = []
    for experiment, labels in stored_sites(options, FOUR, budget="25%"):
        task = user_content(experiment, labels)
        names.append(labels.name)
        for name, policy in ABLATIONS.items():
            runs = runs_of(experiment, task, policy)
            values = [mean_of(runs, "valid_ratio"), mean_of(runs, "entropy")]
            found[name].append(values)
            by_site[name].append(f"{values[0]:.3f} / {values[1]:.2f}")
    return [
        _beside_paper(found, TABLE_5, ["valid ratio", "entropy"]),
        PaperTable(["factors", *names], list(by_site.values()), "Valid ratio / entropy, site by site"),
    ], []


def figures_6_7(options: PaperOptions) -> Tables:
    """Harvest rate and recall as a crawl for a target grows, until the site is fetched."""
    rows: list[list[Cell]] = []
    charts = []
    for experiment, labels in stored_sites(options, GROWING, budget="100%", n_examples=1):
        page_type = GROWING[labels.name]
        task = target(experiment, page_type, as_share=True)
        lines: dict[str, list[Point]] = {}
        for name, policy, mode in (("SOUrCe", "source_target", EXAMPLES), ("BFS", "breadth_first", NONE)):
            run = experiment.run(Case(task, mode, read_policy(policy), SEEDS[0]))
            rates = [good / (at + 1) for at, good in enumerate(run.curve)]
            recalls = [good / run.n_wanted for good in run.curve]
            lines |= {f"harvest rate, {name}": thinned(rates), f"recall, {name}": thinned(recalls)}
            at = min(run.n_wanted, len(recalls)) - 1
            to_95 = run.metrics["fetches_to_95pct"]
            rows.append([labels.name, page_type, name, run.n_wanted, recalls[at], recalls[-1], to_95])
        charts.append(PaperChart(f"{labels.name}, {page_type}", "pages fetched", "share", lines))
    columns = ["site", "target", "policy", "targets", "recall at as many fetches", "recall at the end"]
    return [PaperTable([*columns, "fetches to 95 %"], rows)], charts


class BreadthFirstSample(InProcessScorer):
    """Samples a site breadth-first, where `InProcessScorer` follows the plan of the paper's section 4.1.

    Until the site is learned each link waits in one more bucket, first in, first out, which comes first; so
    what is left when it is learned is in its own bucket too.
    """

    _QUEUE = "breadth first"

    def __init__(self, setup: CrawlSetup, *, sample_pages: int) -> None:
        super().__init__(setup, sample_pages=sample_pages)
        self._learned = False

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        """See `CrawlScorer.visit`."""
        answer = super().visit(site, visit)
        if self._learned or answer.learned:
            self._learned = True
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
        """See `CrawlScorer.plan`."""
        if not self._learned:
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
    found: dict[tuple[str, str, int], list[float]] = {}
    for experiment, labels in stored_sites(options, TRAINED, budget="25%", free_sampling=True):
        tasks = [("valid ratio", "source_ucc", user_content(experiment, labels))]
        tasks.append(("harvest rate", "source_target", target(experiment, GROWING[labels.name])))
        for (how, make), pages in product(SAMPLINGS.items(), TRAINING):
            sampled = replace(experiment, make_scorer=make(pages))
            for metric, policy, task in tasks:
                runs = runs_of(sampled, task, policy, SEEDS[:1])
                found.setdefault((metric, how, pages), []).append(mean_of(runs, "valid_ratio"))
    names = list(dict.fromkeys((metric, how) for metric, how, _ in found))
    means = {name: [fmean(found[*name, pages]) for pages in TRAINING] for name in names}
    rows: list[list[Cell]] = [[*name, *means[name]] for name in names]
    lines = {f"{m}, {how}": list(zip(TRAINING, means[m, how], strict=True)) for m, how in names}
    columns = ["figure", "sampled", *(f"{pages} pages" for pages in TRAINING)]
    chart = PaperChart("By pages learned from", "pages learned from", "share", lines)
    return [PaperTable(columns, rows)], [chart]


def _beside_paper(
    found: Mapping[str, Sequence[Sequence[float]]],
    paper: Mapping[str, Sequence[float]],
    columns: Sequence[str],
) -> PaperTable:
    """Return a row for each policy: the paper's figures, a dash where it has none, beside means of ours."""
    heads = [head for column in columns for head in (f"{column}, paper", f"{column}, ours")]
    rows = []
    for name, each in found.items():
        theirs = paper.get(name.removesuffix(_AS_PAPER), ())
        row: list[Cell] = [name]
        for at in range(len(columns)):
            row += [theirs[at] if at < len(theirs) else None, fmean(values[at] for values in each)]
        rows.append(row)
    return PaperTable(["", *heads], rows)
