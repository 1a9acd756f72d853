"""Link graphs: PageRank, and the URLs of a site as numbered nodes."""

from linkscore_scoring.graph.link_graph import LinkGraph
from linkscore_scoring.graph.pagerank import Ranks, pagerank
from linkscore_scoring.graph.url_nodes import Arrival, UrlNodes

__all__ = ["Arrival", "LinkGraph", "Ranks", "UrlNodes", "pagerank"]
