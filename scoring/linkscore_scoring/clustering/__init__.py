"""Pages of a site clustered into templates: the default clusterer, and what is known of each cluster.

`learn` clusters a sample with a clusterer of `CLUSTERERS` and gives a `TemplateModel`, which classifies
further pages and describes its clusters; `ClusterIdentities` keeps cluster ids over relearning. Clusterers
import heavy libraries only when they learn, if they use them.
"""

from linkscore_scoring.clustering.base import OUTLIER, Clusterer, Clustering, ClusterModel
from linkscore_scoring.clustering.identity import ClusterIdentities
from linkscore_scoring.clustering.registry import CLUSTERERS, DEFAULT, clusterer_named
from linkscore_scoring.clustering.sample import SamplePage, with_in_links
from linkscore_scoring.clustering.templates import ClusterStats, TemplateModel, learn

__all__ = [
    "CLUSTERERS",
    "DEFAULT",
    "OUTLIER",
    "ClusterIdentities",
    "ClusterModel",
    "ClusterStats",
    "Clusterer",
    "Clustering",
    "SamplePage",
    "TemplateModel",
    "clusterer_named",
    "learn",
    "with_in_links",
]
