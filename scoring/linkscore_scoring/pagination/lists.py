"""Which list each page link of a page belongs to: the page's own, or one that the page links to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from linkscore_scoring.pagination.anchors import FIRST, NO_PAGE_LINK, PAGE, read_anchor
from linkscore_scoring.pagination.page_links import PagedUrl, PageLinkGroup, page_link_groups, paged, slots_of
from linkscore_scoring.state import State, Stateful, Stored
from linkscore_scoring.types import PageObservation

_NEAR = 6
"""Rows before a group among which the first page of its list may stand; as `page_links._BEFORE`."""


@dataclass(slots=True)
class PageList:
    """Page links of one list."""

    is_own: bool
    page: int
    targets: list[tuple[int, int]]


def page_lists(
    page_url: str, urls: Sequence[str], anchors: Sequence[str], kinds: Sequence[int]
) -> list[PageList]:
    """Return the lists that the page links of a page belong to, the own one first."""
    marks = {row: read_anchor(anchors[row]) for row, kind in enumerate(kinds) if kind == PAGE}
    groups = page_link_groups(page_url, urls, marks)
    known = {row for group in groups for row in group.rows}
    groups += [
        PageLinkGroup([row], [mark.number], slots_of(urls[row]))
        for row, mark in marks.items()
        if row not in known
    ]
    own = PageList(True, 0, [])
    foreign: list[PageList] = []
    for group in groups:
        if _is_own(group, page_url, urls):
            own.targets += zip(group.rows, group.numbers, strict=True)
            own.page = group.page_of(slots_of(page_url)) or own.page
        else:
            foreign.append(_foreign(group, urls))
    _add_singles(own, foreign, kinds, urls)
    own.targets = [(row, number or int(_is_first(urls[row], [page_url]))) for row, number in own.targets]
    if not any(number for _, number in own.targets):
        _adopt(own, foreign)
    own.page = own.page or int(_is_first(page_url, [urls[row] for row, _ in own.targets]))
    return [one for one in [own, *foreign] if one.targets]


def _is_first(page_url: str, targets: Sequence[str]) -> bool:
    """Say whether a page is the first of its list: other pages are it and a number."""
    own = paged(page_url)
    return not own.explicit and any(_is_base(own, paged(url)) for url in targets)


def _is_own(group: PageLinkGroup, page_url: str, urls: Sequence[str]) -> bool:
    if group.page_of(slots_of(page_url)) or any(urls[row] == page_url for row in group.rows):
        return True
    own = paged(page_url)
    return any(_is_strictly_of(paged(urls[row]), own) for row in group.rows)


def _is_strictly_of(target: PagedUrl, own: PagedUrl) -> bool:
    """Say whether two URLs are of one list, one without query being of none that its query tells apart."""
    return target.is_list_of(own) and (bool(own.query) or not target.query or own.explicit)


def _foreign(group: PageLinkGroup, urls: Sequence[str]) -> PageList:
    targets = list(zip(group.rows, group.numbers, strict=True))
    if 1 not in group.numbers:
        page, first = paged(urls[group.rows[0]]), min(group.rows)
        for row in range(first - 1, max(-1, first - _NEAR - 1), -1):
            if urls[row] and (group.page_of(slots_of(urls[row])) == 1 or _is_base(paged(urls[row]), page)):
                targets.insert(0, (row, 1))
                break
    return PageList(False, 0, targets)


def _adopt(own: PageList, foreign: list[PageList]) -> None:
    """Let lists whose first page is not in sight be the page's own: its later pages have other names."""
    strays = [one for one in foreign if all(number != 1 for _, number in one.targets)]
    for one in strays:
        foreign.remove(one)
        own.targets += one.targets


def _is_base(base: PagedUrl, page: PagedUrl) -> bool:
    """Say whether a URL is another one without its page number."""
    is_cut = page.explicit or page.path != page.whole
    return is_cut and base.whole == page.path and base.query == page.query and not base.explicit


def _add_singles(own: PageList, foreign: list[PageList], kinds: Sequence[int], urls: Sequence[str]) -> None:
    """Add next, previous, first and last to the list they fit, else to the page's own."""
    pages = {urls[row]: one for one in foreign for row, _ in one.targets}
    for row, kind in enumerate(kinds):
        if kind not in (NO_PAGE_LINK, PAGE):
            one = pages.get(urls[row], own)
            one.targets.append((row, 1 if kind == FIRST else 0))


# Rank of a list without first page: above every page number or offset that counts.
_UNKNOWN_RANK = 1_000_000


class PageChains(Stateful):
    """The lists and threads of a site that run over several pages (union of pages that page links join).

    A page that names another one as its canonical form, and links to it, is of the list of that one:
    permalinks of posts. `observe` costs O(page links of the page), `first_page` O(1) as a rule; memory
    O(max_pages). What is told does not depend on the order of pages, as far as `max_list` is not reached.
    """

    _parents: Stored[dict[int, int]]
    _firsts: Stored[dict[int, tuple[int, str]]]

    def __init__(self, *, max_pages: int = 50_000, max_list: int = 2_000) -> None:
        self.max_pages, self.max_list = max_pages, max_list
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
