"""The baseline: figures that a change must not lose, and what they were measured on, in one JSON file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linkscore_scoring.errors import FieldProblem, InvalidInput

# Raised when readers of the old file would go wrong.
FORMAT = 1
# What counts as noise where seeds do not differ (docs/development.md).
MIN_BAND = 0.01
PROTOCOL = "protocol"
TYPES = "page_types.tsv"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure."""

    value: float  # Mean over the seeds, in [0, 1], higher is better
    sd: float = 0.0  # Sample standard deviation over the seeds; 0 for one seed
    seeds: int = 1  # How many

    @property
    def band(self) -> float:
        """Half width of what counts as noise: 2 `sd`, at least .01."""
        return max(MIN_BAND, 2.0 * self.sd)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A loss that was accepted."""

    figure: str  # Name of the figure
    before: float  # Its value until then and from then on; `after` is None for a figure that was dropped
    after: float | None
    because: str  # The reason
    on: str  # Date, ISO 8601


@dataclass(frozen=True, slots=True)
class OtherInput:
    """An input that was exchanged; `before` and `after` are its digests, empty where there was none."""

    name: str
    before: str
    after: str
    because: str
    on: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was reached."""

    # sha256 of each file by its name, and under ``protocol`` how it was measured, in words
    inputs: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)  # By ``SITE:TASK:MODE:POLICY``
    # What a crawler that knows the answers reaches, by the same kind of name; for information
    oracles: Mapping[str, float] = field(default_factory=dict)
    # Every loss that was accepted and every input that was exchanged, oldest first
    lowered: tuple[Lowered, ...] = ()
    other_inputs: tuple[OtherInput, ...] = ()


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, sorted, one line a figure: a change of one is a change of one line."""
    parts = {
        "format": FORMAT,
        "inputs": _lines(baseline.inputs),
        "figures": _lines({name: asdict(figure) for name, figure in baseline.figures.items()}),
        "oracles": _lines(baseline.oracles),
        "lowered": _rows(baseline.lowered),
        "other_inputs": _rows(baseline.other_inputs),
    }
    text = ",\n".join(f'"{name}": {part}' for name, part in parts.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    draft.replace(path)


def read_baseline(path: Path) -> Baseline:
    """Return what `write_baseline` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        baseline = _baseline(data)
    except OSError as exc:
        raise InvalidInput(f"{path}: cannot be read: {exc.strerror}", field="baseline") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise InvalidInput(f"{path}: is no baseline: {exc!r}", field="baseline") from exc
    if problems := list(problems_of(baseline)):
        raise InvalidInput(problems).under(str(path))
    return baseline


def problems_of(baseline: Baseline) -> Iterator[FieldProblem]:
    """Yield what is wrong with a baseline."""
    for name in sorted(_files_of(baseline.figures) - baseline.inputs.keys()):
        yield FieldProblem(f"inputs.{name}", "is missing")
    for name, figure in baseline.figures.items():
        if name.count(":") < 3:
            yield FieldProblem(f"figures.{name}", "must be named SITE:TASK:MODE:POLICY")
        if not (0.0 <= figure.value <= 1.0 and 0.0 <= figure.sd <= 1.0 and figure.seeds >= 1):
            yield FieldProblem(f"figures.{name}", f"must be shares of at least one seed, got {figure}")
    for loss in baseline.lowered:
        if not loss.because.strip():
            yield FieldProblem(f"lowered.{loss.figure}", "must have a reason")
        if loss.after is not None and not loss.after < loss.before:
            yield FieldProblem(f"lowered.{loss.figure}", f"must be a loss, got {loss.before} to {loss.after}")
    for change in baseline.other_inputs:
        if not change.because.strip():
            yield FieldProblem(f"other_inputs.{change.name}", "must have a reason")


def _files_of(figures: Iterable[str]) -> set[str]:
    sites = {name.partition(":")[0] for name in figures}
    files = {f"{site}{ending}" for site in sites for ending in (".warc.gz", ".labels.tsv.gz")}
    return files | {PROTOCOL, TYPES} if files else set()


def _baseline(data: Any) -> Baseline:
    if data["format"] != FORMAT:
        raise ValueError(f"format must be {FORMAT}, got {data['format']!r}")
    oracles = {name: float(value) for name, value in data["oracles"].items()}
    if not all(map(math.isfinite, oracles.values())):
        raise ValueError("oracles must be finite")
    return Baseline(
        inputs={name: str(value) for name, value in data["inputs"].items()},
        figures={name: Figure(**figure) for name, figure in data["figures"].items()},
        oracles=oracles,
        lowered=tuple(Lowered(**row) for row in data["lowered"]),
        other_inputs=tuple(OtherInput(**row) for row in data["other_inputs"]),
    )


def _lines(values: Mapping[str, Any]) -> str:
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values[name])}" for name in sorted(values))
    return f"{{\n{rows}\n}}" if rows else "{}"


def _rows(rows: tuple[Lowered, ...] | tuple[OtherInput, ...]) -> str:
    text = ",\n".join(f"  {json.dumps(asdict(row))}" for row in rows)
    return f"[\n{text}\n]" if text else "[]"
