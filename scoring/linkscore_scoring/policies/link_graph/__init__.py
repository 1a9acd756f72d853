"""Baselines that give each URL a value by the links found so far: in-degree, PageRank, OPIC."""

from linkscore_scoring.policies.link_graph.in_degree import InDegree
from linkscore_scoring.policies.link_graph.opic import Opic
from linkscore_scoring.policies.link_graph.pagerank import Pagerank

__all__ = ["InDegree", "Opic", "Pagerank"]
