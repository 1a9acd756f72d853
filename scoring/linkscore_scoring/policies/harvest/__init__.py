"""The default policy: a bandit over groups of links that needs no labels and takes them if they come.

Read `policy` first: what a group of links (an arm) is worth, and what happens when a page was fetched. Then,
as far as wanted, `arms` (what is counted of them: means with a hierarchy, links that wait, menus, pulls in
flight), `rewards` (what a page was worth, by the best source there is, and which to ask a user about),
`own_text` (what a page's text is worth, less what its links will take), `likeness` (is a page like an
example?), `hubs` (what a page earns by the links behind it) and `starts` (what other sites and the URLs of
examples say before anything was fetched). All their numbers are in `tunables`.
"""

from __future__ import annotations

from linkscore_scoring.policies.harvest.policy import Harvest, HarvestParams
from linkscore_scoring.policies.harvest.tunables import Tunables

__all__ = ["Harvest", "HarvestParams", "Tunables"]
