"""What destinations say about page links: the same place, a similar layout, the same word to another URL.

Jiang 2013, section 4.3.1, properties 2 to 4. The paper fetches up to thirty pages to find out; here nothing
is fetched for it: pages are compared as the crawl brings them, in any order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log1p, sqrt
from typing import NamedTuple

from linkscore_scoring.features.bags import plain_bag
from linkscore_scoring.hashing import hash64
from linkscore_scoring.pagination.anchors import NO_PAGE_LINK, PAGE
from linkscore_scoring.pagination.lists import page_lists
from linkscore_scoring.pagination.paged_urls import slots_of
from linkscore_scoring.state import Flat, Stateful, Stored
from linkscore_scoring.sums import left_sum
from linkscore_scoring.types import PageObservation

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

    `max_pages`: pages kept for comparison, the oldest go first. `max_families`: families counted; those
    beyond it stay unknown. `least`: links of a family that must hold before it is confirmed, or fail before
    it is denied. `enough`: links of a family after which it is decided, and no more are compared.

    `observe` costs O(page links + paths of the page) and one comparison for each link between two pages kept,
    and O(page links) once the families are decided. Memory O(max_pages x paths of a page).

    Differences from the paper: cosine of the bags of tag paths, or the same template cluster, stands for the
    similarity of trees, whose threshold the paper does not state; a family is confirmed by the majority of
    what the crawl brings, not of three fetches.
    """

    _pages: Stored[Flat[OrderedDict[int, _KeptPage]]]
    _sources: Stored[dict[int, list[int]]]
    _held: Stored[Flat[dict[int, list[int]]]]

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
    """Return the cosine of two bags of tag paths, in [0, 1]; 0 if one is empty. Cost O(paths).

    A path that occurs c times weighs ln(c + 1), so that a last page with few records is still like the first.
    """
    if len(one) > len(other):
        one, other = other, one
    dot = left_sum(log1p(count) * log1p(other[path]) for path, count in one.items() if path in other)
    norm = sqrt(_square(one) * _square(other))
    return dot / norm if norm else 0.0


def _square(bag: Mapping[int, int]) -> float:
    return left_sum(log1p(count) ** 2 for count in bag.values())
