"""SOUrCe, crawling for one page type given by an example (Xu, Gao and Callan 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import Params, outside
from linkscore_scoring.policies.example import example_key, example_page, example_problems
from linkscore_scoring.policies.source.structure import StructuralPolicy, info
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.navigation import multi_hop_hubs, target_hits


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTargetParams(Params):
    """Parameters of `source_target`."""

    # example_url, example_html: a page of the wanted type: the URL of one that is ingested, or its HTML.
    # Exactly one is required
    example_url: str = ""
    example_html: str = ""
    alpha: float = 0.8  # weight of authority against hub (eq. 9), [0, 1]
    # also value clusters two and more clicks before the target; False is the paper's one step
    multi_hop: bool = True
    beta: float = 0.5  # decay per click of `multi_hop`, (0, 1)

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field that is missing or out of range."""
        yield from example_problems(self.example_url, self.example_html)
        yield from outside("alpha", self.alpha, 0.0, 1.0)
        yield from outside("beta", self.beta, 1e-6, 1.0 - 1e-6)


class SourceTarget(StructuralPolicy):
    """Value the example's cluster, and the clusters that lead to it.

    Until the example's URL was fetched, and while it fits no cluster, the policy answers from its fallback.

    Shapes: n links in, (n,) float64 out. Cost: as `source_ucc`. References: Xu, Gao and Callan 2018, section
    4.4.2, eqs. 7, 9 and 12. Differences from the paper: hubs are normalised; `multi_hop` (default) sums hubs
    over several clicks with decay, where the paper's value is 0; the navigation table keeps learning; scores
    are rounded to .02, so that links which all lead to the target come in the order they were found and not
    by how often their link path was followed.

    Examples
    --------
    Of a generated site, on which three pages in ten are wanted:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.site import GeneratedSite
    >>> site = GeneratedSite(1)
    >>> crawl = crawl_model(PolicyChoice("source_target", {"example_url": site.example}))
    >>> round(SimulatedCrawl(crawl, site).fetch(120).wanted_share(), 2)
    0.74
    """

    name = "source_target"
    Params = SourceTargetParams
    step = 0.02

    def worth(self, site: SiteModel, clusters: Sequence[int]) -> NDArray[np.float64] | None:
        """Return Info with the authority pinned to the target; None while the target's cluster is unknown."""
        target = self._target(site)
        if target not in clusters:
            return None
        A, at = site.navigation.adjacency(clusters), clusters.index(target)
        h, a = target_hits(A, at)
        if self.params.multi_hop:
            h = multi_hop_hubs(A, at, beta=self.params.beta)
        return info(a, h, alpha=self.params.alpha)

    def _target(self, site: SiteModel) -> int:
        if self.params.example_url:
            return site.cluster_of(example_key(self.params.example_url))
        assert site.templates is not None
        page = example_page(self.params.example_html)
        return site.templates.nearest(page.paths)
