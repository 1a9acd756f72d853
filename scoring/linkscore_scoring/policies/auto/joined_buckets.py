"""Buckets that name what several policies think of a link: ``*`` and their buckets, joined by ``|``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkscore_scoring.policies.answers import Scored, Scores
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch

STEPS = 16
"""Buckets of a policy that is `per_url`: sixteenths of its score."""

_MARK = "*"
_BETWEEN = "|"


def joined(parts: Iterable[str]) -> str:
    """Return the bucket of some policies' buckets; these may hold any character."""
    return _MARK + _BETWEEN.join(part.replace("%", "%25").replace(_BETWEEN, "%7C") for part in parts)


def part_of(bucket: str, at: int) -> str:
    """Return the part of one policy, empty if there is none; a bucket that is not joined as it is."""
    if bucket[:1] != _MARK:
        return bucket
    parts = bucket[1:].split(_BETWEEN)
    part = parts[at] if at < len(parts) else ""
    return part.replace("%7C", _BETWEEN).replace("%25", "%") if "%" in part else part


def scored_by(policy: Policy, links: LinkBatch, site: SiteModel) -> Scored:
    """Return scores and buckets of a policy; those of one that is `per_url` in steps."""
    found = policy.score(links, site)
    if not policy.per_url:
        return found
    steps = np.floor(found.scores * STEPS)
    return Scored(steps / STEPS, [f"{step:.0f}" for step in steps])


def values_by(policy: Policy, parts: Sequence[str], site: SiteModel) -> Scores:
    """Return what a policy thinks of its parts of buckets; 0 for what is no step of one that is `per_url`."""
    if not policy.per_url:
        return policy.value(parts, site)
    steps = [int(p) if p.isascii() and p.isdecimal() and len(p) <= 2 else 0 for p in parts]
    return np.minimum(np.array(steps, dtype=np.float64), STEPS) / STEPS
