"""A seeded random order, the baseline that every learner must beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.hashing import GOLDEN, mix64
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch

# Steps of the score that are buckets of their own.
_BUCKETS = 256
_STEPS = {f"u{step}": step / _BUCKETS for step in range(_BUCKETS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformRandomParams(Params):
    """Parameters of `uniform_random`: `seed` is added to the crawl's, >= 0."""

    seed: int = 0

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for a negative seed."""
        if self.seed < 0:
            yield FieldProblem("seed", f"must be >= 0, got {self.seed}")


class UniformRandom(Policy):
    """Score every URL with a number drawn once: a hash of (seed, URL identity), uniform in [0, 1).

    Bucket = the score in 256 steps, so a queue per bucket is random to within a step.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: splitmix64 finaliser (Steele, Lea and Flood
    2014).

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("uniform_random", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})
    {'/y': 0.717, '/z': 0.069}
    """

    name = "uniform_random"
    Params = UniformRandomParams
    reads_templates = False
    baseline = True
    residual = 1.0 / _BUCKETS

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Draw by hashing; the same URL always draws the same number."""
        draws = self._draws(links.keys)
        return Scored(draws, [f"u{int(draw * _BUCKETS)}" for draw in draws])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the lower edge of the bucket's step; a bucket of another policy gets 0.5."""
        return np.array([_STEPS.get(bucket, 0.5) for bucket in buckets], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the draw."""
        return [
            Explanation("a random draw", [Term("draw", float(draw), "uniform in [0, 1)")])
            for draw in self._draws(links.keys)
        ]

    def _draws(self, keys: Sequence[int]) -> Scores:
        salt = np.uint64((self.seed + self.params.seed + 1) * GOLDEN % 2**64)
        mixed = mix64(np.array(keys, dtype=np.uint64) ^ salt)
        draws: Scores = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
        return draws
