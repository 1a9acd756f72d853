"""The page clusterer that papers here need beside the default one; once imported `--clusterer` knows it."""

from linkscore_research.clusterers.dbscan import Dbscan
from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS

CLUSTERERS[Dbscan.name] = Dbscan

__all__ = ["Dbscan"]
