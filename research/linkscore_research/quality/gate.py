"""The gate: measure, compare, and update the baseline if asked to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from linkscore_lab.replay.prepare import digest_of
from linkscore_research.quality.baseline import PROTOCOL, Baseline, read_baseline, write_baseline
from linkscore_research.quality.measure import (
    IN_WORDS,
    LOGS_IN_WORDS,
    LabelledSite,
    Measured,
    inputs_of,
    log_of,
    measure,
    measure_log,
    sites_of,
)
from linkscore_research.quality.verdict import (
    Verdict,
    judge,
    other_inputs,
    print_verdict,
    site_of,
    updated,
    with_inputs,
)
from linkscore_scoring.errors import FieldProblem, InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the gate is asked."""

    corpora: Sequence[Path]  # Folders of labelled sites
    logs: Path  # Folder of their browse logs
    baseline: Path  # The file
    update: bool = False  # Write gains and new figures
    accepted: frozenset[str] = frozenset()  # Names of figures whose loss is accepted
    new_inputs: bool = False  # Go on although inputs differ
    because: str = ""  # The reason for either
    workers: int = 0  # Processes; 0 means one a core
    on: str  # Date of today, ISO 8601


def run_gate(request: Request, console: Console) -> int:
    """Return 0 if nothing was lost or no site is there, 1 after a loss."""
    _check(request)
    sites = [site for folder in request.corpora for site in sites_of(folder)]
    if not sites:
        folders = ", ".join(map(str, request.corpora))
        console.print(f"quality: skipped, no labelled sites in {folders}", soft_wrap=True)
        return 0
    baseline = _baseline(request)
    inputs = _inputs(sites, request.logs)
    if not request.new_inputs:
        _refuse_other_inputs(baseline, inputs)
    _name_absent(baseline, sites, console)
    measured = _measure(sites, request, console)
    verdict = judge(baseline, measured.figures, {site.name for site in sites})
    print_verdict(console, verdict)
    if request.update:
        _update(
            request, with_inputs(baseline, inputs, because=request.because, on=request.on), verdict, measured
        )
        console.print(f"quality: wrote {request.baseline}", soft_wrap=True)
        return 0
    return 1 if verdict.losses else 0


def _check(request: Request) -> None:
    if (request.accepted or request.new_inputs) and not request.because.strip():
        raise InvalidInput("is needed with --accept-loss and --new-inputs", field="because")
    if (request.accepted or request.new_inputs or request.because) and not request.update:
        raise InvalidInput("is needed with --accept-loss, --new-inputs and --because", field="update")


def _baseline(request: Request) -> Baseline:
    if request.update and not request.baseline.exists():
        return Baseline()
    return read_baseline(request.baseline)


def _refuse_other_inputs(baseline: Baseline, inputs: Mapping[str, str]) -> None:
    names = other_inputs(baseline, inputs)
    if names:
        rule = "is not what the baseline was measured on, so the figures cannot be compared"
        raise InvalidInput([FieldProblem(name, rule) for name in names])


def _name_absent(baseline: Baseline, sites: Sequence[LabelledSite], console: Console) -> None:
    here = {site.name for site in sites}
    for name in sorted({site_of(figure) for figure in baseline.figures} - here):
        console.print(f"quality: skipped {name}, it is not there", soft_wrap=True)


def _inputs(sites: Sequence[LabelledSite], folder: Path) -> dict[str, str]:
    """Return the digest of every file that is read, and the protocol in words."""
    logs = [log for site in sites if (log := log_of(folder, site))]
    return {PROTOCOL: f"{IN_WORDS}; {LOGS_IN_WORDS}", **inputs_of(sites)} | {
        log.name: digest_of([log]) for log in logs
    }


def _measure(sites: Sequence[LabelledSite], request: Request, console: Console) -> Measured:
    all_ = Measured()
    for site in sites:
        started = time.perf_counter()
        found = measure(site, workers=request.workers)
        if log := log_of(request.logs, site):
            found.figures |= measure_log(site, log, workers=request.workers).figures
        spent = time.perf_counter() - started
        console.print(f"{site.name}: {len(found.figures):,} figures in {spent:.0f} s", soft_wrap=True)
        all_.figures |= found.figures
        all_.oracles |= found.oracles
    return all_


def _update(request: Request, baseline: Baseline, verdict: Verdict, measured: Measured) -> None:
    new = updated(
        baseline,
        verdict,
        measured.figures,
        accepted=request.accepted,
        because=request.because,
        on=request.on,
    )
    write_baseline(request.baseline, replace(new, oracles={**baseline.oracles, **measured.oracles}))
