"""A comparison carried out: a site prepared, its crawls spread over all cores; and shown on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from linkscore_cli.crawls import budget_of
from linkscore_lab.archives import told
from linkscore_lab.commands import split
from linkscore_lab.datasets.site import ByType, Relevance, choose_relevance
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.prepare import SiteSource, StoredSite, cores, prepare_site, spread
from linkscore_lab.replay.results import Input, Meta, RunResult, print_summary, write_results
from linkscore_lab.replay.runs import (
    EXAMPLES,
    FEEDBACK,
    MODES,
    NEW_TEXT,
    NONE,
    USER_CONTENT,
    Case,
    Experiment,
    MakeScorer,
    PolicyText,
    ReplayProtocol,
    Task,
    cases,
    draw_starts,
    new_text_rewards,
    page_rewards,
    read_policy,
    reads_layout,
)
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_scoring.site.texts import HALF_CHARS

_DEFAULT_POLICIES = ("breadth_first", "harvest")
_BY_TEXT = (
    f"Target pages here are those with at least {HALF_CHARS:.0f} characters of text of their own. "
    "Say what you crawl for: --relevant-url PATTERN, or --labels with --relevant."
)


def session_of(options: Mapping[str, Any]) -> ReplaySession:
    """Return the comparison that options describe."""
    asked = {EXAMPLES: options["examples"] is not None, FEEDBACK: options["feedback"]}
    return ReplaySession(
        SiteSource(list(options["archives"]), options["labels"]),
        [read_policy(text) for text in options["policies"] or _DEFAULT_POLICIES],
        choose_relevance(split(options["relevant"]), options["relevant_url"]),
        options["targets"],
        tuple(mode for mode in asked if asked[mode]) or (NONE,),
        protocol=_protocol(options),
        seeds=options["seeds"],
        starts=options["starts"],
    )


def _protocol(options: Mapping[str, Any]) -> ReplayProtocol:
    names = {f.name for f in fields(ReplayProtocol)}
    given = {k: v for k, v in options.items() if k in names and v not in (None, False, "", ())}
    if options["examples"] is not None:
        given["n_examples"] = options["examples"]
    if (bounds := budget_of(options["bounds"], "--bound")) is not None:
        given["limits"] = {"budget": {field.name: value for field, value in bounds.ListFields()}}
    if options["warm_start"]:
        given["experience"] = tuple(path.read_bytes() for path in options["warm_start"])
    return ReplayProtocol(**given)


def run_replay(
    session: ReplaySession,
    *,
    report: Path | None = None,
    json_out: Path | None = None,
    workers: int = 0,
    browse_logs: Sequence[Path] = (),
    console: Console | None = None,
) -> list[RunResult]:
    """Carry out a comparison, print its table, write the files asked for, and return the runs.

    Browse logs of the site are mined for every crawl before its first page.
    """
    console = console or Console()
    session.make_scorer, session.workers = _make_scorer(browse_logs), workers
    with progress_on(console) as session.progress:
        runs = list(session.run())
    print_summary(console, runs)
    for run in runs:
        if run.stopped:
            where = f"{run.site}, {run.policy}, seed {run.seed}"
            console.print(f"stopped: {where}: after {run.fetched:,} fetches, {run.stopped}", soft_wrap=True)
    if any(run.task == NEW_TEXT for run in runs):
        console.print(_BY_TEXT, soft_wrap=True)
    write_files(console, runs, session.inputs, json_out, report)
    return runs


def write_files(
    console: Console,
    runs: Sequence[RunResult],
    inputs: Mapping[str, Input],
    json_out: Path | None,
    report: Path | None,
) -> None:
    """Write the files asked for, and say where they are."""
    meta = Meta(created=datetime.now(UTC).isoformat(timespec="seconds"), inputs=inputs)
    if json_out is not None:
        write_results(json_out, runs, meta)
        console.print(f"results: {json_out}", soft_wrap=True)
    if report is not None:
        from linkscore_lab.report import write_report  # which reads this package

        write_report(report, runs, meta)
        console.print(f"report: {report}", soft_wrap=True)


def _make_scorer(browse_logs: Sequence[Path]) -> MakeScorer:
    if not browse_logs:
        return InProcessScorer
    from linkscore_lab.replay.browse_log import read_counts  # duckdb only when there is a log

    return partial(InProcessScorer, logs=list(map(read_counts, browse_logs)))


class Progress:
    """Who watches a session; this one is not interested."""

    def said(self, line: str) -> None:
        """Hear of a site that is ready, or of something that cannot be run."""

    def at(self, what: str, done: int, total: int | None) -> None:
        """Hear how far something is: records read (of nobody knows how many), or crawls made."""


class ConsoleProgress(Progress):
    """Shows a session on a terminal: a bar with the time left, a line for each site."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def said(self, line: str) -> None:
        self._bar.console.print(line, soft_wrap=True)

    def at(self, what: str, done: int, total: int | None) -> None:
        if [task.description for task in self._bar.tasks] != [what]:
            for task in self._bar.tasks:
                self._bar.remove_task(task.id)
            self._bar.add_task(what, total=total)
        self._bar.update(self._bar.task_ids[0], completed=done, refresh=True)


@contextmanager
def progress_on(console: Console) -> Iterator[Progress]:
    """Show on a terminal how far something is."""
    # No thread of its own: the process forks while the bar is up.
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        transient=True,
    ) as bar:
        yield ConsoleProgress(bar)


@dataclass(slots=True)
class ReplaySession:
    """One comparison; InvalidInput if it cannot be run."""

    source: SiteSource  # Archives and labels
    policies: Sequence[PolicyText]  # What orders the crawls
    # What is relevant in task ``user_content``; None leaves that task out. Without targets too, pages with
    # text of their own are wanted, in task ``new_text``
    relevance: Relevance | None = None
    targets: Sequence[str] = ()  # Page types that are a task of their own
    modes: Sequence[str] = (NONE,)  # What crawls learn of labels: ``none``, ``examples`` or ``feedback``
    protocol: ReplayProtocol = field(default_factory=ReplayProtocol)  # How crawls are carried out and charged
    seeds: int = 1  # Repetitions with seeds 1..n, and start pages: the entry and n - 1 drawn at random
    starts: int = 1
    progress: Progress = field(default_factory=Progress)  # Who watches
    make_scorer: MakeScorer = InProcessScorer  # The library in process, or a server
    workers: int = 0  # Processes; 0 means one a core
    inputs: dict[str, Input] = field(default_factory=dict)  # What was read of the site, filled while it runs

    def __post_init__(self) -> None:
        p = self.protocol
        least = {"seeds": self.seeds, "starts": self.starts, "every": p.every, "in_flight": p.in_flight}
        bad = {name: f"must be at least 1, got {value}" for name, value in least.items() if value < 1}
        if p.delay < 0:
            bad["delay"] = f"must be >= 0, got {p.delay}"
        if other := [mode for mode in self.modes if mode not in MODES]:
            bad["modes"] = f"must be among {', '.join(MODES)}, got {', '.join(other)}"
        if (isinstance(self.relevance, ByType) or self.targets) and self.source.labels is None:
            bad["labels"] = "is needed where pages are wanted by type"
        problems = [FieldProblem(*each) for each in bad.items()]
        problems += p.in_words.problems("wanted") if p.in_words is not None else []
        if problems:
            raise InvalidInput(problems)

    def run(self) -> Iterator[RunResult]:
        """Yield the result of each crawl."""
        name = self.source.archives[0].name
        with prepare_site(
            [self.source],
            workers=self.workers,
            seen_page=lambda n: self.progress.at(f"reading {name}", n, None),
            layout=any(map(reads_layout, self.policies)),
            words=self.protocol.in_words is not None,
        ) as site:
            self.inputs[site.name] = Input(site.digest, len(site.damage))
            experiment = Experiment(site, self.protocol, self.make_scorer)
            tasks = tasks_of(experiment, self.relevance, self.targets, self.progress)
            self.progress.said(_opened(site, len(experiment.pages), tasks))
            yield from self._run_cases(experiment, self._cases(experiment, tasks))

    def _cases(self, experiment: Experiment, tasks: Sequence[Task]) -> list[Case]:
        drawn = self.starts > 1
        starts = draw_starts(experiment.site, experiment.pages, self.starts) if drawn else [""]
        seeds = range(1, self.seeds + 1)
        every = list(cases(tasks, list(dict.fromkeys(self.modes)), self.policies, seeds, starts))
        kept = [case for case in every if experiment.applies(case)]
        if not kept:
            rule = "every policy asked for needs an example page: use mode examples or a target type"
            raise InvalidInput(rule, field="policy")
        for policy, task, mode in dict.fromkeys(
            (c.policy.text, c.task.name, c.mode) for c in every if not experiment.applies(c)
        ):
            why = f"{policy}, {task}, {mode}: needs an example page"
            self.progress.said(f"{experiment.site.name}: left out: {why}")
        return kept

    def _run_cases(self, experiment: Experiment, todo: Sequence[Case]) -> Iterator[RunResult]:
        what, workers = f"replaying {experiment.site.name}", min(len(todo), self.workers or cores())
        self.progress.at(what, 0, len(todo))
        for done, result in enumerate(
            spread(lambda i: experiment.run(todo[i]), range(len(todo)), workers), 1
        ):
            self.progress.at(what, done, len(todo))
            yield result


def tasks_of(
    experiment: Experiment, relevance: Relevance | None, targets: Sequence[str], progress: Progress
) -> list[Task]:
    """Return what a site is crawled for: its relevant pages, or those with text, and each target type."""
    site = experiment.site
    tasks = []
    if relevance:
        tasks.append(experiment.task(USER_CONTENT, page_rewards(site, relevance)))
        if not tasks[0].wanted:
            raise InvalidInput(f"{site.name}: no page is what --relevant or --relevant-url asks for")
    elif not targets:  # nobody said what is relevant
        tasks.append(experiment.task(NEW_TEXT, new_text_rewards(site)))
        if not tasks[0].wanted:
            rule = f"{site.name}: no reachable page has much text of its own; say what is relevant"
            raise InvalidInput(rule, field="relevant")
    for target in dict.fromkeys(targets):
        task = experiment.target(target)
        if task.wanted:
            tasks.append(task)
        else:
            progress.said(f"{site.name}: left out: no page of type {target} can be reached")
    return tasks


def _opened(site: StoredSite, n_reachable: int, tasks: Sequence[Task]) -> str:
    wanted = ", ".join(f"{task.name} {len(task.wanted):,}" for task in tasks)
    records = f"{len(site.records):,} records{told(site.damage)}"
    return f"{site.name}: {n_reachable:,} reachable of {records}; {wanted}"


def run(
    archives: Sequence[Path],
    policies: Sequence[str] = ("breadth_first", "harvest"),
    *,
    relevance: Relevance | None = None,
    targets: Sequence[str] = (),
    labels: Path | None = None,
    modes: Sequence[str] = (NONE,),
    seeds: int = 1,
    starts: int = 1,
    workers: int = 1,
    progress: Progress | None = None,
    **protocol: Any,
) -> list[RunResult]:
    """Crawl a stored site again under each policy and return what came of it, one row a crawl.

    What `linkscore replay` does without files and tables. Deterministic, but for the seconds spent.

    Parameters
    ----------
    archives
        WARC files or WACZ packages read as one site.
    policies
        Each ``NAME`` or ``NAME:param=value,...``; ``oracle_greedy`` is a bound.
    relevance
        Which pages are wanted: `ByType` or `ByUrl` of `linkscore_lab.datasets.site`. None: only `targets` are
        tasks; without those too, pages with text of their own are wanted.
    targets
        Page types that are a task each, with a budget of as many fetches as there are such pages.
    labels
        TSV of ``url`` and ``page_type``; needed by `ByType` and `targets`.
    modes
        What crawls learn of labels: ``none``, ``examples``, ``feedback``, or several of them.
    seeds, starts
        Repetitions with seeds 1..n, and start pages: the entry and n - 1 drawn at random.
    workers
        Processes; 0 means one a core.
    progress
        Hears how far it is; None: nobody.
    protocol
        Fields of `ReplayProtocol`: ``budget="25%"``, ``n_examples=3``, ``in_flight=16`` ...

    Raises
    ------
    InvalidInput
        If an input cannot be read or a value is out of range; the message names the field.

    Examples
    --------
    A shop of twenty items, four on each list page, stored as a WARC file. Items are wanted; breadth-first
    reads the many pages about the shop first.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from linkscore_lab import replay
    >>> from linkscore_lab.archives import write_warc
    >>> from linkscore_lab.datasets.site import ByUrl
    >>> def page(links, text=""):
    ...     return f"<p>{text}</p>" + "".join(f'<a href="{link}">{link}</a>' for link in links)
    >>> home, lists = "http://shop.test/", range(5)
    >>> site = {home: page([f"/about/{n}" for n in range(9)] + [f"/list/{n}" for n in lists])}
    >>> site |= {f"{home}about/{n}": page(["/"], "about us") for n in range(9)}
    >>> site |= {f"{home}list/{n}": page([f"/item/{n}{i}" for i in range(4)]) for n in lists}
    >>> site |= {f"{home}item/{n}{i}": page(["/"], f"item {n}{i}, " * 20) for n in lists for i in range(4)}
    >>> policies = ["breadth_first", "oracle_greedy"]
    >>> with TemporaryDirectory() as folder:
    ...     warc = write_warc(Path(folder) / "shop.warc.gz", site)
    ...     rows = replay.run([warc], policies, relevance=ByUrl("/item/"), budget="20")
    >>> [(row.policy, row.fetched, row.curve[-1], row.metrics["valid_ratio"]) for row in rows]
    [('breadth_first', 20, 5, 0.25), ('oracle_greedy', 20, 15, 0.75)]
    """
    session = ReplaySession(
        SiteSource(list(archives), labels),
        [read_policy(text) for text in policies],
        relevance,
        targets,
        modes,
        ReplayProtocol(**protocol),
        seeds,
        starts,
        progress or Progress(),
        workers=workers,
    )
    return list(session.run())
