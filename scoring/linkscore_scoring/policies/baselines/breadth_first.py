"""Breadth-first order, the baseline every crawler starts with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, Term
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch


class BreadthFirst(Policy):
    """Fetch what is fewest clicks away from the seeds, first found first.

    Score = 1 / (1 + depth); bucket = the depth, so a queue per bucket with FIFO inside is exact breadth-first
    order.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: the order itself; see Cho, Garcia-Molina and
    Page 1998 for its use as a baseline.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("breadth_first", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})
    {'/y': 0.333, '/z': 0.333}
    """

    name = "breadth_first"
    reads_templates = False
    baseline = True

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by depth alone."""
        depths = np.asarray(links.depths, dtype=np.float64)
        return Scored(1.0 / (1.0 + depths), [f"d{depth}" for depth in links.depths])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return 1 / (1 + depth); a bucket of another policy comes after all depths below 100."""
        return 1.0 / (1.0 + np.array([depth_of(bucket) for bucket in buckets], dtype=np.float64))

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the depth."""
        return [
            Explanation(f"{depth} clicks from a seed", [Term("depth", depth, "clicks from a seed")])
            for depth in links.depths
        ]


def depth_of(bucket: str, *, unknown: int = 100) -> int:
    """Return the depth a bucket name such as ``d3`` stands for."""
    digits = bucket[1:]
    return int(digits) if bucket[:1] == "d" and digits.isdecimal() and len(digits) <= 9 else unknown
