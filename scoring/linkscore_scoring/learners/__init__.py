"""What policies learn with, and share: classifiers, bandits, features of links, validation while learning.

`classifiers` and `bandits` are families of algorithms, found by name. `link_features`, `neighbour_labels` and
`latest_links` describe links for them. `pairwise_auc` and `progressive_validation` say which policy would
have ordered best what was fetched. What only one policy uses lives with that policy.
"""

from __future__ import annotations

from linkscore_scoring.learners.latest_links import LatestLinks
from linkscore_scoring.learners.link_features import LinkFeatures
from linkscore_scoring.learners.neighbour_labels import NeighbourLabels
from linkscore_scoring.learners.pairwise_auc import comparable_pairs, pairwise_auc, pairwise_gain
from linkscore_scoring.learners.progressive_validation import ValidationWindow

__all__ = [
    "LatestLinks",
    "LinkFeatures",
    "NeighbourLabels",
    "ValidationWindow",
    "comparable_pairs",
    "pairwise_auc",
    "pairwise_gain",
]
