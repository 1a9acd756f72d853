"""The figures of one crawl, each a function of the order in which pages came. A ratio of 0 and 0 is 0.

Source: Xu, Gao and Callan 2018 (valid ratio, entropy, eq. 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from math import log2
from typing import NamedTuple

from linkscore_lab.datasets.site import PageFacts

Metric = int | float | None
UNLABELLED = "(no label)"
# Shares of a site, and of wanted pages had, that metrics are named after.
AREA_PERCENTS = (1, 5, 10, 25, 100)
FETCHES_PERCENTS = (50, 80, 95)


class Definition(NamedTuple):
    """One metric: heading, what it is, and whether it counts pages or fetches instead of being a share."""

    label: str
    text: str
    counts: bool = False

    def show(self, value: float | None) -> str:
        """Return a value as a table shows it; a dash for none."""
        if value is None:
            return "–"
        return f"{value:,.0f}" if self.counts else f"{value:.3f}"


def _area(percent: int) -> Definition:
    return Definition(
        f"area {percent} %",
        f"Area under the harvest curve over the first N fetches, N = {percent} % of the reachable pages: "
        "sum of good(n) over n = 1..N divided by N (N + 1) / 2. A crawl that ended keeps its last value.",
    )


def _fetches(percent: int) -> Definition:
    text = f"Fetches until {percent} % of the target pages were found; a dash if that never happened."
    return Definition(f"fetches to {percent} %", text, counts=True)


DEFINITIONS: dict[str, Definition] = {
    "fetched": Definition("fetched", "Pages downloaded, sampling included.", counts=True),
    "valid_ratio": Definition(
        "harvest rate", "Target pages fetched / pages fetched; SOUrCe calls it valid ratio."
    ),
    "valid_ratio_distinct": Definition(
        "harvest rate, distinct", "Contents among the target pages fetched, each once / pages fetched."
    ),
    "recall": Definition("recall", "Target pages fetched / target pages that can be reached."),
    "f": Definition("F", "Harmonic mean of harvest rate and recall."),
    "entropy": Definition("entropy", "Entropy of the page types fetched, in bits."),
    **{f"area_{percent}pct": _area(percent) for percent in AREA_PERCENTS},
    **{f"fetches_to_{percent}pct": _fetches(percent) for percent in FETCHES_PERCENTS},
    "text_share": Definition(
        "text share",
        "Characters of different long text blocks fetched / of the site; long is from 25 characters.",
    ),
    "duplicates": Definition("duplicates", "Fetches whose content had been fetched before.", counts=True),
    "distinct": Definition("distinct", "Different contents fetched.", counts=True),
}


def run_metrics(
    order: Sequence[str],
    pages: Mapping[str, PageFacts],
    wanted: Collection[str],
    types: Mapping[str, str],
) -> dict[str, Metric]:
    """Return every metric of `DEFINITIONS`, by name; None where a metric means nothing for this crawl."""
    curve = harvest_curve(order, wanted)
    hits = [key for key in order if key in wanted]
    valid, recall = ratio(len(hits), len(order)), ratio(len(set(hits)), len(wanted))
    contents = len(_contents(order, pages))
    return {
        "fetched": len(order),
        "valid_ratio": valid,
        "valid_ratio_distinct": ratio(len(_contents(hits, pages)), len(order)),
        "recall": recall,
        "f": ratio(2 * valid * recall, valid + recall),
        "entropy": entropy(order, types) if types else None,
        **{f"area_{p}pct": area(curve, len(pages), p) for p in AREA_PERCENTS},
        **{f"fetches_to_{p}pct": fetches_to(curve, len(wanted), p) for p in FETCHES_PERCENTS},
        "text_share": ratio(_characters(pages[k] for k in order if k in pages), _characters(pages.values())),
        "duplicates": len(order) - contents,
        "distinct": contents,
    }


def ratio(part: float, whole: float) -> float:
    """Return part / whole; 0 for an empty whole (Xu 2018 count 0/0 so)."""
    return part / whole if whole else 0.0


def harvest_curve(order: Iterable[str], wanted: Collection[str]) -> list[int]:
    """Return good(n) for n = 1, 2, ...: wanted pages among the first n fetches."""
    return list(accumulate(int(key in wanted) for key in order))


def area(curve: Sequence[int], n_reachable: int, percent: int) -> float:
    """Return the area under the harvest curve over the first `percent` of a site, in [0, 1].

    A crawl that ends before keeps its last value; 0 where there is no fetch.
    """
    n_early = n_reachable * percent // 100
    early = curve[:n_early]
    missing = n_early - len(early)
    total = sum(early) + missing * (early[-1] if early else 0)
    return ratio(total, n_early * (n_early + 1) / 2)


def fetches_to(curve: Iterable[int], n_wanted: int, percent: int) -> int | None:
    """Return how many fetches it took to have `percent` of the wanted pages; None if it never had them."""
    needed = -(-n_wanted * percent // 100)
    if not needed:
        return None
    return next((n for n, good in enumerate(curve, start=1) if good >= needed), None)


def entropy(order: Collection[str], types: Mapping[str, str]) -> float:
    """Return the entropy of the page types fetched, in bits; fetches without label are one type more."""
    counts = Counter(types.get(key, UNLABELLED) for key in order)
    return sum(n / len(order) * log2(len(order) / n) for n in counts.values())  # eq. 13


def even_points(n: int, most: int) -> list[int]:
    """Return at most `most` evenly spaced numbers of fetches in 1..n, the last of them n; none for n = 0."""
    k = min(n, most)
    return [i * n // k for i in range(1, k + 1)]


def _characters(pages: Iterable[PageFacts]) -> int:
    return sum(dict(block for page in pages for block in page.blocks).values())


def _contents(order: Iterable[str], pages: Mapping[str, PageFacts]) -> set[str]:
    """Return the different contents; a page nobody surveyed (an error, say) is a copy of nothing."""
    return {pages[key].content if key in pages else f"url {key}" for key in order}
