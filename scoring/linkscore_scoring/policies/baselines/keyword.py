"""URLs that contain the words of the query, a baseline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, Term
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch
from linkscore_scoring.wanted import Wanted

_BUCKET = re.compile(r"k([0-9]{1,6})\.([0-9]{1,6})")


class Keyword(Policy):
    """URLs first that contain most words of the query.

    Score = share of the distinct words of all queries, split at blanks, in lower case, that occur in the URL,
    anywhere; bucket = ``k<words>.<of how many>``. Without a query every link is 0. What crawlers for
    language models offer by that name: nothing is learned, the anchor and the page are not looked at.

    Shapes: n links in, (n,) float64 out. Cost: O(n x words). References: KeywordRelevanceScorer of Crawl4AI.

    Examples
    --------
    >>> from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
    >>> from linkscore_scoring.engine.crawl import CrawlModel
    >>> from linkscore_scoring.testing.crawl import visit
    >>> from linkscore_scoring.testing.pages import page_of
    >>> from linkscore_scoring.wanted import Wanted, WantedQuery
    >>> wanted = Wanted(queries=(WantedQuery("price list"),))
    >>> model = CrawlModel(CrawlConfig("c", PolicyChoice("keyword"), wanted=wanted), ticket_key=b"key")
    >>> links = [("http://a.org/prices", "html/a[]"), ("http://a.org/x", "html/a[]")]
    >>> page = page_of("http://a.org/", links=links)
    >>> visit(model, page.url, page).links.scores.tolist()
    [0.5, 0.0]
    """

    name = "keyword"
    takes_wanted = True
    reads_templates = False
    baseline = True

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._words: list[str] = []

    def set_wanted(self, wanted: Wanted | None, site: SiteModel) -> None:
        """Look for the words of these queries."""
        queries = wanted.queries if wanted is not None else ()
        self._words = list(dict.fromkeys(word for query in queries for word in query.text.lower().split()))

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the words in the URL."""
        buckets = [f"k{len(self._found(url))}.{len(self._words)}" for url in links.urls]
        return Scored(self.value(buckets, site), buckets)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the share of the words that a bucket says; 0 for one of another policy."""
        return np.array([_share(bucket) for bucket in buckets], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the words."""
        found = [self._found(url) for url in links.urls]
        return [
            Explanation(
                f"the URL contains {', '.join(words) or 'no word of the query'}",
                [
                    Term("words", len(words), "words found"),
                    Term("query", len(self._words), "words of the query"),
                ],
            )
            for words in found
        ]

    def _found(self, url: str) -> list[str]:
        lower = url.lower()
        return [word for word in self._words if word in lower]


def _share(bucket: str) -> float:
    found = _BUCKET.fullmatch(bucket)
    return min(1.0, int(found[1]) / max(1, int(found[2]))) if found else 0.0
