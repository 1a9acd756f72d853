"""The default policy: a bandit over groups of links that needs no labels and takes them if they come.

Read `policy` first: what a group of links (an arm) is worth, and what a fetched page changes. Then `tables`
(what is kept, and how rewards, means and yields follow from it), `likeness` (is a page like an example?),
`starts` (what is known beforehand) and `advice` (what people are told). Their numbers are in `tunables`.
"""

from __future__ import annotations

from linkscore_scoring.policies.harvest.policy import Harvest, HarvestParams
from linkscore_scoring.policies.harvest.tunables import Tunables

__all__ = ["Harvest", "HarvestParams", "Tunables"]
