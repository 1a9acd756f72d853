"""What a replay leaves: a table with one row a crawl, in a file that `linkscore compare` and reports read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from linkscore_lab.metrics import Metric
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ScoreExplanation:
    """Why a policy gave one link its score: URL, score, bucket (empty without), and the reason in a line."""

    url: str
    score: float
    bucket: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One crawl of a stored site.

    Attributes
    ----------
    site
        Name of the site.
    task
        ``user_content``, ``new_text`` or ``target:TYPE``.
    mode
        What the policy learned of labels: ``none``, ``examples`` or ``feedback``.
    policy
        As on the command line: ``NAME`` or ``NAME:param=value,...``.
    seed
        Of everything random in the run.
    start
        URL of the first fetch.
    budget, fetched
        Fetches allowed, and made.
    seconds, cpu_seconds
        Wall time and processor time of the crawl.
    metrics
        Of `linkscore_lab.metrics.run_metrics`.
    curve
        good(n) for n = 1..`fetched`: wanted pages among the first n fetches.
    n_reachable, n_wanted
        Reachable pages of the site, and those that are wanted.
    order_digest
        Of `order_digest`: equal for equal orders of fetches.
    links_out_of_archive
        Links left out because the archive has no page for them.
    composition
        Of `linkscore_lab.metrics.composition`: fetches of each page type at each of
        ``even_points(fetched)``.
    wanted_types
        Page types that are wanted; empty if something else than labels decides.
    explanations
        Why some of the links had their score.
    n_examples
        Example pages the policy was given, in mode ``examples`` and where it cannot do without.
    in_flight
        Fetches that might be under way at a time.
    took
        Time from the first fetch to the end of the last, in latencies of a median fetch; `fetched` divided by
        it is how many were under way on average.
    stopped
        Why the crawl ended by its budget; empty if it did not.
    """

    site: str
    task: str
    mode: str
    policy: str
    seed: int
    start: str
    budget: int
    fetched: int
    seconds: float
    metrics: Mapping[str, Metric]
    curve: Sequence[int]
    n_reachable: int
    n_wanted: int
    order_digest: str
    links_out_of_archive: int = 0
    cpu_seconds: float = 0.0
    composition: Mapping[str, Sequence[int]] = field(default_factory=dict)
    wanted_types: Sequence[str] = ()
    explanations: Sequence[ScoreExplanation] = ()
    n_examples: int = 0
    in_flight: int = 1
    took: float = 0.0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """What a site was read from: SHA-256 of its files in hex, and records that could not be read."""

    sha256: str
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Meta:
    """What all runs of a file share: when they were made (ISO 8601), inputs by site, version."""

    created: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    linkscore: str = field(default_factory=lambda: version("linkscore"))


@dataclass(frozen=True, slots=True)
class Results:
    """A result file."""

    meta: Meta
    runs: Sequence[RunResult]


def order_digest(order: Iterable[str]) -> str:
    """Return the SHA-256 of the identities in fetch order, each ended by a line feed, in hex."""
    digest = hashlib.sha256()
    for key in order:
        digest.update(key.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def write_results(path: Path, runs: Sequence[RunResult], meta: Meta) -> None:
    """Write a result file, one line a run; a file of that name is replaced as a whole."""
    lines = ",\n".join(json.dumps(asdict(run), separators=(",", ":")) for run in runs)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(f'{{"meta":{json.dumps(asdict(meta))},"runs":[\n{lines}\n]}}\n', encoding="utf-8")
    draft.replace(path)


def read_results(path: Path | str) -> Results:
    """Return what `write_results` wrote.

    Raises
    ------
    InvalidInput
        If the file is no result file; the message names file and reason.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        meta = Meta(**data["meta"])
        inputs = {site: Input(**source) for site, source in data["meta"]["inputs"].items()}
        runs = [_run(row) for row in data["runs"]]
    except OSError as exc:
        raise InvalidInput(f"cannot be read: {exc.strerror}").under(str(path)) from exc
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        rule = f"must be a file of `linkscore replay --json`, got {exc!r}"
        raise InvalidInput(rule).under(str(path)) from exc
    return Results(Meta(meta.created, inputs, meta.linkscore), runs)


def _run(row: dict[str, Any]) -> RunResult:
    explanations = [ScoreExplanation(**why) for why in row["explanations"]]
    run = RunResult(**(row | {"explanations": explanations}))
    if len(run.curve) != run.fetched:
        raise ValueError(f"a curve of {len(run.curve)} for {run.fetched} fetches")
    return run
