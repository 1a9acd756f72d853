"""Which list each page link of a page belongs to: the page's own, or one that the page links to."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log1p, sqrt
from typing import NamedTuple

from linkscore_scoring.features.types import plain_bag
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.anchors import FIRST, NO_PAGE_LINK, PAGE, read_anchor
from linkscore_scoring.pagination.page_links import PageLinkGroup, page_link_groups
from linkscore_scoring.pagination.paged_urls import PagedUrl, paged, slots_of
from linkscore_scoring.state import State, Stateful, Stored
from linkscore_scoring.sums import left_sum
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


UNKNOWN, CONFIRMED, DENIED = 0, 1, 2
"""What is known of a family of page links."""

# Cosine of tag paths from which two pages look alike. The paper states no threshold; with this one 98 of 105
# page links found are confirmed and 3 denied (docs/reference/recognition.md).
_MIN_COSINE = 0.7
# Pages that wait for one that was not fetched yet, a bound of memory: its other links are judged by the
# family.
_PENDING_PER_PAGE = 8
# Page links whose family is remembered, a bound: those of a list stand on each of its pages.
_REMEMBERED = 4_096


class _PageLink(NamedTuple):
    """One page link: its family and place, what it says, and the page it leads to."""

    family: int
    place: int
    word: int
    target: int


@dataclass(slots=True)
class _KeptPage:
    """What is kept of a page: cluster, bag of tag paths, and the page links of its own list."""

    cluster: int
    bag: dict[int, int]
    page_links: list[_PageLink]


class PageLinkConfirmation(Stateful):
    """Which families of page links on a site hold what they promise.

    A family is a place on pages together with the name of the number in the URLs found there, e.g. ``start``.
    A link of it holds if its destination looks like its source and has page links at the same place; if it
    has but the same word there, it must lead to a third page. It fails if the destination looks otherwise, or
    leads back and forth. Page links of other lists, such as the page numbers of threads on a board, are not
    judged: where they lead is no page of the list they stand on.

    `observe` costs O(page links + paths of the page) and one comparison for each link between two pages kept,
    and O(page links) once the families are decided. Memory O(max_pages x paths of a page).

    Differences from the paper: cosine of the bags of tag paths, or the same template cluster, stands for the
    similarity of trees, whose threshold the paper does not state; a family is confirmed by the majority of
    what the crawl brings, not of three fetches.
    """

    _pages: Stored[OrderedDict[int, _KeptPage]]
    _sources: Stored[dict[int, list[int]]]
    _held: Stored[dict[int, list[int]]]

    def __init__(
        self, *, max_pages: int = 500, max_families: int = 2_000, least: int = 2, enough: int = 30
    ) -> None:
        self.max_pages, self.max_families = max_pages, max_families
        self.least, self.enough = least, enough
        self._pages = OrderedDict()
        self._sources, self._held = {}, {}
        self._denied: set[int] = set()

    def observe(self, page: PageObservation, places: Sequence[int]) -> None:
        """Take in a page: compare it with the pages kept that its page links lead to, or that lead to it.

        `page`: the page. `places`: place of each link, any hash that is the same at the same place of
        another page.
        """
        if page.failed or page.key in self._pages:
            return
        sources = [key for key in self._sources.pop(page.key, []) if self._is_open(key, page.key)]
        links = _own_page_links(page, places) if sources or self._has_open(page, places) else []
        if not sources and all(self._is_decided(link.family) for link in links):
            return
        seen = _KeptPage(page.cluster, bag_of_hashes(plain_bag(page.paths)), links)
        for source in sources:
            self._record(source, self._pages[source], page.key, seen)
        self._keep(page.key, seen)

    def status(self, family: int) -> int:
        """Return `CONFIRMED`, `DENIED` or `UNKNOWN`."""
        held, failed = self._held.get(family, (0, 0))
        if held > failed and held >= self.least:
            return CONFIRMED
        return DENIED if failed > held and failed >= self.least else UNKNOWN

    def confirmed_places(self) -> set[int]:
        """Return the places, as `observe` was given them, whose page links held; cost O(pages kept)."""
        links = (link for page in self._pages.values() for link in page.page_links)
        return {link.place for link in links if self.status(link.family) == CONFIRMED}

    def without_denied(self, kinds: Sequence[int], urls: Sequence[str], places: Sequence[int]) -> list[int]:
        """Return the kind of page link of each link, `NO_PAGE_LINK` for links of families that are denied.

        `kinds`: what `find_page_links` says, (n_links,). `urls`, `places`: of each link; places as for
        `observe`.
        """
        if not self._denied:
            return list(kinds)
        rows = zip(kinds, urls, places, strict=True)
        return [NO_PAGE_LINK if kind and self._is_denied(url, at) else kind for kind, url, at in rows]

    def verdict_of_link(self, source: int, target: int) -> int:
        """Return what a link between two pages that are kept says, `UNKNOWN` if it cannot be told."""
        if source not in self._pages or target not in self._pages:
            return UNKNOWN
        return _holds(source, self._pages[source], target, self._pages[target])

    def _has_open(self, page: PageObservation, places: Sequence[int]) -> bool:
        """Say whether a page has page links of families that are not decided."""
        rows = zip(page.page_links, page.links.urls, places, strict=True)
        return any(kind and not self._is_decided(family_of(url, place)) for kind, url, place in rows)

    def _is_open(self, source: int, target: int) -> bool:
        """Say whether a page that is kept has page links to another whose families are not decided."""
        links = self._pages[source].page_links if source in self._pages else []
        return any(link.target == target and not self._is_decided(link.family) for link in links)

    def _is_decided(self, family: int) -> bool:
        return family in self._held and sum(self._held[family]) >= self.enough

    def _keep(self, key: int, seen: _KeptPage) -> None:
        self._pages[key] = seen
        for target in dict.fromkeys(link.target for link in seen.page_links):
            if target in self._pages and target != key:
                self._record(key, seen, target, self._pages[target])
            elif len(waiting := self._sources.setdefault(target, [])) < _PENDING_PER_PAGE:
                waiting.append(key)
        if len(self._pages) > self.max_pages:
            gone, old = self._pages.popitem(last=False)
            for link in old.page_links:
                if self._sources.get(link.target) == [gone]:
                    del self._sources[link.target]

    def _record(self, source: int, seen: _KeptPage, target: int, other: _KeptPage) -> None:
        verdict = _holds(source, seen, target, other)
        if verdict == UNKNOWN:
            return
        for family in {link.family for link in seen.page_links if link.target == target}:
            if family in self._held or len(self._held) < self.max_families:
                self._held.setdefault(family, [0, 0])[verdict == DENIED] += 1
                self._mark(family)

    def _mark(self, family: int) -> None:
        (self._denied.add if self.status(family) == DENIED else self._denied.discard)(family)

    def _is_denied(self, url: str, place: int) -> bool:
        return family_of(url, place) in self._denied

    def after_load(self) -> None:
        """Find the families that are denied."""
        self._denied = {family for family in self._held if self.status(family) == DENIED}


@lru_cache(maxsize=_REMEMBERED)
def family_of(url: str, place: int) -> int:
    """Return the family of a page link: its place and the names of the numbers in its URL."""
    slots = slots_of(url)
    names = [slots.name(slot) for slot in range(len(slots.values)) if slots.names_page(slot)]
    return hash64(f"{place} {' '.join(names)}")


def _own_page_links(page: PageObservation, places: Sequence[int]) -> list[_PageLink]:
    """Return the page links of a page to other pages of its own list; all numbers are one word."""
    links = page.links
    lists = page_lists(page.url, links.urls, links.anchors, page.page_links)
    return [
        _PageLink(family_of(links.urls[row], places[row]), places[row], page.page_links[row], links.keys[row])
        for one in lists
        if one.is_own
        for row, _ in one.targets
        if links.keys[row] != page.key
    ]


def _holds(source: int, seen: _KeptPage, target: int, other: _KeptPage) -> int:
    """Say whether the page links from one page to another hold."""
    mine = [link for link in seen.page_links if link.target == target]
    if mine and not _alike(seen, other):
        return DENIED
    verdicts = {_goes_on(link, source, other) for link in mine}
    return CONFIRMED if CONFIRMED in verdicts else DENIED if DENIED in verdicts else UNKNOWN


def _alike(seen: _KeptPage, other: _KeptPage) -> bool:
    if seen.cluster >= 0 and seen.cluster == other.cluster:
        return True
    return cosine(seen.bag, other.bag) >= _MIN_COSINE


def _goes_on(link: _PageLink, source: int, other: _KeptPage) -> int:
    """Say whether a destination has page links where its source has: on to a third page, or back."""
    here = [f for f in other.page_links if f.place == link.place]
    same = [f for f in here if f.word == link.word]
    if link.word != PAGE and same and all(f.target == source for f in same):
        return CONFIRMED if any(f.target != source for f in here) else DENIED
    return CONFIRMED if here else UNKNOWN


MAX_PATHS = 300
"""Tag paths of a page that are kept, the most frequent ones."""


def bag_of_hashes(bag: Mapping[str, int]) -> dict[int, int]:
    """Return the most frequent tag paths by hash; ties in order of the text."""
    kept = sorted(bag.items(), key=lambda item: (-item[1], item[0]))[:MAX_PATHS]
    return {hash64(path): count for path, count in kept}


def cosine(one: Mapping[int, int], other: Mapping[int, int]) -> float:
    """Return the cosine of two bags of tag paths, in [0, 1]; 0 if one is empty. Cost O(paths)."""
    if len(one) > len(other):
        one, other = other, one
    dot = left_sum(log1p(count) * log1p(other[path]) for path, count in one.items() if path in other)
    norm = sqrt(_square(one) * _square(other))
    return dot / norm if norm else 0.0


def _square(bag: Mapping[int, int]) -> float:
    return left_sum(log1p(count) ** 2 for count in bag.values())
