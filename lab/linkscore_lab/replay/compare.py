"""`linkscore compare`: what one result file gained over another, paired run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.results import Estimate, Results, RunResult, estimate, read_results
from linkscore_scoring.errors import InvalidInput

DEFAULT_METRICS = ("valid_ratio", "recall", "area_5pct")
_STYLES = {"better": "bold green", "worse": "bold red", "different": "bold"}
_Subject = tuple[str, str, str, str]
_Paired = dict[tuple[_Subject, tuple[str | int, ...]], RunResult]
"""Runs by site, task, mode and policy, and by budget, start and seed."""


class Gain(NamedTuple):
    """What the second file gained in one metric: means of both, and mean and interval of the differences.

    `policy` is ``A -> B`` where two were set against each other; the total over several groups is of ``all``.
    """

    site: str
    task: str
    mode: str
    policy: str
    metric: str
    first: float
    second: float
    gain: Estimate

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``different`` if the interval leaves 0 out, else why not."""
        mean, half, _ = self.gain
        if mean == 0 and not half:
            return "equal"
        if half is None:
            return "one pair"
        if abs(mean) <= half:
            return "noise"
        side = DEFINITIONS[self.metric].better * mean
        return "better" if side > 0 else "worse" if side < 0 else "different"


class Comparison(NamedTuple):
    """Gains of each metric and group, then totals; runs of either file without a partner by what they are;
    sites whose archives differ.
    """

    gains: Sequence[Gain]
    overall: Sequence[Gain]
    unmatched: tuple[Mapping[str, int], Mapping[str, int]]
    other_inputs: Sequence[str]


def compare(
    first: Results,
    second: Results,
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    policy_first: str = "",
    policy_second: str = "",
) -> Comparison:
    """Return what `second` gained over `first`."""
    if unknown := ", ".join(name for name in metrics if name not in DEFINITIONS):
        raise InvalidInput(f"must be one of {', '.join(DEFINITIONS)}, got {unknown}", field="metric")
    if bool(policy_first) != bool(policy_second):
        missing = "policy-b" if policy_first else "policy-a"
        raise InvalidInput("is needed too: a policy of each file", field=missing)
    name = f"{policy_first} -> {policy_second}" if policy_first else ""
    left, right = (
        _sorted(side.runs, policy, name) for side, policy in ((first, policy_first), (second, policy_second))
    )
    for side, found, option in ((first, left, "policy-a"), (second, right, "policy-b")):
        if not found:
            have = ", ".join(sorted({run.policy for run in side.runs})) or "none"
            raise InvalidInput(f"must be a policy of its file ({have})", field=option)
    if not left.keys() & right.keys():
        raise InvalidInput(_nothing_in_common(left, right))
    gains = [gain for metric in metrics for gain in _gains(left, right, metric)]
    a, b = first.meta.inputs, second.meta.inputs
    others = [site for site in a if site in b and a[site].sha256 != b[site].sha256]
    return Comparison(gains, list(_overall(gains)), (_alone(left, right), _alone(right, left)), others)


def _sorted(runs: Iterable[RunResult], policy: str, name: str) -> _Paired:
    return {
        ((run.site, run.task, run.mode, name or run.policy), (run.budget, run.start, run.seed)): run
        for run in runs
        if not policy or run.policy == policy
    }


def _alone(runs: _Paired, others: _Paired) -> Counter[str]:
    return Counter(
        f"{run.site}, {run.task}, {run.mode}, {run.policy}, budget {run.budget:,}"
        for key, run in runs.items()
        if key not in others
    )


def _gains(left: _Paired, right: _Paired, metric: str) -> Iterable[Gain]:
    """Yield the gain of each group in one metric; groups without a value on both sides have none."""
    groups: dict[_Subject, dict[object, tuple[float, float]]] = {}
    for key in (key for key in left if key in right):
        sides = left[key], right[key]
        a, b = (side.metrics.get(metric) for side in sides)
        if a is not None and b is not None:
            # Equal for pairs that repeat each other: a policy without randomness does so, whatever its seed.
            crawls = tuple((run.start, run.order_digest) for run in sides)
            groups.setdefault(key[0], {})[crawls, a, b] = (a, b)
    for subject, values in groups.items():
        yield _gain(subject, metric, list(values.values()))


def _gain(subject: _Subject, metric: str, values: Sequence[tuple[float, float]]) -> Gain:
    first, second = (sum(side) / len(values) for side in zip(*values, strict=True))
    gain = estimate([b - a for a, b in values])
    assert gain is not None
    return Gain(*subject, metric, first, second, gain)


def _overall(gains: Iterable[Gain]) -> Iterable[Gain]:
    groups: dict[tuple[str, str, str], list[Gain]] = {}
    for gain in gains:
        groups.setdefault((gain.metric, gain.mode, gain.policy), []).append(gain)
    for (metric, mode, policy), members in groups.items():
        if len(members) > 1:
            values = [(member.first, member.second) for member in members]
            yield _gain(("all", f"{len(members)} groups", mode, policy), metric, values)


def _nothing_in_common(left: _Paired, right: _Paired) -> str:
    """Say in what the runs of two files differ so that none has a partner."""
    said = "no run of one file has a partner in the other"
    names = ("site", "task", "mode", "policy", "budget", "start", "seed")
    for at, name in enumerate(names):
        first, second = ({str((*subject, *rest)[at]) for subject, rest in side} for side in (left, right))
        if not first & second:
            got = (", ".join(sorted(values)) for values in (first, second))
            remedy = "; name one of each with --policy-a and --policy-b" if name == "policy" else ""
            return f"{said}: {name} is {' in the first, '.join(got)} in the second{remedy}"
    return f"{said} with all of {', '.join(names)}"


def compare_files(
    first: Path,
    second: Path,
    metrics: Sequence[str] = (),
    *,
    policy_first: str = "",
    policy_second: str = "",
    console: Console | None = None,
) -> Comparison:
    """Compare two result files and print what was found; no `metrics` are `DEFAULT_METRICS`."""
    files = read_results(first), read_results(second)
    names = tuple(metrics) or DEFAULT_METRICS
    found = compare(*files, names, policy_first=policy_first, policy_second=policy_second)
    console = console or Console()
    console.print(Text(f"a = {first}\nb = {second}"), soft_wrap=True)
    for metric in dict.fromkeys(gain.metric for gain in found.gains):
        console.print(_table(found, metric))
    for site in found.other_inputs:
        console.print(Text(f"{site}: the archives differ between the files", "yellow"), soft_wrap=True)
    for side, unmatched in zip("ab", found.unmatched, strict=True):
        if unmatched:
            n = sum(unmatched.values())
            console.print(Text(f"{n:,} runs of {side} have no partner:", "yellow"))
        for name, n in unmatched.items():
            console.print(Text(f"  {n} x {name}"), soft_wrap=True)
    return found


def _table(found: Comparison, metric: str) -> Table:
    """Return the gains in one metric, the totals last."""
    title = DEFINITIONS[metric].label
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("site and task", "policy"):
        table.add_column(heading, overflow="fold", min_width=14)
    for heading in ("pairs", "a", "b", "gain ±95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=9)
    for gains in (found.gains, found.overall):
        for gain in gains:
            if gain.metric == metric:
                table.add_row(*_cells(gain))
        table.add_section()
    return table


def _cells(gain: Gain) -> list[Text]:
    show, form = DEFINITIONS[gain.metric].show, ",.1f" if DEFINITIONS[gain.metric].counts else ".3f"
    mean, half, n = gain.gain
    mode = "" if gain.mode == "none" else f" ({gain.mode})"
    interval = "" if half is None else f" ±{half:{form}}"
    cells = (
        f"{gain.site} {gain.task}",
        f"{gain.policy}{mode}",
        f"{n:,}",
        show(gain.first),
        show(gain.second),
        f"{mean:+{form}}{interval}",
    )
    return [*map(Text, cells), Text(gain.verdict, _STYLES.get(gain.verdict, "dim"))]
