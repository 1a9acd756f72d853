"""Fetch first what people will visit most, by the browse logs of the site (Liu 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkscore_scoring.browse_logs.behavior.model import UNKNOWN_PAGE, BehaviorModel, Place
from linkscore_scoring.browse_logs.behavior.rankings import FETCH
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import one_of
from linkscore_scoring.policies.browse_log.behavior_order import BehaviorOrder, BehaviorParams


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorFetchParams(BehaviorParams):
    """Parameters of `behavior_fetch`.

    Attributes
    ----------
    ranking
        ``demand`` orders by the visits expected of each URL. Patterns alone are ordered by ``graph``, as in
        the paper, or by its simple strategies ``volume``, ``visits`` and ``average_visits``.
    cut, threshold, by_drop
        How logs are mined: see `BehaviorParams`. The policy served decides before others of the crawl.
    """

    ranking: str = "demand"

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from BehaviorParams.problems(self)
        yield from one_of("ranking", self.ranking, FETCH)


class BehaviorFetch(BehaviorOrder):
    """Order links by the visits a day that their pages will have, as the browse log of the site tells.

    Choose it to fetch what people look at with as few fetches as possible, on sites with browse logs. A page
    of the log is worth its recent visits; another one what newcomers of its URL pattern had, or, if its URL
    has a number beyond all of the log (thread 1204 after 1203), what pages had that were born within the log.
    Without a log of the site the fallback scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link, some 40 us. References: Liu, Cai,
    Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, sections 3 and 4. Differences from
    the paper: with the default ranking URLs have evidence of their own beside that of their pattern, recent
    visits count more, and growing numbers tell new pages; ranking ``graph`` is the paper's order of patterns.

    Examples
    --------
    Visits of a day: 5 to the front page, 9 to the list of what is new, 8 from there to a thread, 1 to a
    profile:

    >>> import numpy as np
    >>> from linkscore_scoring.browse_logs import OUTSIDE, BrowseCounts, mine_site
    >>> from linkscore_scoring.hashing import hash64
    >>> from linkscore_scoring.site.learning import LearningConfig, SiteBounds
    >>> from linkscore_scoring.site.model import SiteModel
    >>> from linkscore_scoring.types import links_of_page
    >>> urls = ["http://a.org/", "http://a.org/new", "http://a.org/thread/7", "http://a.org/user/3"]
    >>> site = SiteModel("a.org", LearningConfig(), SiteBounds())
    >>> site.browse = mine_site(
    ...     BrowseCounts(
    ...         n_days=1,
    ...         urls=urls,
    ...         click_urls=np.arange(4),
    ...         click_days=np.zeros(4, dtype=int),
    ...         clicks=np.array([5, 9, 8, 1]),
    ...         from_urls=np.array([OUTSIDE, OUTSIDE, 1, 2]),
    ...         to_urls=np.arange(4),
    ...         transits=np.array([5, 9, 8, 1]),
    ...     )
    ... )
    >>> links = links_of_page(urls, list(map(hash64, urls)), [1] * 4, [0] * 4, [""] * 4, source=0, depth=1)
    >>> BehaviorFetch(BehaviorFetchParams()).score(links, site).scores.round(2).tolist()
    [0.81, 0.86, 0.86, 0.5]
    """

    name = "behavior_fetch"
    Params = BehaviorFetchParams
    measure = "demand"

    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day expected of a URL."""
        return model.demand(place)

    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say where the expectation comes from."""
        if place.page != UNKNOWN_PAGE and model.pages.demand[place.page] > 0.0:
            return "visits a day of the page itself, recent days first"
        if place.ahead is not None:
            return f"visits a day expected of a new page, {place.ahead:.0f} days beyond the log by its number"
        return "visits a day expected of a page that the log does not have"
