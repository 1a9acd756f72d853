"""Pages that page links join: every page of a list leads to the first one."""

from __future__ import annotations

from collections import Counter

from linkscore_scoring.pagination.lists import PageList, page_lists
from linkscore_scoring.pagination.paged_urls import paged
from linkscore_scoring.state import Flat, State, Stateful, Stored
from linkscore_scoring.types import PageObservation

# Rank of a list without first page: above every page number or offset that counts.
_UNKNOWN_RANK = 1_000_000


class PageChains(Stateful):
    """The lists and threads of a site that run over several pages (union of pages that page links join).

    `max_pages`: pages remembered; beyond it the oldest quarter is forgotten, whole lists or parts of them.
    `max_list`: pages of one list; a link that would join more joins nothing, so that one wrong link cannot
    make one list of the whole site.

    A page that names another one as its canonical form, and links to it, is of the list of that one:
    permalinks of posts. `observe` costs O(page links of the page), `first_page` O(1) as a rule; memory
    O(max_pages). What is told does not depend on the order of pages, as far as `max_list` is not reached.
    """

    _parents: Stored[dict[int, int]]
    _firsts: Stored[Flat[dict[int, tuple[int, str]]]]

    def __init__(self, *, max_pages: int = 50_000, max_list: int = 2_000) -> None:
        self.max_pages, self.max_list = max_pages, max_list
        self._parents, self._firsts = {}, {}
        self._sizes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._parents)

    def observe(self, page: PageObservation) -> None:
        """Learn from the page links of a page and its canonical form; one without changes nothing."""
        if any(page.page_links):
            for one in page_lists(page.url, page.links.urls, page.links.anchors, page.page_links):
                self._join(one, page)
        if page.is_copy and page.canonical in page.links.keys:
            self._join_canonical(page, page.links.urls[page.links.keys.index(page.canonical)])
        if len(self._parents) > self.max_pages:
            self._forget()

    def first_page(self, key: int) -> str:
        """Return the URL of the first page of the list a page belongs to, as far as known; empty if of none.

        `key`: identity hash of the page.
        """
        if key not in self._parents:
            return ""
        return self._firsts.get(self._root(key), (0, ""))[1]

    def _join(self, one: PageList, page: PageObservation) -> None:
        links = page.links
        members = [(links.keys[row], links.urls[row], number) for row, number in one.targets]
        if one.is_own:
            members.insert(0, (page.key, page.url, one.page))
        anchor = members[0][0]
        for key, url, number in members:
            self._add(key, url, number or _named(url))
            self._unite(anchor, key)

    def _join_canonical(self, page: PageObservation, url: str) -> None:
        self._add(page.key, page.url, 0)
        self._add(page.canonical, url, _named(url) if paged(url).explicit else 1)
        self._unite(page.key, page.canonical)

    def _add(self, key: int, url: str, number: int) -> None:
        if key not in self._parents:
            self._parents[key], self._sizes[key] = key, 1
        if number:
            self._rank(self._root(key), number, url)

    def _rank(self, root: int, number: int, url: str) -> None:
        """Let a URL be the first page of a list if its number is the lowest, the shorter URL if both are."""
        old = self._firsts.get(root, (_UNKNOWN_RANK, ""))
        if (number, len(url), url) < (old[0], len(old[1]), old[1]):
            self._firsts[root] = number, url

    def _unite(self, one: int, other: int) -> None:
        a, b = self._root(one), self._root(other)
        if a == b or self._sizes[a] + self._sizes[b] > self.max_list:
            return
        if self._sizes[a] < self._sizes[b]:
            a, b = b, a
        self._parents[b] = a
        self._sizes[a] += self._sizes.pop(b)
        if b in self._firsts:
            self._rank(a, *self._firsts.pop(b))

    def _root(self, key: int) -> int:
        while self._parents[key] != key:
            self._parents[key] = key = self._parents[self._parents[key]]
        return key

    def _forget(self) -> None:
        """Forget the oldest quarter of the pages; a list some of whose pages stay keeps its first page."""
        roots = {key: self._root(key) for key in self._parents}
        kept = list(self._parents)[self.max_pages // 4 :]
        heads: dict[int, int] = {}
        for key in kept:
            heads.setdefault(roots[key], key)
        self._parents = {key: heads[roots[key]] for key in kept}
        self._firsts = {heads[root]: first for root, first in self._firsts.items() if root in heads}
        self._sizes = dict.fromkeys(heads.values(), 0)
        for head in self._parents.values():
            self._sizes[head] += 1

    def to_state(self) -> State:
        """Return the lists as plain values: every page beside the page that stands for its list."""
        self._parents = {key: self._root(key) for key in self._parents}
        return super().to_state()

    def after_load(self) -> None:
        """Count the pages of each list."""
        self._sizes = dict(Counter(self._parents.values()))


def _named(url: str) -> int:
    """Return the page number or offset that a URL names, 1 at least; 0 if it names none."""
    found = paged(url)
    return max(1, found.page) if found.explicit and found.page >= 0 else 0
