"""Which runs of two result files belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linkscore_lab.replay.results_records import RunResult

PAIRINGS = {"seed": ("start", "seed"), "start": ("start",), "site": ()}


class Subject(NamedTuple):
    """What a gain is about; `policy` is ``A -> B`` where two policies were set against each other."""

    site: str
    task: str
    mode: str
    policy: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Runs that belong together: one on either side, or those over which a mean is taken."""

    subject: Subject
    first: tuple[RunResult, ...]
    second: tuple[RunResult, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of two files, and how many runs of each kind found no partner."""

    pairs: tuple[Pair, ...]
    unmatched_first: Counter[str]
    unmatched_second: Counter[str]


_Key = tuple[Subject, tuple[str | int, ...]]
_Sorted = dict[_Key, list[RunResult]]


def pair_runs(
    first: Iterable[RunResult],
    second: Iterable[RunResult],
    *,
    policy_first: str = "",
    policy_second: str = "",
    pair: str = "seed",
) -> Pairs:
    """Return the pairs of equal site, task, mode, policy, budget and whatever `PAIRINGS` says of `pair`.

    With `policy_first` and `policy_second`, runs of the one are paired with runs of the other.
    """
    name = f"{policy_first} -> {policy_second}" if policy_first else ""
    left = _sorted(first, policy_first, name, PAIRINGS[pair])
    right = _sorted(second, policy_second, name, PAIRINGS[pair])
    pairs = tuple(Pair(key[0], tuple(left[key]), tuple(right[key])) for key in left if key in right)
    return Pairs(pairs, _unmatched(left, right), _unmatched(right, left))


def _sorted(runs: Iterable[RunResult], policy: str, name: str, shared: Sequence[str]) -> _Sorted:
    found: _Sorted = {}
    for run in runs:
        if not policy or run.policy == policy:
            subject = Subject(run.site, run.task, run.mode, name or run.policy)
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
