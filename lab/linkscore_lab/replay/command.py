"""The `linkscore replay` command: its options, progress on a terminal, tables and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from linkscore_cli.policies import budget_of
from linkscore_lab.datasets.relevance import choose_relevance
from linkscore_lab.replay.in_process import InProcessScorer
from linkscore_lab.replay.prepare import SiteSource
from linkscore_lab.replay.results import Input, Meta, RunResult, print_summary, write_results
from linkscore_lab.replay.runs import (
    EXAMPLES,
    FEEDBACK,
    NEW_TEXT,
    NONE,
    MakeScorer,
    ReplayProtocol,
    read_policy,
)
from linkscore_lab.replay.session import Progress, ReplaySession
from linkscore_lab.report import write_report
from linkscore_scoring.site.texts import HALF_CHARS

_DEFAULT_POLICIES = ("breadth_first", "harvest")
_BY_TEXT = (
    f"Target pages here are those with at least {HALF_CHARS:.0f} characters of text of their own. "
    "Say what you crawl for: --relevant-url PATTERN, --labels with --relevant, --structured-data or "
    "--feedback-file."
)


def session_of(options: Mapping[str, Any]) -> ReplaySession:
    """Return the comparison that options describe."""
    ways = {
        "types": _split(options["relevant"]),
        "url": options["relevant_url"],
        "structured_data": _split(options["structured_data"]),
        "feedback": options["feedback_file"],
        "tag": options["wanted_tag"],
    }
    return ReplaySession(
        SiteSource(list(options["archives"]), options["labels"]),
        [read_policy(text) for text in options["policies"] or _DEFAULT_POLICIES],
        choose_relevance(**ways) if any(ways.values()) else None,
        options["targets"],
        _modes(options),
        protocol=_protocol(options),
        seeds=options["seeds"],
        starts=options["starts"],
    )


def _modes(options: Mapping[str, Any]) -> tuple[str, ...]:
    asked = {EXAMPLES: options["examples"] is not None, FEEDBACK: options["feedback"]}
    return tuple(mode for mode in asked if asked[mode]) or (NONE,)


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


def _split(text: str) -> Sequence[str]:
    return [part for part in (p.strip() for p in text.split(",")) if part]


def run_replay(
    session: ReplaySession,
    *,
    report: Path | None = None,
    json_out: Path | None = None,
    workers: int = 0,
    browse_logs: Sequence[Path] = (),
    browse_days: int = 0,
    console: Console | None = None,
) -> list[RunResult]:
    """Carry out a comparison, print its table, write the files asked for, and return the runs.

    Browse logs of the site, their first days or all, are mined for every crawl before its first page.
    """
    console = console or Console()
    session.make_scorer, session.workers = _make_scorer(browse_logs, browse_days), workers
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
        write_report(report, runs, meta)
        console.print(f"report: {report}", soft_wrap=True)


def _make_scorer(browse_logs: Sequence[Path], days: int) -> MakeScorer:
    if not browse_logs:
        return InProcessScorer
    from linkscore_lab.replay.browse_log import (
        read_counts,  # duckdb only when there is a log
    )

    whole = [read_counts(log) for log in browse_logs]
    logs = [
        read_counts(log, first_day=counts.first_day, n_days=days) if days else counts
        for log, counts in zip(browse_logs, whole, strict=True)
    ]
    return partial(InProcessScorer, logs=logs)


class ConsoleProgress(Progress):
    """Shows a session on a terminal: a bar with rate and time left, a line for each site."""

    def __init__(self, console: Console, bar: Bar) -> None:
        self._console, self._bar = console, bar

    def said(self, line: str) -> None:
        self._end()
        self._console.print(line, soft_wrap=True)

    def at(self, what: str, done: int, total: int | None) -> None:
        if not self._bar.tasks or self._bar.tasks[-1].description != what:
            self._end()
            self._bar.add_task(what, total=total, rate="")
        task = self._bar.tasks[-1]
        speed = f"{task.speed:,.0f} a second" if task.speed else ""
        self._bar.update(task.id, completed=done, rate=speed)
        self._bar.refresh()
        if done == total:
            self._end()

    def _end(self) -> None:
        for task in self._bar.tasks:
            self._bar.remove_task(task.id)


@contextmanager
def progress_on(console: Console) -> Iterator[Progress]:
    """Show on a terminal how far something is."""
    # No thread of its own: the process forks while the bar is up.
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        auto_refresh=False,
        transient=True,
    ) as bar:
        yield ConsoleProgress(console, bar)
