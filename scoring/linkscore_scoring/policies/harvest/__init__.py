"""The default policy: a bandit over groups of links that needs no labels and takes them if they come.

Read `policy` first: what a group of links (an arm) is worth, and what happens when a page was fetched. Then,
as far as wanted, `tables` (what is kept of pages and arms, and how rewards, means and yields follow from it),
`likeness` (is a page like an example?), `questions` (which pages to ask a user about) and `starts` (what
other sites and the URLs of examples say before anything was fetched). Their numbers are in `tunables`.
"""

from __future__ import annotations

from linkscore_scoring.policies.harvest.policy import Harvest, HarvestParams
from linkscore_scoring.policies.harvest.tunables import Tunables

__all__ = ["Harvest", "HarvestParams", "Tunables"]
