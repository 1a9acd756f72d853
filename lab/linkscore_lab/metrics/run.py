"""All figures of one crawl at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from linkscore_lab.datasets.page_facts import PageFacts
from linkscore_lab.metrics.content import distinct, text_share, valid_ratio_distinct
from linkscore_lab.metrics.curve import area, fetches_to, harvest_curve
from linkscore_lab.metrics.kinds import Kinds, coverage, effectiveness, has_threads, path_share
from linkscore_lab.metrics.page_types import entropy
from linkscore_lab.metrics.ratios import f_measure, recall, valid_ratio

Metric = float | int | None
AREA_PERCENTS = (1, 5, 10, 25, 100)
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
