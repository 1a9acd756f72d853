"""What policies learn with, and share: validation while learning, turns of equals, classifiers.

`pairwise_auc` and `progressive_validation` say which policy would have ordered best what was fetched.
`classifiers` is a family of algorithms, found by name, and what describes links for them. What only one
policy uses lives with that policy.
"""

from __future__ import annotations

from linkscore_scoring.learners.pairwise_auc import comparable_pairs, pairwise_auc, pairwise_gain
from linkscore_scoring.learners.progressive_validation import ValidationWindow

__all__ = ["ValidationWindow", "comparable_pairs", "pairwise_auc", "pairwise_gain"]
