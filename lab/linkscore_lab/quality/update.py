"""A new baseline from today's figures: upward by itself, downward only with a reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from linkscore_lab.quality.baseline import Baseline, Figure, Lowered, OtherInput
from linkscore_lab.quality.verdict import Change, Verdict, other_inputs
from linkscore_scoring.errors import FieldProblem, InvalidInput


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

    Parameters
    ----------
    accepted
        Names of figures whose loss is accepted.
    because
        The reason, kept in the baseline with the old figures.
    on
        Date of today.

    Raises
    ------
    InvalidInput
        Naming every loss that was not accepted, every accepted name that lost nothing, a missing reason.
    """
    _check(verdict.losses, accepted, because)
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
    """Return the baseline measured on `inputs`; what differs is recorded with the reason.

    Raises
    ------
    InvalidInput
        If an input was exchanged and there is no reason.
    """
    names = other_inputs(baseline, inputs)
    if names and not because.strip():
        raise InvalidInput("is needed where an input is exchanged", field="because")
    changes = tuple(OtherInput(name, baseline.inputs[name], inputs[name], because, on) for name in names)
    return replace(
        baseline, inputs={**baseline.inputs, **inputs}, other_inputs=baseline.other_inputs + changes
    )


def _check(losses: Sequence[Change], accepted: Collection[str], because: str) -> None:
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
