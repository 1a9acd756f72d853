"""Figures of today against the baseline: what fell, what rose, what is gone, and the baseline they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore_research.quality.baseline import Baseline, Figure, Lowered, OtherInput
from linkscore_scoring.errors import FieldProblem, InvalidInput


@dataclass(frozen=True, slots=True)
class Change:
    """A figure then and now; `after` is None if it was not measured any more."""

    name: str
    before: Figure
    after: Figure | None

    @property
    def by(self) -> float:
        """Now minus then; a figure that is gone lost all it had."""
        return (self.after.value if self.after else 0.0) - self.before.value


@dataclass(frozen=True, slots=True)
class Verdict:
    """How today's figures compare."""

    # Figures that fell by more than the band of the baseline, or were not measured; the worst first
    losses: tuple[Change, ...]
    gains: tuple[Change, ...]  # Figures that rose by more than the band; the best first
    new: tuple[str, ...]  # Names that the baseline does not have
    held: int  # How many figures stayed within the band


def other_inputs(baseline: Baseline, inputs: Mapping[str, str]) -> list[str]:
    """Return the names of inputs that the baseline knows with another digest."""
    return sorted(name for name in inputs.keys() & baseline.inputs if baseline.inputs[name] != inputs[name])


def judge(baseline: Baseline, figures: Mapping[str, Figure], sites: Collection[str]) -> Verdict:
    """Compare the figures of some sites; those of other sites are left alone.

    A loss of exactly the band is noise.
    """
    known = {n: f for n, f in baseline.figures.items() if site_of(n) in sites}
    changes = [Change(name, before, figures.get(name)) for name, before in known.items()]
    losses = [c for c in changes if c.after is None or _beyond(-c.by, c.before.band)]
    gains = [c for c in changes if c.after is not None and _beyond(c.by, c.before.band)]
    return Verdict(
        tuple(sorted(losses, key=lambda c: c.by)),
        tuple(sorted(gains, key=lambda c: -c.by)),
        tuple(sorted(figures.keys() - known.keys())),
        len(changes) - len(losses) - len(gains),
    )


def site_of(name: str) -> str:
    """Return the site a figure is of."""
    return name.partition(":")[0]


def _beyond(change: float, band: float) -> bool:
    return change > band + 1e-9


def updated(
    baseline: Baseline,
    verdict: Verdict,
    figures: Mapping[str, Figure],
    *,
    accepted: Collection[str] = (),
    because: str = "",
    on: str,
) -> Baseline:
    """Return the baseline with its gains, its new figures and the losses that were accepted.

    A figure that moved within its band stays as it is: noise neither raises nor lowers a baseline.
    """
    _check_accepted(verdict.losses, accepted, because)
    taken = dict(baseline.figures) | {name: figures[name] for name in verdict.new}
    for change in (*verdict.gains, *verdict.losses):
        if change.after is None:
            del taken[change.name]
        else:
            taken[change.name] = change.after
    lowered = tuple(
        Lowered(c.name, c.before.value, c.after.value if c.after else None, because, on)
        for c in verdict.losses
    )
    return replace(baseline, figures=taken, lowered=baseline.lowered + lowered)


def with_inputs(baseline: Baseline, inputs: Mapping[str, str], *, because: str, on: str) -> Baseline:
    """Return the baseline measured on `inputs`; what differs is recorded with the reason."""
    names = other_inputs(baseline, inputs)
    if names and not because.strip():
        raise InvalidInput("is needed where an input is exchanged", field="because")
    changes = tuple(OtherInput(name, baseline.inputs[name], inputs[name], because, on) for name in names)
    return replace(
        baseline, inputs={**baseline.inputs, **inputs}, other_inputs=baseline.other_inputs + changes
    )


def _check_accepted(losses: Sequence[Change], accepted: Collection[str], because: str) -> None:
    lost = {change.name for change in losses}
    problems = [
        FieldProblem(change.name, f"lost {-change.by:.3f}: needs --accept-loss and --because")
        for change in losses
        if change.name not in accepted
    ]
    problems += [FieldProblem(name, "lost nothing") for name in accepted if name not in lost]
    if accepted and not because.strip():
        problems.append(FieldProblem("because", "is needed where a loss is accepted"))
    if problems:
        raise InvalidInput(problems)


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print what rose, what fell, and how many figures held."""
    if verdict.gains:
        console.print(_change_table("Gains", verdict.gains, "green"))
    if verdict.losses:
        console.print(_change_table("Losses beyond the band", verdict.losses, "bold red"))
    counts = f"{verdict.held:,} held, {len(verdict.gains):,} rose, {len(verdict.losses):,} fell"
    new = f", {len(verdict.new):,} are not in the baseline" if verdict.new else ""
    console.print(f"quality: {counts}{new}", soft_wrap=True)


def _change_table(title: str, changes: Sequence[Change], style: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("figure", overflow="fold")
    for heading in ("baseline", "band", "now", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    for change in changes:
        now = f"{change.after.value:.3f}" if change.after else "gone"
        cells = (f"{change.before.value:.3f}", f"±{change.before.band:.3f}", now)
        table.add_row(Text(change.name), *cells, Text(f"{change.by:+.3f}", style))
    return table
