"""Baselines that give each URL a value by the links found so far: in-degree, PageRank, OPIC and kin."""

from linkscore_scoring.policies.link_graph.fractional_pagerank import FractionalPagerank
from linkscore_scoring.policies.link_graph.in_degree import InDegree
from linkscore_scoring.policies.link_graph.opic import Opic
from linkscore_scoring.policies.link_graph.pagerank import Pagerank
from linkscore_scoring.policies.link_graph.rank_mass import RankMass

__all__ = ["FractionalPagerank", "InDegree", "Opic", "Pagerank", "RankMass"]
