"""What a replay leaves: a table with one row a crawl, and the file it is kept in."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from scipy.special import stdtrit

from linkscore_lab.metrics import DEFINITIONS, Metric
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One crawl of a stored site."""

    site: str  # Its name
    task: str  # ``user_content``, ``new_text`` or ``target:TYPE``
    mode: str  # What the policy learned of labels: ``none``, ``examples`` or ``feedback``
    policy: str  # As on the command line: ``NAME`` or ``NAME:param=value,...``
    seed: int  # Of everything random in the run
    start: str  # URL of the first fetch
    budget: int  # Fetches allowed, and made
    fetched: int
    seconds: float  # Wall time of the crawl
    metrics: Mapping[str, Metric]  # Of `linkscore_lab.metrics.run_metrics`
    curve: Sequence[int]  # good(n) for n = 1..`fetched`: wanted pages among the first n fetches
    n_reachable: int  # Reachable pages of the site, and those that are wanted
    n_wanted: int
    order_digest: str  # Of `order_digest`: equal for equal orders of fetches
    links_out_of_archive: int = 0  # Links left out because the archive has no page for them
    cpu_seconds: float = 0.0  # Processor time of the crawl
    n_examples: int = 0  # Examples given, in mode ``examples`` and where a policy cannot do without
    in_flight: int = 1  # Fetches that might be under way at a time
    # Time from the first fetch to the end of the last, in latencies of a median fetch; `fetched` divided by
    # it is how many were under way on average
    took: float = 0.0
    stopped: str = ""  # Why the crawl ended by its budget; empty if it did not


@dataclass(frozen=True, slots=True)
class Input:
    """What a site was read from: SHA-256 of its files in hex, and records that could not be read."""

    sha256: str
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Meta:
    """What all runs of a file share: when they were made (ISO 8601), inputs by site, version."""

    created: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    linkscore: str = field(default_factory=lambda: version("linkscore"))


@dataclass(frozen=True, slots=True)
class Results:
    """A result file."""

    meta: Meta
    runs: Sequence[RunResult]


def order_digest(order: Iterable[str]) -> str:
    """Return the SHA-256 of the identities in fetch order, each ended by a line feed, in hex."""
    digest = hashlib.sha256()
    for key in order:
        digest.update(key.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def write_results(path: Path, runs: Sequence[RunResult], meta: Meta) -> None:
    """Write a result file, one line a run; a file of that name is replaced as a whole."""
    lines = ",\n".join(json.dumps(asdict(run), separators=(",", ":")) for run in runs)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(f'{{"meta":{json.dumps(asdict(meta))},"runs":[\n{lines}\n]}}\n', encoding="utf-8")
    draft.replace(path)


def read_results(path: Path | str) -> Results:
    """Return what `write_results` wrote.

    Raises
    ------
    InvalidInput
        If the file is no result file; the message names file and reason.
    """
    try:
        return msgspec.convert(json.loads(Path(path).read_text(encoding="utf-8")), Results)
    except OSError as exc:
        raise InvalidInput(f"cannot be read: {exc.strerror}").under(str(path)) from exc
    except (ValueError, msgspec.ValidationError, RecursionError) as exc:
        rule = f"must be a file of `linkscore replay --json`, got {exc!r}"
        raise InvalidInput(rule).under(str(path)) from exc


# Intervals are 95 % everywhere: tables, curves and docs say so.
CONFIDENCE = 0.95
SUMMARY_METRICS = ("valid_ratio", "recall", "area_5pct", "text_share")
Question = tuple[str, str, str]
"""Site, task and mode: what policies are compared in."""


class Estimate(NamedTuple):
    """A mean, half the width of its 95 % interval (None for a single observation), and observations."""

    mean: float
    half_width: float | None
    n: int


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean of `values` and t(n - 1) s / sqrt(n), s the sample deviation; None without values."""
    if not values:
        return None
    rows = np.asarray(values, dtype=np.float64)[:, None]
    half = half_width(rows)
    return Estimate(float(rows.mean()), None if half is None else float(half[0]), len(values))


def half_width(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return half the width of the interval of the mean of each column; None for fewer than two rows.

    Shapes: `rows` (n, k), result (k,).
    """
    n = len(rows)
    if n < 2:
        return None
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    half: npt.NDArray[np.float64] = rows.std(axis=0, ddof=1) * (quantile / math.sqrt(n))
    return half


class RunGroup(NamedTuple):
    """The rows of one policy in one question: they differ in seed and start only."""

    question: Question
    policy: str
    runs: list[RunResult]

    @property
    def observations(self) -> list[RunResult]:
        """The runs, each different outcome once."""
        return list({(r.start, r.order_digest, *sorted(r.metrics.items())): r for r in self.runs}.values())

    @property
    def name(self) -> str:
        """The policy, and whether it was given an example page because it cannot do without."""
        takes = self.question[2] != "examples" and any(run.n_examples for run in self.runs)
        return f"{self.policy} (takes an example page)" if takes else self.policy

    def metric(self, name: str) -> Estimate | None:
        """Return the mean of a metric over the observations that have it; None if none has."""
        values = (run.metrics.get(name) for run in self.observations)
        return estimate([value for value in values if value is not None])


def group_runs(runs: Iterable[RunResult]) -> list[RunGroup]:
    """Return the groups in order of appearance."""
    groups: dict[tuple[Question, str], list[RunResult]] = {}
    for run in runs:
        groups.setdefault(((run.site, run.task, run.mode), run.policy), []).append(run)
    return [RunGroup(*key, members) for key, members in groups.items()]


def by_question(runs: Iterable[RunResult]) -> dict[Question, list[RunGroup]]:
    """Return the groups of each question, the best first by harvest rate."""
    questions: dict[Question, list[RunGroup]] = {}
    for group in group_runs(runs):
        questions.setdefault(group.question, []).append(group)
    return {question: best_first(groups, "valid_ratio") for question, groups in questions.items()}


def best_first(groups: Iterable[RunGroup], name: str) -> list[RunGroup]:
    """Return the groups by the mean of a metric where more is better, the best first; without it last."""

    def key(group: RunGroup) -> tuple[bool, float]:
        found = group.metric(name)
        return found is None, -found.mean if found else 0.0

    return sorted(groups, key=key)


def title_of(question: Question, groups: Iterable[RunGroup]) -> str:
    """Return a question in words: ``shop: user_content, with 6 examples``."""
    site, task, mode = question
    counts = {run.n_examples for group in groups for run in group.runs}
    if mode == "examples" and len(counts) == 1 and (n := counts.pop()):
        return f"{site}: {task}, with {n:,} example{'s' if n > 1 else ''}"
    return f"{site}: {task}" if mode == "none" else f"{site}: {task}, with {mode}"


def print_summary(
    console: Console, runs: Iterable[RunResult], names: Sequence[str] = SUMMARY_METRICS
) -> None:
    """Print a table of each question, best first; ± is half the 95 % interval."""
    for question, groups in by_question(runs).items():
        title = escape(title_of(question, groups))
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("policy", overflow="fold", min_width=14)
        table.add_column("runs", justify="right")
        shown = [name for name in names if any(group.metric(name) for group in groups)]
        for name in shown:
            table.add_column(DEFINITIONS[name].label, justify="right", no_wrap=True)
        for group in best_first(groups, shown[0] if shown else ""):
            cells = (show_estimate(group.metric(name), name) for name in shown)
            table.add_row(Text(group.name), str(len(group.runs)), *cells)
        console.print(table)


def show_estimate(found: Estimate | None, name: str) -> str:
    """Return mean and half interval of a metric, e.g. ``0.913 ±0.012``."""
    show = DEFINITIONS[name].show
    if found is None or found.half_width is None:
        return show(found.mean if found else None)
    return f"{show(found.mean)} ±{show(found.half_width)}"
