"""Figures of today against the baseline: what fell, what rose, what is gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from linkscore_lab.quality.baseline import Baseline, Figure


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
    """How today's figures compare.

    Attributes
    ----------
    losses
        Figures that fell by more than the band of the baseline, or were not measured; the worst first.
    gains
        Figures that rose by more than the band; the best first.
    new
        Names that the baseline does not have.
    held
        How many figures stayed within the band.
    """

    losses: tuple[Change, ...]
    gains: tuple[Change, ...]
    new: tuple[str, ...]
    held: int


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
