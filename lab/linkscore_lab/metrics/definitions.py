"""What each metric is called, how it is defined, and which way is better: for tables, reports and docs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric.

    Attributes
    ----------
    label
        Heading of a column.
    text
        What it is, in one sentence.
    better
        1 when higher is better, -1 when lower is, 0 when neither is.
    count
        Whether it is a number of pages or fetches rather than a share.
    """

    label: str
    text: str
    better: int = 1
    count: bool = False

    def show(self, value: float | None) -> str:
        """Return a value as a table shows it; a dash for none."""
        if value is None:
            return "–"
        return f"{value:,.0f}" if self.count else f"{value:.3f}"


def _area(percent: int) -> Definition:
    return Definition(
        f"area {percent} %",
        f"Area under the harvest curve over the first N fetches, N = {percent} % of the reachable pages: "
        "sum of good(n) over n = 1..N divided by N (N + 1) / 2. A crawl that ended keeps its last value.",
    )


def _fetches(percent: int) -> Definition:
    return Definition(
        f"fetches to {percent} %",
        f"Fetches until {percent} % of the wanted pages were had; a dash if that never happened.",
        better=-1,
        count=True,
    )


DEFINITIONS: dict[str, Definition] = {
    "fetched": Definition("fetched", "Pages downloaded, sampling included.", better=0, count=True),
    "valid_ratio": Definition("valid ratio", "Wanted pages fetched / pages fetched."),
    "valid_ratio_distinct": Definition(
        "valid ratio, distinct", "Contents among the wanted pages fetched, each once / pages fetched."
    ),
    "harvest_rate": Definition(
        "harvest rate", "Wanted pages fetched / pages fetched: the valid ratio, as target crawls call it."
    ),
    "recall": Definition("recall", "Wanted pages fetched / wanted pages that can be reached."),
    "f": Definition("F", "Harmonic mean of valid ratio and recall."),
    "entropy": Definition(
        "entropy", "Entropy of the page types fetched, in bits; neither way is better.", better=0
    ),
    "effectiveness": Definition("effectiveness", "Thread pages fetched / pages fetched; of forums."),
    "path_share": Definition(
        "path share", "Entry, index and thread pages fetched / pages fetched; of forums."
    ),
    "coverage": Definition(
        "coverage", "Thread pages fetched / thread pages that can be reached, permalinks left out; of forums."
    ),
    **{f"area_{percent}pct": _area(percent) for percent in (1, 5, 10, 25, 100)},
    **{f"fetches_to_{percent}pct": _fetches(percent) for percent in (50, 80, 95)},
    "text_share": Definition(
        "text share",
        "Characters of different long text blocks fetched / of the site; long is from 25 characters.",
    ),
    "duplicates": Definition(
        "duplicates", "Fetches whose content had been fetched before.", better=-1, count=True
    ),
    "distinct": Definition("distinct", "Different contents fetched.", count=True),
}
