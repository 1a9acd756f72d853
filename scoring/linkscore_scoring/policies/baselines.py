"""Orders that learn nothing, to compare with: breadth-first, random, by words or dates in URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkscore_scoring.hashing import GOLDEN, mix64
from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, Term
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch
from linkscore_scoring.wanted import Wanted


class BreadthFirst(Policy):
    """Fetch what is fewest clicks away from the seeds, first found first.

    Score = 1 / (1 + depth); bucket = the depth, so a queue per bucket with FIFO inside is exact breadth-first
    order.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: the order itself; see Cho, Garcia-Molina and
    Page 1998 for its use as a baseline.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("breadth_first", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})
    {'/y': 0.333, '/z': 0.333}
    """

    name = "breadth_first"
    reads_templates = False
    baseline = True

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by depth alone."""
        depths = np.asarray(links.depths, dtype=np.float64)
        return Scored(1.0 / (1.0 + depths), [f"d{depth}" for depth in links.depths])

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return 1 / (1 + depth); a bucket of another policy comes after all depths below 100."""
        return 1.0 / (1.0 + np.array([depth_of(bucket) for bucket in buckets], dtype=np.float64))

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the depth."""
        return [
            Explanation(f"{depth} clicks from a seed", [Term("depth", depth, "clicks from a seed")])
            for depth in links.depths
        ]


def depth_of(bucket: str) -> int:
    """Return the depth a bucket name such as ``d3`` stands for, 100 for any other."""
    digits = bucket[1:]
    return int(digits) if bucket[:1] == "d" and digits.isdecimal() and len(digits) <= 9 else 100


# Steps of the score that are buckets of their own.
_BUCKETS = 256
_STEPS = {f"u{step}": step / _BUCKETS for step in range(_BUCKETS)}


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
        salt = np.uint64((self.seed + 1) * GOLDEN % 2**64)
        mixed = mix64(np.array(keys, dtype=np.uint64) ^ salt)
        draws: Scores = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
        return draws


_WORDS = re.compile(r"k([0-9]{1,6})\.([0-9]{1,6})")


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
    >>> from linkscore_scoring.testing.crawl import page_of
    >>> from linkscore_scoring.wanted import Wanted
    >>> wanted = Wanted(queries=("price list",))
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
        self._words = list(dict.fromkeys(word for query in queries for word in query.lower().split()))

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
    found = _WORDS.fullmatch(bucket)
    return min(1.0, int(found[1]) / max(1, int(found[2]))) if found else 0.0


# Year and month, perhaps a day, as URLs of articles have them: /2026/11/29/title, /2026-11-29-title.
_DATE = re.compile(r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])(?:[/-](0?[1-9]|[12]\d|3[01]))?(?!\d)")
_DATED = re.compile(r"d(\d{1,9})")
_LAST = 21_000_000  # beyond all dates: year, month and day as one number


class Newest(Policy):
    """Follow links with the latest date in their URL, those without a date last.

    Score = date / 21,000,000, where 29 November 2026 is 20261129 and November 2026 is 20261100; bucket =
    ``d<date>``; 0 and ``d0`` without a date. For news and blogs with dates in their URLs; nothing is learned.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: none.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("newest", {"/": ["/2025/12/a", "/2026/01/b", "/about"]})
    {'/2025/12/a': 0.964, '/2026/01/b': 0.965, '/about': 0.0}
    """

    name = "newest"
    reads_templates = False
    baseline = True

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the date in the URL."""
        buckets = [f"d{_date(url)}" for url in links.urls]
        return Scored(self.value(buckets, site), buckets)

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the share of the date that a bucket says; 0 for one of another policy."""
        dates = (int(found[1]) if (found := _DATED.fullmatch(bucket)) else 0 for bucket in buckets)
        return np.array([min(1.0, date / _LAST) for date in dates], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the date."""
        return [
            Explanation(
                f"date {date}" if date else "no date in the URL", [Term("date", date, "date in the URL")]
            )
            for date in map(_date, links.urls)
        ]


def _date(url: str) -> int:
    """Return the date in a URL as one number; 0 if it has none."""
    found = _DATE.search(url)
    return int(found[1]) * 10_000 + int(found[2]) * 100 + int(found[3] or 0) if found else 0
