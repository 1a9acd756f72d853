"""What an experiment on a running crawl says: one side is better, neither is, or it is too early."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore.v1 import policy_pb2, site_model_service_pb2
from linkscore_lab.live.sequential import Difference, difference
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.experiment import ExperimentParams
from linkscore_scoring.sums import left_sum

MIN_SITES = 20
"""Sites that must be complete on either side: the interval is asymptotic. Between skewed sides, 20 kept false
alarms below 5 % at any look (research/notebook/experiments.md)."""
_LEFT_OUT_Z = 4.0
"""Standard errors by which the shares of complete sites may differ. Chosen: by chance one look in 16,000."""


class Verdict(StrEnum):
    """What follows."""

    FIRST_BETTER = "first is better"
    SECOND_BETTER = "second is better"
    NO_DIFFERENCE = "no difference"
    GO_ON = "go on"
    NO_SUPPORT = "no support"


@dataclass(frozen=True, slots=True)
class Side:
    """The sites of one policy.

    Attributes
    ----------
    policy
        Its name.
    sites
        Sites that it has.
    complete
        Those with as many fetches as count.
    mean
        Mean over these of the reward of a fetch, [0, 1].
    """

    policy: str
    sites: int
    complete: int
    mean: float


@dataclass(frozen=True, slots=True)
class LiveComparison:
    """Both sides, how much more a fetch brings on the second one, and what follows; `why` is one sentence."""

    first: Side
    second: Side
    difference: Difference | None
    verdict: Verdict
    why: str


def params_of(policy: policy_pb2.PolicySpec) -> ExperimentParams:
    """Return the parameters of the experiment that a crawl has as its policy.

    Raises
    ------
    InvalidInput
        If it is another policy.
    """
    kind = policy.WhichOneof("policy")
    if kind != "experiment":
        raise InvalidInput(f"is no experiment: its policy is {kind or 'harvest'}", field="live")
    set_fields = {field.name: value for field, value in policy.experiment.ListFields()}
    return ExperimentParams(**set_fields)


def compare_sites(
    params: ExperimentParams,
    sites: Iterable[site_model_service_pb2.Site],
    *,
    level: float = 0.95,
    margin: float = 0.02,
) -> LiveComparison:
    """Compare the sides of an experiment by its sites.

    Parameters
    ----------
    level
        Probability that all verdicts of an experiment are right, in (0, 1).
    margin
        Difference of the reward of a fetch that nobody minds, in (0, 1).
    """
    rewards: tuple[list[float], list[float]] = [], []
    counts = [0, 0]
    for site in sites:
        number = params.number_of(site.host)
        counts[number] += 1
        trust = next((t for t in site.policy_trust if t.policy == params.names[number] and t.trust), None)
        if trust is not None and trust.judged_count >= params.horizon:
            rewards[number].append(trust.reward)
    first, second = (
        Side(name, count, len(found), left_sum(found) / len(found) if found else 0.0)
        for name, count, found in zip(params.names, counts, rewards, strict=True)
    )
    missing = _no_support(first, second, params)
    if missing:
        return LiveComparison(first, second, None, Verdict.NO_SUPPORT, missing)
    found = difference(*rewards, level=level)
    return LiveComparison(first, second, found, *verdict_of(found, margin))


def _no_support(first: Side, second: Side, params: ExperimentParams) -> str:
    """Say why nothing can be said, empty if something can."""
    for side in (first, second):
        if side.complete < MIN_SITES:
            many = f"{side.complete} of its {side.sites} sites have had {params.horizon} fetches"
            return f"{side.policy}: {many}, {MIN_SITES} are needed"
    if not (first.mean or second.mean):
        what = "new text" if params.by_text else "feedback above 0"
        return f"no fetch that counts brought {what}"
    pooled = (first.complete + second.complete) / (first.sites + second.sites)
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / first.sites + 1.0 / second.sites))
    shares = [side.complete / side.sites for side in (first, second)]
    if error and abs(shares[1] - shares[0]) > _LEFT_OUT_Z * error:
        said = f"{shares[0]:.0%} of the sites of {first.policy} and {shares[1]:.0%} of {second.policy}"
        return f"{said} have had their fetches: what is left out differs, so the rest does not compare"
    return ""


def verdict_of(found: Difference, margin: float) -> tuple[Verdict, str]:
    """Return what follows from a difference, and why."""
    interval = f"the second brings {found.value:+.3f} a fetch, {found.low:+.3f} to {found.high:+.3f}"
    if found.low > 0.0:
        return Verdict.SECOND_BETTER, interval
    if found.high < 0.0:
        return Verdict.FIRST_BETTER, interval
    if -margin < found.low and found.high < margin:
        return Verdict.NO_DIFFERENCE, f"{interval}: within {margin:g}"
    return Verdict.GO_ON, f"{interval}: more sites will tell"


def print_live(found: LiveComparison, console: Console) -> None:
    """Print both sides and the verdict."""
    table = Table("policy", "sites", "complete", "reward a fetch", box=SIMPLE_HEAD)
    sides: Sequence[Side] = (found.first, found.second)
    for side in sides:
        table.add_row(Text(side.policy), str(side.sites), str(side.complete), f"{side.mean:.3f}")
    console.print(table)
    console.print(Text(f"{found.verdict.value}: {found.why}"), soft_wrap=True)
