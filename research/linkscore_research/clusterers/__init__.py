"""Page clusterers of the literature beside the default one; once imported `--clusterer` knows them."""

from linkscore_research.clusterers.crescenzi_mdl import CrescenziMdl
from linkscore_research.clusterers.dbscan import Dbscan
from linkscore_research.clusterers.irobot_regions import IRobotRegions
from linkscore_research.clusterers.uxclust import UxClust
from linkscore_scoring.clustering.registry import CLUSTERERS

CLUSTERERS |= {kind.name: kind for kind in (Dbscan, CrescenziMdl, UxClust, IRobotRegions)}

__all__ = ["CrescenziMdl", "Dbscan", "IRobotRegions", "UxClust"]
