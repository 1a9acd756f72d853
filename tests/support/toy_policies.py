"""Policies as somebody outside might write them: one that is sound, two that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, within
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, PageObservation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepestParams(Params):
    share: float = within(1.0, 0.0, 1.0)


class Deepest(Policy):
    """Long URLs first.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: none.
    """

    name = "toy_deepest"
    Params = DeepestParams
    baseline = True

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        buckets = [f"n{min(len(url), 99)}" for url in links.urls]
        return Scored(self.value(buckets, site), buckets)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        lengths = [int(b[1:]) if b[:1] == "n" and b[1:].isdecimal() and len(b) < 4 else 0 for b in buckets]
        return self.params.share * np.array(lengths, dtype=np.float64) / 100.0

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        return [Explanation("long URLs first", []) for _ in links.urls]


class Forgetful(Deepest):
    """Counts pages and does not keep the count, so a restart changes its scores.

    Shapes: as `Deepest`. Cost: O(n). References: none.
    """

    name = "toy_forgetful"
    baseline = False

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.pages = 0

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        self.pages += 1

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        return np.full(len(buckets), 1.0 / (1.0 + self.pages))


class Peeking(Forgetful):
    """Counts questions. Shapes: as `Deepest`. Cost: O(n)."""

    name = "toy_peeking"

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        self.pages += 1
        return super().score(links, site)

    def to_state(self) -> dict[str, Any]:
        return {"pages": self.pages}


class Longest(Deepest):
    """Deepest, said to be no baseline. Shapes: as `Deepest`. Cost: O(n). References: none."""

    name = "toy_longest"
    baseline = False
