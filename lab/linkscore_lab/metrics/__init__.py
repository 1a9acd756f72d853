"""The figures of a crawl, from the order in which pages came.

Notation: `order` = identities in fetch order, sampling included; `wanted` = the pages the crawl is for; a
page is valid when it is wanted; `pages` = the reachable pages of the site. A ratio of 0 and 0 is 0.
"""

from __future__ import annotations

from linkscore_lab.metrics.figures import (
    Kinds,
    area,
    composition,
    coverage,
    distinct,
    duplicates,
    effectiveness,
    entropy,
    even_points,
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
from linkscore_lab.metrics.run import DEFINITIONS, Definition, Metric, run_metrics

__all__ = [
    "DEFINITIONS",
    "Definition",
    "Kinds",
    "Metric",
    "area",
    "composition",
    "coverage",
    "distinct",
    "duplicates",
    "effectiveness",
    "entropy",
    "even_points",
    "f_measure",
    "fetches_to",
    "harvest_curve",
    "has_threads",
    "path_share",
    "recall",
    "run_metrics",
    "text_share",
    "valid_ratio",
    "valid_ratio_distinct",
]
