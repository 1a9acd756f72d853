"""Menus: what every page links to is seldom what a site is for, whatever text it has."""

from __future__ import annotations

from collections.abc import Mapping

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.policies.harvest.arms import Node
from linkscore_scoring.policies.harvest.tunables import DEFAULTS
from linkscore_scoring.state import Stateful, Stored

_SHOWN, _FRESH, _FIRST = range(3)  # columns of the counts of an arm


class MenuLinks(Stateful):
    """How many of the pages show a link of an arm, in the mean of its links.

    A menu shows the same few links on every page: pages about the site, lists by month. A list of related
    pages is on every page too, but with other links. So what counts is how often the links of an arm were
    shown, against how many there are and how many pages came since the first that showed one.

    Parameters
    ----------
    least_pages
        Pages since the first that showed an arm before it may be a menu.
    max_arms
        Arms kept; beyond it those seen first go, and count as seen by nobody.

    Notes
    -----
    Not from a paper; that links every page has are no endorsement is common in link analysis (site-wide
    links). Cost: O(distinct arms) a page, O(1) a question.

    Examples
    --------
    >>> about, post, menus = (1, 1), (2, 2), MenuLinks()
    >>> menus.see({about: 1, post: 2}, fresh={about: 1, post: 2})
    >>> for _ in range(4):
    ...     menus.see({about: 1, post: 2}, fresh={post: 2})
    >>> menus.share(about), menus.share(post)
    (1.0, 0.2)
    """

    _pages: Stored[int]
    _arms: Stored[dict[Node, list[int]]]

    def __init__(
        self, least_pages: int = DEFAULTS.value.menu_pages, *, max_arms: int = DEFAULTS.bounds.arms
    ) -> None:
        self.least_pages = least_pages
        self.max_arms = max_arms
        self._pages = 0
        self._arms = {}

    def see(self, shown: Mapping[Node, int], fresh: Mapping[Node, int]) -> None:
        """Count a page: by arm how many pages it links to, and how many of these nobody had linked to."""
        self._pages += 1
        for column, counted in ((_SHOWN, shown), (_FRESH, fresh)):
            for arm, links in counted.items():
                counts = self._arms.get(arm)
                if counts is None:
                    counts = self._arms[arm] = [0, 0, self._pages]
                counts[column] += links
        drop_oldest(self._arms, self.max_arms)

    def share(self, arm: Node) -> float:
        """Return the share of the pages that show a link of an arm, in [0, 1]; 0 as long as they are few."""
        counts = self._arms.get(arm)
        if counts is None or not counts[_FRESH]:
            return 0.0
        pages = self._pages - counts[_FIRST] + 1
        return min(1.0, counts[_SHOWN] / (counts[_FRESH] * pages)) if pages >= self.least_pages else 0.0
