"""What a replay leaves: one record a crawl, in a file that `linkscore compare` and reports read.

The format is `results.schema.json`, beside this module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from linkscore_lab.metrics import Metric, even_points
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ScoreExplanation:
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
        ``user_content``, ``new_text`` or ``target:TYPE``.
    mode
        What the policy learned of labels: ``none``, ``examples`` or ``feedback``.
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
    n_examples
        Example pages the policy was given, in mode ``examples`` and where it cannot do without.
    in_flight
        Fetches that might be under way at a time.
    took
        Time from the first fetch to the end of the last, in latencies of a median fetch; `fetched` divided by
        it is how many were under way on average. 0: not known.
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


# Raised when readers of the old format would go wrong; see results.schema.json.
FORMAT = 1
_Check = Callable[[Any, str], Any]


def parse_results(data: Any) -> Results:
    """Return the content of a result file; raises `InvalidInput` with the path of the first wrong field."""
    top = _object(data, "")
    if top.get("format") != FORMAT:
        raise InvalidInput(f"must be {FORMAT}, got {top.get('format')!r}", field="format")
    inputs = _map(_input)(_need(top, "inputs", ""), "inputs")
    meta = Meta(
        _text(_need(top, "created", ""), "created"), inputs, _text(_need(top, "linkscore", ""), "linkscore")
    )
    return Results(meta, _list(_run)(_need(top, "runs", ""), "runs"))


def _run(value: Any, where: str) -> RunResult:
    run = RunResult(**_record(_object(value, where), RunResult, _RUN, where))
    if len(run.curve) != run.fetched:
        raise InvalidInput(f"must have {run.fetched} entries, got {len(run.curve)}", field=f"{where}.curve")
    points = len(even_points(run.fetched))
    for name, counts in run.composition.items():
        if len(counts) != points:
            raise InvalidInput(
                f"must have {points} entries, got {len(counts)}", field=f"{where}.composition.{name}"
            )
    return run


def _input(value: Any, where: str) -> Input:
    return Input(**_record(_object(value, where), Input, {"sha256": _text, "damaged": _count}, where))


def _explanation(value: Any, where: str) -> ScoreExplanation:
    checks: dict[str, _Check] = {"url": _text, "score": _number, "bucket": _text, "summary": _text}
    return ScoreExplanation(**_record(_object(value, where), ScoreExplanation, checks, where))


def _record(value: dict[str, Any], cls: Any, checks: dict[str, _Check], where: str) -> dict[str, Any]:
    """Return the checked fields of a dataclass; those with a default may be absent."""
    optional = {f.name for f in fields(cls) if f.default is not MISSING or f.default_factory is not MISSING}
    return {
        name: check(_need(value, name, where), f"{where}.{name}")
        for name, check in checks.items()
        if name in value or name not in optional
    }


def _need(value: dict[str, Any], name: str, where: str) -> Any:
    if name not in value:
        raise InvalidInput("is missing", field=f"{where}.{name}" if where else name)
    return value[name]


def _checked(what: str, fits: Callable[[Any], bool]) -> _Check:
    def check(value: Any, where: str) -> Any:
        if not fits(value):
            raise InvalidInput(f"must be {what}, got {repr(value)[:60]}", field=where)
        return value

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_object = _checked("an object", lambda value: isinstance(value, dict))
_array = _checked("a list", lambda value: isinstance(value, list))
_text = _checked("a text", lambda value: isinstance(value, str))
_number = _checked("a number", _is_number)
_integer = _checked("a whole number", _is_int)
_count = _checked("a whole number of at least 0", lambda value: _is_int(value) and value >= 0)
_metric = _checked("a number or null", lambda value: value is None or _is_number(value))


def _list(check: _Check) -> _Check:
    def check_all(value: Any, where: str) -> tuple[Any, ...]:
        return tuple(check(each, f"{where}[{i}]") for i, each in enumerate(_array(value, where)))

    return check_all


def _map(check: _Check) -> _Check:
    def check_all(value: Any, where: str) -> dict[str, Any]:
        return {name: check(each, f"{where}.{name}") for name, each in _object(value, where).items()}

    return check_all


_RUN: dict[str, _Check] = {
    "site": _text,
    "task": _text,
    "mode": _text,
    "policy": _text,
    "seed": _integer,
    "start": _text,
    "budget": _count,
    "fetched": _count,
    "seconds": _number,
    "metrics": _map(_metric),
    "curve": _list(_count),
    "n_reachable": _count,
    "n_wanted": _count,
    "order_digest": _text,
    "links_out_of_archive": _count,
    "cpu_seconds": _number,
    "composition": _map(_list(_count)),
    "wanted_types": _list(_text),
    "explanations": _list(_explanation),
    "n_examples": _count,
    "in_flight": _count,
    "took": _number,
}


def write_results(path: Path, runs: Iterable[RunResult], meta: Meta) -> None:
    """Write a result file, one line a run; a file of that name is replaced as a whole.

    Raises
    ------
    InvalidInput
        If a number is not finite.
    """
    head = {"linkscore": meta.linkscore, "format": FORMAT, "created": meta.created}
    inputs = {site: asdict(source) for site, source in meta.inputs.items()}
    lines = ",\n".join(_json(asdict(run)) for run in runs)
    text = f'{_json(head)[:-1]},"inputs":{_json(inputs)},"runs":[\n{lines}\n]}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def read_results(path: Path | str) -> Results:
    """Return what `write_results` wrote; fields it does not know are ignored.

    Raises
    ------
    InvalidInput
        If the file is no result file of this format; the message names file, field and rule.
    """
    try:
        return parse_results(_load(Path(path)))
    except InvalidInput as exc:
        raise exc.under(str(path)) from None


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as exc:
        raise InvalidInput(f"cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"must be JSON: {exc}") from exc


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def _json(value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError as exc:
        raise InvalidInput(f"must hold finite numbers only: {exc}", field="runs") from exc
