"""Depth-first order, a baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, Term
from linkscore_scoring.policies.baselines.breadth_first import depth_of
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch


class DepthFirst(Policy):
    """Fetch what is most clicks away from the seeds.

    Score = 1 - 1 / (1 + depth); bucket = the depth. Differences from a textbook stack: among links of one
    depth the first found comes first, because queues are FIFO among equals.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: none, a baseline.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("depth_first", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})
    {'/y': 0.667, '/z': 0.667}
    """

    name = "depth_first"
    reads_templates = False
    baseline = True

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by depth alone."""
        depths = np.asarray(links.depths, dtype=np.float64)
        return Scored(1.0 - 1.0 / (1.0 + depths), [f"d{depth}" for depth in links.depths])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return 1 - 1 / (1 + depth); a bucket of another policy counts as depth 0."""
        return 1.0 - 1.0 / (1.0 + np.array([depth_of(b, unknown=0) for b in buckets], dtype=np.float64))

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the depth."""
        return [
            Explanation(
                f"{depth} clicks from a seed, deepest first", [Term("depth", depth, "clicks from a seed")]
            )
            for depth in links.depths
        ]
