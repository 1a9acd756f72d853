"""The default policy: a bandit over groups of links that needs no labels and takes them if they come.

Read `policy` first: what a group of links (an arm) is worth, and what happens when a page was fetched. Then,
as far as wanted, `arms` (means with a hierarchy), `rewards` (what a page was worth, by the best source there
is), `excerpts` (how much of a page's text its links will take), `hubs` (what a page earns by the links behind
it), `menus` (what every page links to), `likeness` (is a page like an example?), `example_urls` (what
examples say of links nobody followed), `examples` (which pages to ask a user about) and `warm_start` (what
other sites taught). All their numbers are in `tunables`.
"""

from __future__ import annotations

from linkscore_scoring.policies.harvest.policy import Harvest, HarvestParams
from linkscore_scoring.policies.harvest.tunables import Tunables

__all__ = ["Harvest", "HarvestParams", "Tunables"]
