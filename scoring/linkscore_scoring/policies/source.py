"""SOUrCe (Xu, Gao and Callan 2018): clusters valued by structure, links by the cluster they lead to."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import (
    Explanation,
    Params,
    Policy,
    Scored,
    Scores,
    Term,
    sampling_reason,
    within,
)
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.site.navigation import hits, multi_hop_hubs, target_hits
from linkscore_scoring.state import Stored
from linkscore_scoring.types import UNKNOWN_CLUSTER, UNKNOWN_LINK_PATH, LinkBatch, PageObservation
from linkscore_scoring.urls.identity import identity, validate_url

# Pages after which the clusters' worth is computed anew; a balance of cost and freshness, chosen and not
# measured.
_REFRESH_PAGES = 64
# Scores of links of the sampling plan and of others (over 1 + depth): any values in this order.
_PLANNED, _UNPLANNED = 0.9, 0.5
# Depth of buckets that cannot be read: after all that can.
_LATE = 100


def info(a: Floats, h: Floats, *, alpha: float = 0.5) -> Floats:
    """Return the informativeness of every cluster, (n,) float64 (eq. 9).

    `a`, `h`: authority and hub scores, (n,).
    `alpha`: weight of the authority: 0.5 for user content, 0.8 for a target (Xu 2018, section 5).
    """
    return alpha * a + (1.0 - alpha) * h  # eq. 9


class StructuralPolicy(Policy):
    """A value per cluster, and links scored by the clusters their (source cluster, link path) leads to.

    Until the site is learned links of the sampling plan come first (score 0.9, bucket ``plan``), the others
    in breadth-first order (0.5 / (1 + depth), bucket ``s<depth>.<link path>``). Afterwards score = sum of P(C
    | source, link path) value(C), divided by the largest value of a cluster, which keeps it in [0, 1] and
    does not change the order; bucket = ``c<source>.<link path>``. Links found while sampling are valued by
    their link path whatever the source.

    Subclasses say what a cluster is worth. Cost: O(n_links + distinct pairs x clusters).
    """

    step: ClassVar[float] = 0.0
    """Scores are rounded to multiples of this; 0 keeps them as they are."""

    # clusters, cluster_worth: cluster ids, and the slow part of the value of each; empty until the policy can
    # tell
    clusters: Stored[list[int]]
    cluster_worth: Stored[list[float]]
    _age: Stored[int]

    @abstractmethod
    def worth(self, site: SiteModel, clusters: Sequence[int]) -> NDArray[np.float64] | None:
        """Return the slow part of each cluster's value, (n_clusters,); None if the policy cannot tell yet."""

    def cluster_values(self, site: SiteModel) -> NDArray[np.float64]:
        """Return the value of each of `self.clusters`, (n_clusters,); for what changes with every page."""
        return np.array(self.cluster_worth)

    def model_activated(self, site: SiteModel) -> None:
        """Compute the clusters' worth for a new model."""
        self._refresh(site)

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Compute the clusters' worth anew every 64 pages, as the navigation table learns."""
        self._age += 1
        if site.templates is not None and self._age >= _REFRESH_PAGES:
            self._refresh(site)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by destination cluster, or by plan and depth while the site is not learned."""
        if not self.cluster_worth:
            planned = np.array([site.plan.is_drawn(key) for key in links.keys], dtype=bool)
            depths = np.asarray(links.depths, dtype=np.float64)
            rows = zip(planned, links.depths, links.link_paths, strict=True)
            names = ["plan" if p else f"s{depth}.{link_path:x}" for p, depth, link_path in rows]
            return Scored(np.where(planned, _PLANNED, _UNPLANNED / (1.0 + depths)), names)
        buckets = [
            f"c{source}.{link_path:x}"
            for source, link_path in zip(links.sources, links.link_paths, strict=True)
        ]
        return Scored(self._pairs(links.sources, links.link_paths, site), buckets)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of the links of each bucket."""
        pairs = [_pair(bucket) for bucket in buckets]
        if not self.cluster_worth:
            return np.array([_sampling_value(bucket) for bucket in buckets], dtype=np.float64)
        return self._pairs([source for source, _ in pairs], [link_path for _, link_path in pairs], site)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the likely destination clusters, their values and the counts behind them."""
        if not self.cluster_worth:
            rows = zip(links.keys, links.depths, strict=True)
            return [sampling_reason(key, depth, site) for key, depth in rows]
        values = self.cluster_values(site)
        P = self._probabilities(links.sources, links.link_paths, site)
        return [self._explanation(row, values, source) for row, source in zip(P, links.sources, strict=True)]

    def _refresh(self, site: SiteModel) -> None:
        self._age = 0
        clusters = site.templates.ids() if site.templates else []
        worth = self.worth(site, clusters) if clusters else None
        self.clusters, self.cluster_worth = (clusters, worth.tolist()) if worth is not None else ([], [])

    def _pairs(self, sources: Sequence[int], link_paths: Sequence[int], site: SiteModel) -> Scores:
        values = self.cluster_values(site)
        top = float(values.max(initial=0.0)) or 1.0
        P = self._probabilities(sources, link_paths, site)  # without the mass that leads to outliers
        scores = np.clip(P @ values / top, 0.0, 1.0)  # eq. 12
        return np.round(scores / self.step) * self.step if self.step else scores

    def _probabilities(
        self, sources: Sequence[int], link_paths: Sequence[int], site: SiteModel
    ) -> NDArray[np.float64]:
        return site.navigation.probabilities(
            sources, link_paths, site.link_paths.classless(link_paths), self.clusters
        )

    def _explanation(self, P: NDArray[np.float64], values: NDArray[np.float64], source: int) -> Explanation:
        likely = np.argsort(-P, kind="stable")[:3]
        terms = [
            Term(f"P(c{self.clusters[i]})", float(P[i]), f"chance of leading to cluster c{self.clusters[i]}")
            for i in likely
        ]
        terms += [
            Term(f"value(c{self.clusters[i]})", float(values[i]), f"value of cluster c{self.clusters[i]}")
            for i in likely
        ]
        terms += [
            Term("rest", float(P @ values - P[likely] @ values[likely]), "value of what else it may lead to"),
            Term(
                "best",
                float(values.max(initial=0.0)),
                "largest value of a cluster; a score is a share of it",
            ),
        ]
        best = self.clusters[likely[0]]
        known = f"cluster c{source}" if source != UNKNOWN_CLUSTER else "an unknown cluster"
        return Explanation(
            f"from {known}, leads to cluster c{best} with probability {P[likely[0]]:.2f}", terms
        )


_BUCKET = re.compile(r"(?:c(-?[0-9]{1,9})|s([0-9]{1,9}))\.([0-9a-f]{1,16})")


def _pair(bucket: str) -> tuple[int, int]:
    """Return (source cluster, link path id) of a bucket name; unknown parts become -2 and 0."""
    if (found := _BUCKET.fullmatch(bucket)) is None:
        return UNKNOWN_CLUSTER, UNKNOWN_LINK_PATH
    return int(found[1] or UNKNOWN_CLUSTER), int(found[3], 16)


def _sampling_value(bucket: str) -> float:
    """Return the score of the links of a bucket while the site is sampled; unknown ones come late."""
    found = _BUCKET.fullmatch(bucket)
    depth = int(found[2]) if found and found[2] else _LATE
    return _PLANNED if bucket == "plan" else _UNPLANNED / (1.0 + depth)


_FLOOR = 1e-6
"""Least Dsim and Balance of a cluster, so that one zero (a constant template, a site of one cluster) does not
erase the order the other factors give; a bound far below what sites show, chosen and not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUccParams(Params):
    """Parameters of `source_ucc`."""

    alpha: float = within(0.5, 0.0, 1.0)  # weight of authority against hub in Info (eq. 9), [0, 1]
    # without_dsim, without_balance, without_info: leave a factor of eq. 11 out (the paper's ablation, Table
    # 5)
    without_dsim: bool = False
    without_balance: bool = False
    without_info: bool = False


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
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
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


def example_problems(url: str, html: str) -> Iterator[FieldProblem]:
    """Yield a problem if not exactly one of both is given, or the URL is none."""
    if bool(url) == bool(html):
        rule = "exactly one of example_url and example_html must be set"
        yield FieldProblem("example_url", rule, "REQUIRED")
    if url:
        try:
            validate_url(url, "example_url")
        except InvalidInput as exc:
            yield from exc.problems


def example_key(url: str) -> int:
    """Return the identity hash of the example's URL."""
    return hash64(identity(url))


def example_page(html: str) -> PageFeatures:
    """Return the features of the example's HTML."""
    return extract(html.encode(), url="http://example.invalid/", content_type="text/html; charset=utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTargetParams(Params):
    """Parameters of `source_target`."""

    # example_url, example_html: a page of the wanted type: the URL of one that is ingested, or its HTML.
    # Exactly one is required
    example_url: str = ""
    example_html: str = ""
    alpha: float = within(0.8, 0.0, 1.0)  # weight of authority against hub (eq. 9), [0, 1]
    # also value clusters two and more clicks before the target; False is the paper's one step
    multi_hop: bool = True

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field that is missing or out of range."""
        yield from example_problems(self.example_url, self.example_html)
        yield from super(SourceTargetParams, self).problems()


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
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
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
        assert site.templates is not None
        url, html = self.params.example_url, self.params.example_html
        nearest = site.templates.nearest
        target = site.cluster_of(example_key(url)) if url else nearest(example_page(html).paths)
        if target not in clusters:
            return None
        A, at = site.navigation.adjacency(clusters), clusters.index(target)
        h, a = target_hits(A, at)
        if self.params.multi_hop:
            h = multi_hop_hubs(A, at)
        return info(a, h, alpha=self.params.alpha)
