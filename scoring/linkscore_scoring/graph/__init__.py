"""Link graphs: PageRank, and the URLs of a site as numbered nodes."""

from linkscore_scoring.graph.link_graph import Arrival, LinkGraph, UrlNodes
from linkscore_scoring.graph.pagerank import Ranks, pagerank

__all__ = ["Arrival", "LinkGraph", "Ranks", "UrlNodes", "pagerank"]
