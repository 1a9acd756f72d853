"""What policies with one value per URL have in common: nodes, squash, buckets, state."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkscore_scoring.columns import squash
from linkscore_scoring.graph.link_graph import Arrival, LinkGraph
from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation

STEPS = 4
"""Buckets an octave: links of one bucket differ by at most 19 % in value."""

# Number of the last bucket: the largest power of 2 in float64 is 1,023.
_MOST = 4 * 1_024 - 1
_NOTHING = "q-"


class UrlValuePolicy(Policy):
    """A value >= 0 for each URL, moved by the links of every page.

    Score = 1 / (1 + log2(1 + 1 / value)), which keeps the order over many orders of magnitude: value 1 scores
    1/2, 0.001 scores 1/11, 0 scores 0. Bucket = ``q<n>``, n = floor(4 log2 value), ``q-`` for value 0; the
    value of a bucket is the score at its lower edge. URLs never seen in a link have value 0.

    Subclasses move the values (`spread`). Cost: O(n_links) a page and a call. The state is bounded by
    `SiteBounds.links`: the URLs found first are forgotten and start anew when they are found again.
    """

    per_url = True
    reads_templates = False
    baseline = True
    residual = 0.034

    nodes: Stored[LinkGraph]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.nodes = LinkGraph()

    @abstractmethod
    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Move values for a fetch; called once per event, failed and repeated fetches included."""

    @abstractmethod
    def reason(self, value: float) -> Explanation:
        """Say what the value of a URL means."""

    def forgot(self, value: float) -> None:
        """Note that URLs with this value in total were forgotten."""

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Move the values along the links of a page."""
        self.nodes.max_urls = site.bounds.links
        self.spread(page, self.nodes.arrive(page))
        self.forgot(self.nodes.trim())

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the value of each URL."""
        values = [self.nodes.value_of(key) for key in links.keys]
        return Scored(
            np.array(list(map(self.squash, values)), dtype=np.float64), list(map(self.bucket, values))
        )

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score at the lower edge of each bucket; 0 for a bucket of another policy."""
        return np.array([self.squash(self.edge(bucket)) for bucket in buckets], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the value of each URL."""
        return [self.reason(self.nodes.value_of(key)) for key in links.keys]

    def squash(self, value: float) -> float:
        """Return the score of a value."""
        return squash(value)

    def bucket(self, value: float) -> str:
        """Return the bucket of a value."""
        return f"q{math.floor(STEPS * math.log2(value))}" if value > 1e-300 else _NOTHING

    def edge(self, bucket: str) -> float:
        """Return the lowest value of a bucket; 0 for a bucket of another policy."""
        sign, digits = (-1, bucket[2:]) if bucket[1:2] == "-" else (1, bucket[1:])
        if bucket[:1] != "q" or not (digits.isascii() and digits.isdecimal() and len(digits) <= 4):
            return 0.0
        return float(2.0 ** (min(sign * int(digits), _MOST) / STEPS))
