"""Set the runs of two result files against each other: what did the change gain, and is it more than noise?

Runs are paired, because most of what makes two runs differ is the site, the start and the seed, and a pair
shares those. The gain of a group (site, task, mode, policy) is the mean of the differences second - first of
its pairs, with the 95 % interval of Student's t for paired observations; pairs of the same two crawls count
once. Over several groups the mean of their gains is given, with the interval of t over groups: what one more
site or task like these may expect. t and no bootstrap: of three to ten pairs a bootstrap is too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.compare_pairs import PAIRINGS, Pair, Pairs, Subject, pair_runs
from linkscore_lab.replay.estimate import Estimate, estimate
from linkscore_lab.replay.results_records import Results, RunResult
from linkscore_scoring.errors import InvalidInput

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

    subject: Subject
    metric: str
    first: float
    second: float
    gain: Estimate

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``different`` if the interval leaves 0 out, else why not."""
        mean, half = self.gain.mean, self.gain.half
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

    pairs: Pairs
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
    groups: dict[Subject, dict[object, tuple[float, float]]] = {}
    for pair in pairs:
        a, b = _mean(pair.first, metric), _mean(pair.second, metric)
        if a is not None and b is not None:
            groups.setdefault(pair.subject, {})[_crawls(pair), a, b] = (a, b)
    for subject, values in groups.items():
        yield _gain(subject, metric, list(values.values()))


def _gain(subject: Subject, metric: str, values: Sequence[tuple[float, float]]) -> Gain:
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
            yield _gain(Subject("all", f"{len(members)} groups", mode, policy), metric, values)


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
