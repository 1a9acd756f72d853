"""Which runs of two result files belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.results import Results, RunResult, read_results
from linkscore_lab.replay.summary import Estimate, estimate
from linkscore_scoring.errors import InvalidInput

PAIRINGS = {"seed": ("start", "seed"), "start": ("start",), "site": ()}


class GainSubject(NamedTuple):
    """What a gain is about; `policy` is ``A -> B`` where two policies were set against each other."""

    site: str
    task: str
    mode: str
    policy: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Runs that belong together: one on either side, or those over which a mean is taken."""

    subject: GainSubject
    first: tuple[RunResult, ...]
    second: tuple[RunResult, ...]


@dataclass(frozen=True, slots=True)
class RunPairs:
    """All pairs of two files, and how many runs of each kind found no partner."""

    pairs: tuple[Pair, ...]
    unmatched_first: Counter[str]
    unmatched_second: Counter[str]


_Key = tuple[GainSubject, tuple[str | int, ...]]
_Sorted = dict[_Key, list[RunResult]]


def pair_runs(
    first: Iterable[RunResult],
    second: Iterable[RunResult],
    *,
    policy_first: str = "",
    policy_second: str = "",
    pair: str = "seed",
) -> RunPairs:
    """Return the pairs of equal site, task, mode, policy, budget and whatever `PAIRINGS` says of `pair`.

    With `policy_first` and `policy_second`, runs of the one are paired with runs of the other.
    """
    name = f"{policy_first} -> {policy_second}" if policy_first else ""
    left = _sorted(first, policy_first, name, PAIRINGS[pair])
    right = _sorted(second, policy_second, name, PAIRINGS[pair])
    pairs = tuple(Pair(key[0], tuple(left[key]), tuple(right[key])) for key in left if key in right)
    return RunPairs(pairs, _unmatched(left, right), _unmatched(right, left))


def _sorted(runs: Iterable[RunResult], policy: str, name: str, shared: Sequence[str]) -> _Sorted:
    found: _Sorted = {}
    for run in runs:
        if not policy or run.policy == policy:
            subject = GainSubject(run.site, run.task, run.mode, name or run.policy)
            key = subject, (run.budget, *(getattr(run, field) for field in shared))
            found.setdefault(key, []).append(run)
    return found


def _unmatched(runs: _Sorted, others: _Sorted) -> Counter[str]:
    return Counter(
        f"{run.site}, {run.task}, {run.mode}, {run.policy}, budget {run.budget:,}"
        for key, members in runs.items()
        if key not in others
        for run in members
    )


DEFAULT_METRICS = ("valid_ratio", "recall", "area_5pct")


@dataclass(frozen=True, slots=True)
class Gain:
    """What the second file gained over the first in one metric.

    Attributes
    ----------
    subject
        The group.
    metric
        Name of the metric.
    first, second
        Mean of either side over the pairs.
    gain
        Mean of the differences second - first, its interval and the number of pairs.
    """

    subject: GainSubject
    metric: str
    first: float
    second: float
    gain: Estimate

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``different`` if the interval leaves 0 out, else why not."""
        mean, half = self.gain.mean, self.gain.half_width
        if mean == 0 and not half:
            return "equal"
        if half is None:
            return "one pair"
        if abs(mean) <= half:
            return "noise"
        side = DEFINITIONS[self.metric].better * mean
        return "better" if side > 0 else "worse" if side < 0 else "different"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two result files set against each other.

    Attributes
    ----------
    pairs
        What was paired and what was not.
    gains
        Of each metric, for each group with a value on both sides.
    overall
        Of each metric, mode and policy with several groups: over the groups.
    other_inputs
        Sites whose archives differ between the files.
    """

    pairs: RunPairs
    gains: tuple[Gain, ...]
    overall: tuple[Gain, ...]
    other_inputs: tuple[str, ...]


def compare(
    first: Results,
    second: Results,
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    policy_first: str = "",
    policy_second: str = "",
    pair: str = "seed",
) -> Comparison:
    """Return what `second` gained over `first`.

    Parameters
    ----------
    first, second
        What `read_results` gave.
    metrics
        Names of metrics.
    policy_first, policy_second
        Set this policy of the first file against that one of the second; empty: every policy against itself.
    pair
        What runs of a pair share besides site, task, mode and budget: ``seed`` (and start), ``start`` (the
        mean over seeds is compared), or ``site`` (the mean over seeds and starts).

    Raises
    ------
    InvalidInput
        If a metric or `pair` is unknown, only one of the policies is given, or no run finds a partner.
    """
    _check(metrics, policy_first, policy_second, pair)
    pairs = pair_runs(
        first.runs, second.runs, policy_first=policy_first, policy_second=policy_second, pair=pair
    )
    if not pairs.pairs:
        raise InvalidInput(_nothing_in_common(first, second), field="policy-a")
    gains = tuple(gain for metric in metrics for gain in _gains(pairs.pairs, metric))
    return Comparison(pairs, gains, tuple(_overall(gains)), _other_inputs(first, second))


def _check(metrics: Sequence[str], policy_first: str, policy_second: str, pair: str) -> None:
    unknown = ", ".join(name for name in metrics if name not in DEFINITIONS)
    if unknown:
        raise InvalidInput(f"must be one of {', '.join(DEFINITIONS)}, got {unknown}", field="metric")
    if pair not in PAIRINGS:
        raise InvalidInput(f"must be one of {', '.join(PAIRINGS)}, got {pair!r}", field="pair")
    if bool(policy_first) != bool(policy_second):
        missing = "policy-b" if policy_first else "policy-a"
        raise InvalidInput("is needed too: a policy of each file", field=missing)


def _gains(pairs: Iterable[Pair], metric: str) -> Iterable[Gain]:
    """Yield the gain of each group in one metric; groups without a value on both sides have none."""
    groups: dict[GainSubject, dict[object, tuple[float, float]]] = {}
    for pair in pairs:
        a, b = _mean(pair.first, metric), _mean(pair.second, metric)
        if a is not None and b is not None:
            groups.setdefault(pair.subject, {})[_crawls(pair), a, b] = (a, b)
    for subject, values in groups.items():
        yield _gain(subject, metric, list(values.values()))


def _gain(subject: GainSubject, metric: str, values: Sequence[tuple[float, float]]) -> Gain:
    first, second = (sum(side) / len(values) for side in zip(*values, strict=True))
    gain = estimate([b - a for a, b in values])
    assert gain is not None
    return Gain(subject, metric, first, second, gain)


def _overall(gains: Iterable[Gain]) -> Iterable[Gain]:
    groups: dict[tuple[str, str, str], list[Gain]] = {}
    for gain in gains:
        groups.setdefault((gain.metric, gain.subject.mode, gain.subject.policy), []).append(gain)
    for (metric, mode, policy), members in groups.items():
        if len(members) > 1:
            values = [(member.first, member.second) for member in members]
            yield _gain(GainSubject("all", f"{len(members)} groups", mode, policy), metric, values)


def _mean(runs: Sequence[RunResult], metric: str) -> float | None:
    values = [value for run in runs if (value := run.metrics.get(metric)) is not None]
    return sum(values) / len(values) if values else None


def _crawls(pair: Pair) -> object:
    """Equal for pairs that repeat each other: a policy without randomness does so, whatever its seed."""
    return tuple(
        frozenset((run.start, run.order_digest) for run in side) for side in (pair.first, pair.second)
    )


def _nothing_in_common(first: Results, second: Results) -> str:
    names = [", ".join(sorted({run.policy for run in side.runs})) or "none" for side in (first, second)]
    return (
        f"no run of one file has a partner in the other; policies of the first are {names[0]}, "
        f"of the second {names[1]}: name one of each with --policy-a and --policy-b, or pair less strictly"
    )


def _other_inputs(first: Results, second: Results) -> tuple[str, ...]:
    a, b = first.meta.inputs, second.meta.inputs
    return tuple(site for site in a if site in b and a[site].sha256 != b[site].sha256)


_STYLES = {"better": "bold green", "worse": "bold red", "different": "bold"}


def compare_files(
    first: Path,
    second: Path,
    metrics: Sequence[str] = (),
    *,
    policy_first: str = "",
    policy_second: str = "",
    pair: str = "seed",
    console: Console | None = None,
) -> Comparison:
    """Compare two result files and print what was found; no `metrics` are `DEFAULT_METRICS`.

    Raises
    ------
    InvalidInput
        If a file is no result file, or as `compare` does.
    """
    found = compare(
        read_results(first),
        read_results(second),
        tuple(metrics) or DEFAULT_METRICS,
        policy_first=policy_first,
        policy_second=policy_second,
        pair=pair,
    )
    print_comparison(console or Console(), found, str(first), str(second))
    return found


def print_comparison(console: Console, found: Comparison, first: str, second: str) -> None:
    """Print a table of each metric, the totals last, then what has no partner.

    Parameters
    ----------
    first, second
        What to call the files.
    """
    console.print(Text(f"a = {first}\nb = {second}"), soft_wrap=True)
    for metric in dict.fromkeys(gain.metric for gain in found.gains):
        rows = [gain for gain in found.gains if gain.metric == metric]
        console.print(_table(rows, [gain for gain in found.overall if gain.metric == metric]))
    for site in found.other_inputs:
        console.print(Text(f"{site}: the archives differ between the files", "yellow"), soft_wrap=True)
    _print_unmatched(console, "a", found.pairs.unmatched_first)
    _print_unmatched(console, "b", found.pairs.unmatched_second)


def _table(rows: Sequence[Gain], totals: Sequence[Gain]) -> Table:
    title = DEFINITIONS[rows[0].metric].label
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("site and task", "policy"):
        table.add_column(heading, overflow="fold", min_width=14)
    for heading in ("pairs", "a", "b", "gain ±95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=9)
    for gain in rows:
        table.add_row(*_cells(gain))
    if totals:
        table.add_section()
    for gain in totals:
        table.add_row(*_cells(gain))
    return table


def _cells(gain: Gain) -> list[Text]:
    show, subject = DEFINITIONS[gain.metric].show, gain.subject
    mode = "" if subject.mode == "none" else f" ({subject.mode})"
    cells = [
        f"{subject.site} {subject.task}",
        f"{subject.policy}{mode}",
        f"{gain.gain.n:,}",
        show(gain.first),
        show(gain.second),
        _show_gain(gain),
    ]
    return [*map(Text, cells), Text(gain.verdict, _STYLES.get(gain.verdict, "dim"))]


def _show_gain(gain: Gain) -> str:
    form = ",.1f" if DEFINITIONS[gain.metric].count else ".3f"
    half = "" if gain.gain.half_width is None else f" ±{gain.gain.half_width:{form}}"
    return f"{gain.gain.mean:+{form}}{half}"


def _print_unmatched(console: Console, side: str, unmatched: Counter[str]) -> None:
    if not unmatched:
        return
    console.print(Text(f"{unmatched.total():,} runs of {side} have no partner:", "yellow"))
    for name, n in unmatched.items():
        console.print(Text(f"  {n} x {name}"), soft_wrap=True)
