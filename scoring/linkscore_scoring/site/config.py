"""How sites are learned, and the bounds of what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.clustering.registry import CLUSTERERS
from linkscore_scoring.errors import FieldProblem

MAX_SAMPLE = 2_000
"""A bound: pages of a site kept for learning, whose clustering costs their
square (docs/concepts/architecture.md)."""


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How templates are learned.

    `clusterer`: name of a page clusterer (`site.clusterers`). `sample_pages`: distinct pages before the
    first learning; relearning follows at 2, 4 and 8 times as many, then on drift. `max_sample_pages`:
    distinct pages kept for learning. `on_demand`: sites are learned when somebody asks, unless a policy
    reads templates; see `CrawlConfig`. `paper`: the rules of Xu 2018 where ours differ: literal eps,
    navigation table frozen after the first learning.
    """

    clusterer: str = "cosine_linkage"
    sample_pages: int = 200
    max_sample_pages: int = MAX_SAMPLE
    paper: bool = False
    on_demand: bool = False

    def problems(self, prefix: str) -> list[FieldProblem]:
        """Return one problem for each field out of range."""
        found = []
        if self.clusterer not in CLUSTERERS:
            names = ", ".join(sorted(CLUSTERERS))
            found.append(
                FieldProblem(f"{prefix}.clusterer", f"must be one of {names}, got {self.clusterer!r}")
            )
        if not 8 <= self.sample_pages <= MAX_SAMPLE:
            found.append(
                FieldProblem(
                    f"{prefix}.sample_pages", f"must be in [8, {MAX_SAMPLE}], got {self.sample_pages}"
                )
            )
        if not self.sample_pages <= self.max_sample_pages <= MAX_SAMPLE:
            rule = f"must be in [sample_pages, {MAX_SAMPLE}], got {self.max_sample_pages}"
            found.append(FieldProblem(f"{prefix}.max_sample_pages", rule))
        return found


@dataclass(frozen=True, slots=True)
class SiteBounds:
    """Most of each thing kept per site; what goes beyond degrades to the fallbacks, never to an error."""

    links: int = 200_000
    contexts: int = 6
    blocks: int = 500_000
    apaths: int = 20_000
    arms: int = 20_000
