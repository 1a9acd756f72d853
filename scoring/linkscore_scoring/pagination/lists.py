"""The first page of the list or thread that a page is of."""

from __future__ import annotations

from linkscore_scoring.columns import drop_oldest
from linkscore_scoring.pagination.anchors import FIRST, read_anchor
from linkscore_scoring.pagination.page_links import paged
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import PageObservation


class FirstPages(Stateful):
    """The first pages of lists and threads, by the page links of their pages; memory O(max_pages)."""

    _firsts: Stored[dict[int, tuple[int, str]]]  # hash of the identity, and URL, by that of each page

    def __init__(self) -> None:
        self.max_pages = 50_000

    def first_page(self, key: int) -> str:
        """Return the URL of the first page of the list of a page, by identity hash; empty if of none."""
        first = self._firsts.get(key, (key, ""))
        return self._firsts.get(first[0], first)[1]

    def observe(self, page: PageObservation) -> None:
        """Learn from the page links of a page, and from the canonical form that it links to."""
        links, own = page.links, paged(page.url)
        starts = dict[object, tuple[int, str]]()
        turning = [row for row, kind in enumerate(page.page_links) if kind]
        for key, url in zip(links.keys, links.urls, strict=True) if turning else ():
            if not (bare := paged(url)).explicit:
                starts.setdefault((bare.whole, bare.query), (key, url))
        here, heads = list[int](), set[int]()  # rows of the page's own list, and first pages of others
        for row in turning:
            to, target = paged(links.urls[row]), (links.keys[row], links.urls[row])
            start = starts.get((to.path, to.query), target)
            if start in (target, (page.key, page.url)) or (to.path, to.query) == (own.path, own.query):
                here.append(row)
            else:
                self._firsts[target[0]] = start
                heads.add(start[0])
        if here := [row for row in here if links.keys[row] not in heads]:
            first = starts.get((own.path, own.query)) if own.explicit else None
            for row in here:
                if page.page_links[row] == FIRST or read_anchor(links.anchors[row]).number == 1:
                    first = first or (links.keys[row], links.urls[row])
            first = first or self._firsts.get(page.key, (page.key, page.url))
            self._firsts.update(dict.fromkeys([page.key, *(links.keys[row] for row in here)], first))
        if page.is_copy and page.canonical in links.keys:
            self._firsts[page.key] = page.canonical, links.urls[links.keys.index(page.canonical)]
        drop_oldest(self._firsts, self.max_pages)
