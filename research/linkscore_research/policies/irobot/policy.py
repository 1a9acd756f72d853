"""iRobot: follow the spanning tree of a learned sitemap (Cai, Yang, Lai, Wang and Zhang 2008)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_research.policies.irobot.sitemap import KeptArc, MapEntry, Place, Sitemap
from linkscore_scoring.policies.base import (
    FOLLOW,
    SKIP,
    Explanation,
    Params,
    Policy,
    Scored,
    Scores,
    Term,
    sampling_reason,
    within,
)
from linkscore_scoring.site.learning import MAX_SAMPLE, SampledPage
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import UNKNOWN_CLUSTER, UNKNOWN_LINK_PATH, LinkBatch, PageObservation

_FLIP = re.compile(
    r"[0-9]{1,6}|[<>«»‹›←→]{1,3}|(?:(?:next|prev|previous|older|newer)\b.{0,20})", re.IGNORECASE
)
# Scores of links of the sampling plan, of others (over 1 + depth), and of links to skip: any values in this
# order, below those of links to follow (.5 to 1) once the site is learned.
_PLANNED, _UNPLANNED, _DROPPED = 0.9, 0.5, 0.05
# Depth of buckets that cannot be read: after all that can.
_FAR = 100
# "Any cluster" and "any link path"; no id, nor -1 (outlier) or -2 (unknown cluster).
_ANY = -3

LinkKind = tuple[int, int, int]
"""Cluster of the page a link stands on, URL pattern of its target, link path; `_ANY` where not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IrobotParams(Params):
    """Parameters of `irobot`."""

    # Share of the sampled pages that the informative kinds of pages must cover, (0, 1]
    coverage: float = within(0.9, 1e-6, 1.0)
    # Least share of anchors that are numbers, arrows, next or previous among links that turn pages, (0, 1]
    flip_share: float = within(0.5, 1e-6, 1.0)


class Irobot(Policy):
    """Learn a map of page kinds, keep the tree of links that leads to the informative ones, drop the rest.

    Until the site is learned: links of the sampling plan first (0.9, bucket ``p0.<link path>.<URL
    pattern>``), the others breadth-first (0.5 / (1 + depth), ``s<depth>.<link path>.<URL pattern>``), without
    verdict. Then links of a kept arc are to FOLLOW, score 0.5 + 0.5 x worth of where it leads, others to
    SKIP, 0.05; bucket ``r<cluster>.<link path>.<URL pattern>``. Links found while sampling are judged by URL
    pattern and link path on pages of any cluster.

    Shapes: n links in, (n,) float64 out. Cost: O(n_links + kept arcs) a call; O(sampled links + kinds x arcs)
    when a model becomes active. References: Cai et al. 2008, iRobot: an intelligent crawler for web forums,
    WWW, sections 3 to 5; without human review as run by Xu, Gao and Callan 2018, section 5.3. Differences
    from the paper: the sample is the crawl's, the clusters are those of the crawl's clusterer
    (``irobot_regions`` comes nearest); the formula of informativeness is ours; kinds that lie on the path to
    an informative one are kept; an arc tells source pages by cluster alone; links to better kinds come
    first.

    Examples
    --------
    Of a generated site, on which three pages in ten are wanted:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
    >>> site = GeneratedSite(1)
    >>> crawl = crawl_model(PolicyChoice("irobot"))
    >>> round(SimulatedCrawl(crawl, site).fetch(120).wanted_share(), 2)
    0.75
    """

    name = "irobot"
    Params = IrobotParams
    baseline = True

    _kept: Stored[list[KeptArc]]
    _texts: Stored[dict[int, tuple[int, bool]]]
    _flips: Stored[dict[Place, tuple[int, int]]]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._kept, self._texts, self._flips = [], {}, {}

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Note how much text a page has, whether it is new, and which of its links turn pages."""
        if page.failed or page.refetch:
            return
        self._texts[page.key] = page.long_chars, page.novel_chars > 0 or page.long_chars == 0
        if len(self._texts) > min(MAX_SAMPLE, site.bounds.links):
            del self._texts[next(iter(self._texts))]
        links = page.links
        for pattern, link_path, anchor in zip(links.patterns, links.link_paths, links.anchors, strict=True):
            flips, shown = self._flips.get((pattern, link_path), (0, 0))
            if shown or len(self._flips) < site.bounds.arms:
                flipping = _FLIP.fullmatch(anchor.strip()) is not None
                self._flips[pattern, link_path] = flips + flipping, shown + 1

    def model_activated(self, site: SiteModel) -> None:
        """Draw the sitemap of the sample and choose the arcs to follow."""
        sitemap = Sitemap([self._entry(page, site) for page in _entry_first(site)])
        self._kept = sitemap.kept(
            coverage=self.params.coverage,
            flip_shares=self._flip_shares(site),
            flip_share=self.params.flip_share,
        )

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by arc, or by plan and depth while the site is not learned."""
        places = [f"{a:x}.{p}" for a, p in zip(links.link_paths, links.patterns, strict=True)]
        if site.templates is None:
            planned = (site.plan.is_drawn(key) for key in links.keys)
            rows = zip(planned, links.depths, places, strict=True)
            names = [f"p0.{place}" if p else f"s{depth}.{place}" for p, depth, place in rows]
            return Scored(self.value(names, site), names)
        names = [f"r{source}.{place}" for source, place in zip(links.sources, places, strict=True)]
        scores = self.value(names, site)
        return Scored(scores, names, [FOLLOW if score > _DROPPED else SKIP for score in scores])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score of the links of each bucket."""
        parts = [_parts(bucket) for bucket in buckets]
        if site.templates is None:
            return np.array([_sampling_value(kind, number) for kind, number, _, _ in parts], dtype=np.float64)
        arcs = self._arcs(site)
        kinds = [(n if kind == "r" else UNKNOWN_CLUSTER, p, a) for kind, n, a, p in parts]
        found = (arcs.get(_link_kind(*kind, site)) for kind in kinds)
        return np.array([_DROPPED if arc is None else _score(arc) for arc in found], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the kept arc of each link, or that there is none."""
        if site.templates is None:
            rows = zip(links.keys, links.depths, strict=True)
            return [sampling_reason(key, depth, site) for key, depth in rows]
        arcs = self._arcs(site)
        kinds = zip(links.sources, links.patterns, links.link_paths, strict=True)
        return [_reason(arcs.get(_link_kind(*kind, site)), len(self._kept), site) for kind in kinds]

    def _entry(self, page: SampledPage, site: SiteModel) -> MapEntry:
        assert site.templates is not None
        chars, unique = self._texts.get(page.hash, (0, True))
        cluster = site.templates.sample.get(page.key, site.cluster_of(page.hash))
        aliases, links = site.aliases, []
        for link_path, target in page.links:
            pattern = site.patterns.resolve(site.memory.known(target)[1] or 0)
            links.append(((pattern, link_path), aliases.get(target, target)))
        kind = cluster, site.patterns.resolve(site.memory.known(page.hash)[1] or 0)
        return MapEntry(page.hash, kind, chars, unique, links)

    def _flip_shares(self, site: SiteModel) -> dict[Place, float]:
        """Return the share of page-flipping anchors by place, URL patterns as they are now."""
        sums: dict[Place, tuple[int, int]] = {}
        for (pattern, link_path), (flips, shown) in self._flips.items():
            place = site.patterns.resolve(pattern), link_path
            before = sums.get(place, (0, 0))
            sums[place] = before[0] + flips, before[1] + shown
        return {place: flips / shown for place, (flips, shown) in sums.items()}

    def _arcs(self, site: SiteModel) -> dict[LinkKind, KeptArc]:
        """Return the kept arcs by kind of link, and by its rest where cluster or link path is not known."""
        arcs: dict[LinkKind, KeptArc] = {}
        for arc in sorted(self._kept, key=lambda arc: -arc.worth):
            pattern, link_path = site.patterns.resolve(arc.place[0]), arc.place[1]
            for cluster in (arc.source, _ANY):
                arcs.setdefault((cluster, pattern, link_path), arc)
                arcs.setdefault((cluster, pattern, _ANY), arc)
        return arcs


def _entry_first(site: SiteModel) -> list[SampledPage]:
    """Return the sample with the page fewest clicks from a seed in front."""
    pages = list(site.sample)
    depths = [site.memory.depth(page.hash) or 0 for page in pages]
    entry = depths.index(min(depths)) if pages else 0
    return [*pages[entry : entry + 1], *pages[:entry], *pages[entry + 1 :]]


def _link_kind(source: int, pattern: int, link_path: int, site: SiteModel) -> LinkKind:
    return (
        _ANY if source == UNKNOWN_CLUSTER else source,
        site.patterns.resolve(pattern),
        _ANY if link_path == UNKNOWN_LINK_PATH else link_path,
    )


def _score(arc: KeptArc) -> float:
    return 0.5 + 0.5 * arc.worth


def _reason(arc: KeptArc | None, n_kept: int, site: SiteModel) -> Explanation:
    if arc is None:
        return Explanation(f"none of the {n_kept} kinds of links kept", [Term("worth", 0.0, "not kept")])
    pattern = site.patterns.text(arc.place[0]) or "any URL"
    does = "turns pages of" if arc.flip else "leads to"
    summary = f"from cluster c{arc.source}, {does} cluster c{arc.target[0]} by {pattern}"
    return Explanation(
        summary, [Term("worth", arc.worth, "informativeness at the end of the way, halved a click")]
    )


def _parts(bucket: str) -> tuple[str, int, int, int]:
    """Return kind, number, link path and URL pattern of a bucket name; what cannot be read is unknown."""
    pieces = bucket[1:].split(".")
    try:
        number, link_path, pattern = int(pieces[0][:10]), int(pieces[1][:16], 16), int(pieces[2][:10])
    except (ValueError, IndexError):
        return "", _FAR, UNKNOWN_LINK_PATH, -1
    return bucket[0], number, link_path, pattern


def _sampling_value(kind: str, number: int) -> float:
    if kind == "p":
        return _PLANNED
    return _UNPLANNED / (1.0 + (max(0, number) if kind == "s" else _FAR))
