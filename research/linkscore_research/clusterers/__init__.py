"""Page clusterers that papers here need beside the default one; once imported `--clusterer` knows them."""

from linkscore_research.clusterers.dbscan import Dbscan
from linkscore_research.clusterers.irobot_regions import IRobotRegions
from linkscore_scoring.clustering.cosine_linkage import CLUSTERERS

CLUSTERERS |= {kind.name: kind for kind in (Dbscan, IRobotRegions)}

__all__ = ["Dbscan", "IRobotRegions"]
