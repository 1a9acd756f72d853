"""The newest first, by the date in the URL."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from linkscore_scoring.policies.base import Explanation, Policy, Scored, Scores, Term
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch

# Year and month, perhaps a day, as URLs of articles have them: /2026/11/29/title, /2026-11-29-title.
_DATE = re.compile(r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])(?:[/-](0?[1-9]|[12]\d|3[01]))?(?!\d)")
_BUCKET = re.compile(r"d(\d{1,9})")
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
        dates = (int(found[1]) if (found := _BUCKET.fullmatch(bucket)) else 0 for bucket in buckets)
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
