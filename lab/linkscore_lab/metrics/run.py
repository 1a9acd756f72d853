"""All figures of one crawl at once, and what each is called: for tables, reports and docs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from linkscore_lab.datasets.survey import PageFacts
from linkscore_lab.metrics.figures import (
    Kinds,
    area,
    coverage,
    distinct,
    effectiveness,
    entropy,
    f_measure,
    fetches_to,
    harvest_curve,
    has_threads,
    path_share,
    recall,
    text_share,
    valid_ratio,
    valid_ratio_distinct,
)


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
        f"Fetches until {percent} % of the target pages were found; a dash if that never happened.",
        better=-1,
        count=True,
    )


DEFINITIONS: dict[str, Definition] = {
    "fetched": Definition("fetched", "Pages downloaded, sampling included.", better=0, count=True),
    "valid_ratio": Definition(
        "harvest rate", "Target pages fetched / pages fetched; SOUrCe calls it valid ratio."
    ),
    "valid_ratio_distinct": Definition(
        "harvest rate, distinct", "Contents among the target pages fetched, each once / pages fetched."
    ),
    "harvest_rate": Definition(
        "harvest rate", "Target pages fetched / pages fetched, in a crawl for one page type."
    ),
    "recall": Definition("recall", "Target pages fetched / target pages that can be reached."),
    "f": Definition("F", "Harmonic mean of harvest rate and recall."),
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


Metric = float | int | None
# Shares of a site that the metrics of `DEFINITIONS` are named after; result files hold them.
AREA_PERCENTS = (1, 5, 10, 25, 100)
# The same, of wanted pages had.
FETCHES_PERCENTS = (50, 80, 95)


def run_metrics(
    order: Sequence[str],
    pages: Mapping[str, PageFacts],
    wanted: Collection[str],
    types: Mapping[str, str],
    kinds: Mapping[str, str] | None = None,
    *,
    uncovered_types: Collection[str] | None = None,
) -> dict[str, Metric]:
    """Return every metric of `DEFINITIONS`, by name; None where a metric means nothing for this crawl.

    Cost: linear in the fetches and in the text blocks of the site.

    Parameters
    ----------
    order
        Identities in fetch order, sampling included.
    pages
        Facts of the reachable pages by identity.
    wanted
        The reachable pages the crawl is for; give a set.
    types
        Page type by identity; empty without labels: `entropy` is None then.
    kinds
        ENTRY, INDEX, THREAD or OTHER by page type. None, or no reachable thread: `effectiveness`,
        `path_share` and `coverage` are None.
    uncovered_types
        Page types that `coverage` leaves out; None: those whose name ends in ``_permalink``.
    """
    return {
        "fetched": len(order),
        **_harvest(order, pages, wanted),
        "entropy": entropy(order, types) if types else None,
        **_forum(order, pages, Kinds.of(types, kinds or {}, uncovered_types)),
        **_curve(harvest_curve(order, wanted), len(pages), len(wanted)),
        "text_share": text_share(order, pages),
        "duplicates": len(order) - (contents := distinct(order, pages)),
        "distinct": contents,
    }


def _harvest(
    order: Sequence[str], pages: Mapping[str, PageFacts], wanted: Collection[str]
) -> dict[str, Metric]:
    valid, found = valid_ratio(order, wanted), recall(order, wanted)
    return {
        "valid_ratio": valid,
        "valid_ratio_distinct": valid_ratio_distinct(order, pages, wanted),
        "harvest_rate": valid,
        "recall": found,
        "f": f_measure(valid, found),
    }


def _forum(order: Sequence[str], pages: Collection[str], kinds: Kinds) -> dict[str, Metric]:
    if not has_threads(pages, kinds):
        return dict.fromkeys(("effectiveness", "path_share", "coverage"))
    return {
        "effectiveness": effectiveness(order, kinds),
        "path_share": path_share(order, kinds),
        "coverage": coverage(order, pages, kinds),
    }


def _curve(curve: Sequence[int], n_reachable: int, n_wanted: int) -> dict[str, Metric]:
    return {f"area_{p}pct": area(curve, n_reachable, p) for p in AREA_PERCENTS} | {
        f"fetches_to_{p}pct": fetches_to(curve, n_wanted, p) for p in FETCHES_PERCENTS
    }
