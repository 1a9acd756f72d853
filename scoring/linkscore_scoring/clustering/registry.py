"""Page clusterers, one a file, found by name."""

from __future__ import annotations

from linkscore_scoring.clustering.base import OUTLIER, Clusterer, Clustering, ClusterModel
from linkscore_scoring.clustering.cosine_linkage import CosineLinkage
from linkscore_scoring.clustering.crescenzi_mdl import CrescenziMdl
from linkscore_scoring.clustering.dbscan import Dbscan
from linkscore_scoring.clustering.irobot_regions import IRobotRegions
from linkscore_scoring.clustering.uxclust import UxClust
from linkscore_scoring.errors import InvalidParams

CLUSTERERS: dict[str, type[Clusterer]] = {
    kind.name: kind for kind in (CosineLinkage, CrescenziMdl, Dbscan, IRobotRegions, UxClust)
}
DEFAULT = CosineLinkage.name


def clusterer_named(name: str) -> type[Clusterer]:
    """Return the clusterer class of this name.

    Raises
    ------
    InvalidParams
        If no clusterer has the name.
    """
    if name not in CLUSTERERS:
        names = ", ".join(sorted(CLUSTERERS))
        raise InvalidParams(f"must be one of {names}, got {name!r}", field="clusterer")
    return CLUSTERERS[name]


__all__ = [
    "CLUSTERERS",
    "DEFAULT",
    "OUTLIER",
    "ClusterModel",
    "Clusterer",
    "Clustering",
    "clusterer_named",
]
