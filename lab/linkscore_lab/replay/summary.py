"""Means with the interval their runs allow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from scipy.special import stdtrit

from linkscore_lab.metrics import DEFINITIONS, even_points
from linkscore_lab.replay.results import RunResult

# Intervals are 95 % everywhere: tables, curves and docs say so.
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its 95 % confidence interval.

    Attributes
    ----------
    mean
        Of the observations.
    half_width
        Half the width of the interval; None for a single observation, which tells nothing of the spread.
    n
        Observations.
    """

    mean: float
    half_width: float | None
    n: int

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width


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


# A bound on the points of a drawn curve, which keeps the file small. Chosen, not measured.
MAX_POINTS = 200
SUMMARY_METRICS = ("valid_ratio", "recall", "area_5pct", "text_share")
Question = tuple[str, str, str]
_MODES = {"none": "no labels", "examples": "with examples", "feedback": "with feedback"}


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that differ in seed and start only.

    Attributes
    ----------
    site, task, mode, policy
        What they share.
    runs
        All of them.
    """

    site: str
    task: str
    mode: str
    policy: str
    runs: tuple[RunResult, ...]

    @property
    def observations(self) -> tuple[RunResult, ...]:
        """The runs, each different outcome once."""
        return tuple({_outcome(run): run for run in self.runs}.values())

    @property
    def takes_example(self) -> bool:
        """Whether the policy was given an example page because it cannot do without, whatever the mode."""
        return self.mode != "examples" and any(run.n_examples for run in self.runs)

    def metric(self, name: str) -> Estimate | None:
        """Return the mean of a metric over the observations that have it; None if none has."""
        values = (run.metrics.get(name) for run in self.observations)
        return estimate([value for value in values if value is not None])


@dataclass(frozen=True, slots=True)
class Band:
    """The mean harvest curve of a group.

    Attributes
    ----------
    points
        Numbers of fetches.
    mean
        Wanted pages among that many fetches.
    low, high
        95 % interval of the mean, point by point, kept within what is possible; None for one observation.
    """

    points: list[int]
    mean: list[float]
    low: list[float] | None
    high: list[float] | None


def group_runs(runs: Iterable[RunResult]) -> list[RunGroup]:
    """Return the groups in order of appearance."""
    groups: dict[tuple[str, str, str, str], list[RunResult]] = {}
    for run in runs:
        groups.setdefault((run.site, run.task, run.mode, run.policy), []).append(run)
    return [RunGroup(*key, tuple(members)) for key, members in groups.items()]


def mode_in_words(mode: str, groups: Iterable[RunGroup] = ()) -> str:
    """Return what crawls of a mode were given: ``no labels``, ``with 6 examples``, ``with feedback``.

    The number is that of the runs of `groups`, left out where they differ.
    """
    counts = {run.n_examples for group in groups for run in group.runs}
    if mode == "examples" and len(counts) == 1 and (n := counts.pop()):
        return f"with {n:,} example{'s' if n > 1 else ''}"
    return _MODES.get(mode, mode)


def by_question(groups: Iterable[RunGroup]) -> dict[Question, list[RunGroup]]:
    """Return the groups that answer the same question, i.e. differ in policy only: (site, task, mode)."""
    questions: dict[Question, list[RunGroup]] = {}
    for group in groups:
        questions.setdefault((group.site, group.task, group.mode), []).append(group)
    return questions


def curve_band(group: RunGroup, most: int = MAX_POINTS) -> Band:
    """Return the mean curve at no more than `most` points; a run that ended early keeps its last value."""
    curves = [run.curve for run in group.observations]
    points = even_points(max(len(curve) for curve in curves), most)
    rows = np.array([_at(curve, points) for curve in curves], dtype=np.float64).reshape(len(curves), -1)
    mean, half = rows.mean(axis=0), half_width(rows)
    if half is None:
        return Band(points, mean.tolist(), None, None)
    possible = np.minimum(points, max(run.n_wanted for run in group.runs))
    low, high = np.clip(mean - half, 0, None), np.minimum(mean + half, possible)
    return Band(points, mean.tolist(), low.tolist(), high.tolist())


def print_summary(
    console: Console, runs: Iterable[RunResult], names: Sequence[str] = SUMMARY_METRICS
) -> None:
    """Print a table of each site, task and mode: mean and interval of each metric that any policy has."""
    for (site, task, mode), groups in by_question(group_runs(runs)).items():
        console.print(summary_table(groups, escape(f"{site}: {task}, {mode_in_words(mode, groups)}"), names))


def summary_table(groups: Sequence[RunGroup], title: str, names: Sequence[str]) -> Table:
    """Return the table of one question, best first by the first metric; ± is half the 95 % interval."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("policy", overflow="fold", min_width=14)
    table.add_column("runs", justify="right")
    shown = [name for name in names if any(group.metric(name) for group in groups)]
    for name in shown:
        table.add_column(DEFINITIONS[name].label, justify="right", no_wrap=True)
    for group in best_first(groups, shown[0] if shown else ""):
        cells = (show_estimate(group.metric(name), name) for name in shown)
        given = " (takes an example page)" if group.takes_example else ""
        table.add_row(Text(f"{group.policy}{given}"), str(len(group.runs)), *cells)
    return table


def best_first(groups: Iterable[RunGroup], name: str) -> list[RunGroup]:
    """Return the groups by the mean of a metric, the best first; those without it last."""
    sign = -1 if name in DEFINITIONS and DEFINITIONS[name].better < 0 else 1

    def key(group: RunGroup) -> tuple[bool, float]:
        found = group.metric(name)
        return found is None, -sign * found.mean if found else 0.0

    return sorted(groups, key=key)


def show_estimate(found: Estimate | None, name: str) -> str:
    """Return mean and half interval of a metric, e.g. ``0.913 ±0.012``."""
    definition = DEFINITIONS[name]
    if found is None or found.half_width is None:
        return definition.show(found.mean if found else None)
    return f"{definition.show(found.mean)} ±{definition.show(found.half_width)}"


def _at(curve: Sequence[int], points: Sequence[int]) -> npt.NDArray[np.float64]:
    values = np.asarray(curve or [0], dtype=np.float64)
    found: npt.NDArray[np.float64] = values[np.minimum(np.asarray(points, dtype=np.intp), len(values)) - 1]
    return found


def _outcome(run: RunResult) -> tuple[object, ...]:
    return run.start, run.order_digest, tuple(sorted(run.metrics.items()))
