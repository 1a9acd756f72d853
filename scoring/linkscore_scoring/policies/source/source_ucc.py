"""SOUrCe, crawling for user-created content (Xu, Gao and Callan 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import Params, outside
from linkscore_scoring.policies.source.structure import StructuralPolicy, info
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.navigation import hits

_FLOOR = 1e-6
"""Least Dsim and Balance of a cluster, so that one zero (a constant template, a site of one cluster) does not
erase the order the other factors give; a bound far below what sites show, chosen and not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUccParams(Params):
    """Parameters of `source_ucc`."""

    alpha: float = 0.5  # weight of authority against hub in Info (eq. 9), [0, 1]
    # without_dsim, without_balance, without_info: leave a factor of eq. 11 out (the paper's ablation, Table
    # 5)
    without_dsim: bool = False
    without_balance: bool = False
    without_info: bool = False

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for an alpha out of range."""
        yield from outside("alpha", self.alpha, 0.0, 1.0)


class SourceUcc(StructuralPolicy):
    """Value a cluster by Info x Dsim x Balance: well linked, varied inside, and not crawled too much yet.

    Choose it for sites whose large, varied template is the content; it is misled where tag lists or user tabs
    are.

    Shapes: n links in, (n,) float64 out. Cost: a product over the site's clusters a call; HITS every 64
    pages. References: Xu, Gao and Callan 2018 (arXiv 1804.02734), section 4.4, eqs. 7 to 12. Differences from
    the paper: the navigation table keeps learning (unless the crawl is learned in paper mode), Dsim and
    Balance are floored, clusters come from the crawl's clusterer, and links of unseen link paths fall back to
    more general counts.

    Examples
    --------
    Of a generated site, on which three pages in ten are wanted:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.site import GeneratedSite
    >>> site = GeneratedSite(1)
    >>> crawl = crawl_model(PolicyChoice("source_ucc"))
    >>> round(SimulatedCrawl(crawl, site).fetch(120).wanted_share(), 2)
    0.75
    """

    name = "source_ucc"
    Params = SourceUccParams

    def worth(self, site: SiteModel, clusters: Sequence[int]) -> NDArray[np.float64] | None:
        """Return Info x Dsim of each cluster."""
        assert site.templates is not None
        h, a = hits(site.navigation.adjacency(clusters))
        Info = np.ones_like(a) if self.params.without_info else info(a, h, alpha=self.params.alpha)
        if self.params.without_dsim:
            return Info
        return Info * np.maximum([stats.dsim for stats in site.templates.clusters], _FLOOR)

    def cluster_values(self, site: SiteModel) -> NDArray[np.float64]:
        """Return Info x Dsim x Balance (1 - its share of the pages) of each cluster as of now (eq. 11)."""
        values, total = np.array(self.cluster_worth), sum(site.crawled.values())
        if self.params.without_balance or not total:
            return values
        crawled = np.array([site.crawled[cluster] for cluster in self.clusters])
        return values * np.maximum(1.0 - crawled / total, _FLOOR)  # section 4.4.1, Balance
