"""The default policy: a bandit over groups of links that needs no labels and takes them if they come.

Read `policy` first: what a group of links (an arm) is worth, what a fetched page changes, and what people
are told. Then `tables` (what is kept, and how rewards, means and yields follow from it) and `told` (is a page
like an example, what is known beforehand). Their numbers are in `tunables`.
"""

from __future__ import annotations

from linkscore_scoring.policies.harvest.policy import Harvest, HarvestParams
from linkscore_scoring.policies.harvest.tunables import Tunables

__all__ = ["Harvest", "HarvestParams", "Tunables"]
