"""The records of a result file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from linkscore_lab.metrics import Metric


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a policy gave one link its score.

    Attributes
    ----------
    url
        The link.
    score
        What it got; higher is fetched sooner.
    bucket
        The group of links it belongs to; empty if the policy has none.
    summary
        The reason, in one line.
    """

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
        ``user_content`` or ``target:TYPE``.
    mode
        What the policy was told: ``none``, ``examples`` or ``feedback``.
    policy
        As on the command line: ``NAME`` or ``NAME:param=value,...``.
    seed
        Of everything random in the run.
    start
        URL of the first fetch.
    budget
        Fetches allowed.
    fetched
        Fetches made.
    seconds
        Wall time of the crawl.
    metrics
        Of `linkscore_lab.metrics.run_metrics`.
    curve
        good(n) for n = 1..`fetched`: wanted pages among the first n fetches.
    n_reachable
        Reachable pages of the site.
    n_wanted
        Those that are wanted.
    order_digest
        Of `order_digest`: equal for equal orders of fetches.
    links_out_of_archive
        Links left out because the archive has no page for them.
    cpu_seconds
        Processor time of the crawl.
    composition
        Of `linkscore_lab.metrics.composition`: fetches of each page type at each of
        ``even_points(fetched)``.
    wanted_types
        Page types that are wanted; empty if something else than labels decides.
    explanations
        Why some of the links had their score.
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
    explanations: Sequence[Explanation] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """What a site was read from.

    Attributes
    ----------
    sha256
        Hex digest of its files.
    damaged
        Records that could not be read.
    """

    sha256: str
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Meta:
    """What all runs of a file share.

    Attributes
    ----------
    created
        When they were made, ISO 8601.
    inputs
        What each site was read from, by its name.
    linkscore
        Version that made them.
    """

    created: str
    inputs: Mapping[str, Input] = field(default_factory=dict)
    linkscore: str = field(default_factory=lambda: version("linkscore"))


@dataclass(frozen=True, slots=True)
class Results:
    """A result file."""

    meta: Meta
    runs: tuple[RunResult, ...]


def order_digest(order: Iterable[str]) -> str:
    """Return the SHA-256 of the identities in fetch order, each ended by a line feed, in hex."""
    digest = hashlib.sha256()
    for key in order:
        digest.update(key.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()
