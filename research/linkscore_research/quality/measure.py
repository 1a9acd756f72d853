"""What the quality gate replays, and the figures of today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import fmean, stdev

from linkscore_lab.datasets.site import ByType
from linkscore_lab.replay.in_process import ORACLES
from linkscore_lab.replay.prepare import SiteSource, cores, digest_of, prepare_site, spread
from linkscore_lab.replay.results import RunGroup, RunResult, group_runs
from linkscore_lab.replay.runs import (
    FEEDBACK,
    NONE,
    USER_CONTENT,
    Case,
    Experiment,
    ReplayProtocol,
    Task,
    page_rewards,
    read_policy,
)
from linkscore_research.labelled import SitePageType, archive_in, read_page_types
from linkscore_research.quality.baseline import TYPES, Figure
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin

BUDGET = "25%"
# Two would have a deviation too, more would make the gate slower. Chosen, not measured.
SEEDS = (1, 2, 3)
WITHOUT_RANDOMNESS = frozenset(
    {
        "breadth_first",
        "in_degree",
        "opic",
        "pagerank",
    }
)
IN_WORDS = (
    f"user_content: wanted pages fetched / fetches allowed, {BUDGET} of the reachable pages; "
    f"target: recall at as many fetches as pages of the type; seeds {', '.join(map(str, SEEDS))}"
)

_LOG = "log"
_LOG_ENDING = ".log.tsv.gz"
LOGS_IN_WORDS = (
    "visits, links: pages the oracle needs for 80 % of the visits after the first 30 days of the log, to "
    "fetch or to discover them, / pages the order needs"
)


def plan(tasks: Iterable[Task]) -> Iterator[Case]:
    """Yield the crawls of one site: every policy where it makes sense, then the oracles.

    Policies that need no example crawl for user content, without labels and, if they listen, with feedback;
    policies that need one crawl for each target. A policy without randomness runs once. Those that go by a
    browse log, or by what is wanted in words, have neither here: `measure_log` is for the former.
    """
    for task in tasks:
        for kind in builtin().values():
            if _needs_example(kind) == task.is_target and not (kind.reads_logs or kind.reads_words):
                yield from _cases(task, kind)
        yield from (Case(task, NONE, read_policy(name), SEEDS[0]) for name in ORACLES)


def _cases(task: Task, kind: type[Policy]) -> Iterator[Case]:
    listens = kind.feedback is not Policy.feedback and not task.is_target
    for mode in (NONE, FEEDBACK) if listens else (NONE,):
        for seed in SEEDS[:1] if kind.name in WITHOUT_RANDOMNESS else SEEDS:
            yield Case(task, mode, read_policy(kind.name), seed)


def _needs_example(kind: type[Policy]) -> bool:
    return any(f.name == "example_html" for f in fields(kind.Params))


# Digits of a figure in the baseline: far below `MIN_BAND`.
_DIGITS = 6


@dataclass(slots=True)
class Measured:
    """Figures of policies and oracles by ``SITE:TASK:MODE:POLICY``."""

    figures: dict[str, Figure] = field(default_factory=dict)
    oracles: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelledSite:
    """A stored site of a folder: archive, labels, and what its page types are good for."""

    name: str
    archive: Path
    labels: Path
    kinds: tuple[SitePageType, ...]


def sites_of(folder: Path) -> list[LabelledSite]:
    """Return the sites of a folder that have user content and targets; none where there is no folder."""
    table = folder / TYPES
    known = read_page_types(table) if table.is_file() else {}
    sites = [
        LabelledSite(name, archive, folder / f"{name}.labels.tsv.gz", tuple(kinds))
        for name, kinds in known.items()
        if any(k.user_content for k in kinds) and any(k.target for k in kinds)
        if (archive := archive_in(folder, name))
    ]
    return [site for site in sites if site.labels.is_file()]


def inputs_of(sites: Iterable[LabelledSite]) -> dict[str, str]:
    """Return the sha256 of every file that is read; one of the tables of page types of all folders."""
    files = [path for site in sites for path in (site.archive, site.labels)]
    tables = [folder / TYPES for folder in dict.fromkeys(path.parent for path in files)]
    return {TYPES: digest_of(tables)} | {path.name: digest_of([path]) for path in files}


def measure(site: LabelledSite, *, workers: int = 0) -> Measured:
    """Replay a site as planned."""
    layout = any(policy.reads_layout for policy in builtin().values())
    stored = prepare_site([SiteSource([site.archive], site.labels)], workers=workers, layout=layout)
    try:
        experiment = Experiment(stored, ReplayProtocol(budget=BUDGET))
        todo = list(plan(_tasks(experiment, site.kinds)))
        return figures_of(_crawl(experiment, todo, workers or cores()))
    finally:
        stored.blobs.close()


def figures_of(runs: Iterable[RunResult]) -> Measured:
    """Return mean and deviation over the seeds of each site, task, mode and policy."""
    found = Measured()
    for group in group_runs(runs):
        name = ":".join((*group.question, group.policy))
        if group.policy in ORACLES:
            found.oracles[name] = _figure(group).value
        else:
            found.figures[name] = _figure(group)
    return found


def _figure(group: RunGroup) -> Figure:
    values = [_share(run) for run in group.runs]
    sd = stdev(values) if len(values) > 1 else 0.0
    return Figure(round(fmean(values), _DIGITS), round(sd, _DIGITS), len(values))


def _share(run: RunResult) -> float:
    """Return recall for a target, else wanted pages over fetches allowed.

    The latter is the valid ratio, except that a crawl that ends early does not gain by it.
    """
    if run.task != USER_CONTENT:
        return float(run.metrics["recall"] or 0.0)
    return run.curve[-1] / run.budget if run.curve else 0.0


def _tasks(experiment: Experiment, kinds: Iterable[SitePageType]) -> Iterator[Task]:
    by_type = ByType(kind.name for kind in kinds if kind.user_content)
    yield experiment.task(USER_CONTENT, page_rewards(experiment.site, by_type))
    targets = (experiment.target(kind.name) for kind in kinds if kind.target)
    yield from (task for task in targets if task.wanted)


def _crawl(experiment: Experiment, todo: list[Case], workers: int) -> Iterator[RunResult]:
    return spread(lambda i: experiment.run(todo[i]), range(len(todo)), workers)


def log_of(folder: Path, site: LabelledSite) -> Path | None:
    """Return the browse log of a site, None if the folder has none."""
    path = folder / f"{site.name}{_LOG_ENDING}"
    return path if path.is_file() else None


def measure_log(site: LabelledSite, log: Path, *, workers: int = 0) -> Measured:
    """Return the figures of a site's browse log: each order beside the oracle, in (0, 1]."""
    from linkscore_research.behavior.report import shares_of_oracle  # an annex

    found = shares_of_oracle(log, site.archive, workers=workers)
    return Measured(
        figures={
            f"{site.name}:{task}:{_LOG}:{order.replace(' ', '_')}": Figure(round(share, _DIGITS))
            for task, order, share in found
        }
    )
