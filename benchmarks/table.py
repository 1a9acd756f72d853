"""The one table every benchmark reports into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLUMNS = ("benchmark", "input", "linkscore", "bare", "ratio", "target", "met")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes
    ----------
    benchmark, source
        What was measured, and on which input.
    ours, bare
        The figure, and that of the bare counterpart (None if there is none), in `unit`.
    unit
        Unit of both.
    target
        Largest ratio to the bare counterpart, or largest figure where there is none; None if only reported.
    """

    benchmark: str
    source: str
    ours: float
    unit: str
    bare: float | None = None
    target: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over bare."""
        return self.ours / self.bare if self.bare else None

    def cells(self) -> list[str]:
        """Return the row as texts, one for each of `COLUMNS`."""
        measured = self.ours if self.bare is None else self.ratio
        met = "" if self.target is None or measured is None else "yes" if measured <= self.target else "no"
        return [
            self.benchmark,
            self.source,
            f"{self.ours:,.2f} {self.unit}",
            "" if self.bare is None else f"{self.bare:,.2f} {self.unit}",
            "" if self.ratio is None else f"{self.ratio:.2f}",
            "" if self.target is None else f"<= {self.target:g}{'' if self.bare else ' ' + self.unit}",
            met,
        ]


def lines(rows: Iterable[Row]) -> list[str]:
    """Return a Markdown table."""
    cells = [list(COLUMNS), *(row.cells() for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    texts = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return [texts[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *texts[1:]]
