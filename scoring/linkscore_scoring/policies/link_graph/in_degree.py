"""Pages linked most often first, the classical baseline of ordered crawling."""

from __future__ import annotations

from linkscore_scoring.graph.link_graph import Arrival
from linkscore_scoring.policies.base import Explanation, Term
from linkscore_scoring.policies.link_graph.url_values import UrlValuePolicy
from linkscore_scoring.types import PageObservation

# Digits of a count in a bucket name; longer ones are no buckets of this policy.
_MOST_DIGITS = 9


class InDegree(UrlValuePolicy):
    """Fetch what most of the pages fetched so far link to.

    The value n of a URL is the number of distinct pages fetched that link to it: a page counts once however
    many anchors lead there and however often it is fetched, and not for itself. Score = n / (1 + n); bucket =
    ``i<n>``, the exact count.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: Cho, Garcia-Molina and Page 1998 ("backlink
    count"). Differences from the paper: a page's links count as they were when it was first fetched.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("in_degree", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})  # both pages link to /y
    {'/y': 0.667, '/z': 0.5}
    """

    name = "in_degree"
    residual = 0.0

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Count the page once for each URL it links to."""
        if arrival.is_first:
            for node in self.nodes.targets(page):
                self.nodes[node] += 1.0

    def reason(self, value: float) -> Explanation:
        """Name the count."""
        return Explanation(
            f"{value:.0f} pages fetched link to it",
            [Term("in_degree", value, "pages fetched that link to it")],
        )

    def squash(self, value: float) -> float:
        """Return n / (1 + n)."""
        return value / (1.0 + value)

    def bucket(self, value: float) -> str:
        """Return the count as a name."""
        return f"i{value:.0f}"

    def edge(self, bucket: str) -> float:
        """Return the count of a bucket, 0 for a bucket of another policy."""
        digits = bucket[1:]
        known = bucket[:1] == "i" and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
        return float(digits) if known else 0.0
