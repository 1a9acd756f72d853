"""What destinations say about page flips: the same place, a similar layout, the same word to another URL.

Jiang 2013, section 4.3.1, properties 2 to 4. The paper fetches up to thirty pages to find out; here nothing
is fetched for it: pages are compared as the crawl brings them, in any order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkscore_scoring.errors import reading_state
from linkscore_scoring.features.bags import plain_bag
from linkscore_scoring.features.hashing import hash64
from linkscore_scoring.pagination.kinds import NO_FLIP, PAGE
from linkscore_scoring.pagination.likeness import bag_of_hashes, cosine
from linkscore_scoring.pagination.lists import flip_lists
from linkscore_scoring.pagination.slots import slots_of
from linkscore_scoring.types import PageObservation

UNKNOWN, CONFIRMED, DENIED = 0, 1, 2

_MIN_COSINE = 0.7
_PENDING_PER_PAGE = 8


class _Flip(NamedTuple):
    """One flip: its family and place, what it says, and the page it leads to."""

    family: int
    place: int
    word: int
    target: int


@dataclass(slots=True)
class _Seen:
    """What is kept of a page: cluster, bag of tag paths, and the flips of its own list."""

    cluster: int
    bag: dict[int, int]
    flips: list[_Flip]


class FlipConfirmation:
    """Which families of page flips on a site hold what they promise.

    A family is a place on pages together with the name of the number in the URLs found there, e.g. ``start``.
    A link of it holds if its destination looks like its source and has flips at the same place; if it has but
    the same word there, it must lead to a third page. It fails if the destination looks otherwise, or flips
    back and forth. Flips of other lists, such as the page numbers of threads on a board, are not judged:
    where they lead is no page of the list they stand on.

    Parameters
    ----------
    max_pages
        Pages kept for comparison, the oldest go first.
    max_families
        Families counted; those beyond it stay unknown.
    least
        Links of a family that must hold before it is confirmed, or fail before it is denied.
    enough
        Links of a family after which it is settled, and no more are compared.

    Notes
    -----
    `see` costs O(flips + paths of the page) and one comparison for each link between two pages kept, and
    O(flips) once the families are settled. Memory O(max_pages x paths of a page).

    Differences from the paper: cosine of the bags of tag paths, or the same template cluster, stands for the
    similarity of trees, whose threshold the paper does not state; a family is confirmed by the majority of
    what the crawl brings, not of three fetches.
    """

    def __init__(
        self, *, max_pages: int = 500, max_families: int = 2_000, least: int = 2, enough: int = 30
    ) -> None:
        self.max_pages, self.max_families = max_pages, max_families
        self.least, self.enough = least, enough
        self._pages: OrderedDict[int, _Seen] = OrderedDict()
        self._sources: dict[int, list[int]] = {}
        self._held: dict[int, list[int]] = {}
        self._denied: set[int] = set()

    def see(self, page: PageObservation, places: Sequence[int]) -> None:
        """Take in a page: judge its flips to pages that are kept, and flips of those to it.

        Parameters
        ----------
        page
            The page.
        places
            Place of each link, any hash that is the same at the same place of another page.
        """
        if page.failed or page.key in self._pages:
            return
        sources = [key for key in self._sources.pop(page.key, []) if self._is_open(key, page.key)]
        flips = _flips(page, places) if sources or self._has_open(page, places) else []
        if not sources and all(self._is_settled(flip.family) for flip in flips):
            return
        seen = _Seen(page.cluster, bag_of_hashes(plain_bag(page.paths)), flips)
        for source in sources:
            self._judge(source, self._pages[source], page.key, seen)
        self._keep(page.key, seen)

    def status(self, family: int) -> int:
        """Return `CONFIRMED`, `DENIED` or `UNKNOWN`."""
        held, failed = self._held.get(family, (0, 0))
        if held > failed and held >= self.least:
            return CONFIRMED
        return DENIED if failed > held and failed >= self.least else UNKNOWN

    def standing(self, kinds: Sequence[int], urls: Sequence[str], places: Sequence[int]) -> list[int]:
        """Return the kind of page flip of each link, `NO_FLIP` for links of families that are denied.

        Parameters
        ----------
        kinds
            What `page.page_flips` says, (n_links,).
        urls, places
            Of each link; places as for `see`.
        """
        if not self._denied:
            return list(kinds)
        rows = zip(kinds, urls, places, strict=True)
        return [NO_FLIP if kind and self._is_denied(url, at) else kind for kind, url, at in rows]

    def judge_link(self, source: int, target: int) -> int:
        """Return what a link between two pages that are kept says, `UNKNOWN` if it cannot be told."""
        if source not in self._pages or target not in self._pages:
            return UNKNOWN
        return _holds(source, self._pages[source], target, self._pages[target])

    def _has_open(self, page: PageObservation, places: Sequence[int]) -> bool:
        """Say whether a page has flips of families that are not settled."""
        rows = zip(page.flips, page.links.urls, places, strict=True)
        return any(kind and not self._is_settled(family_of(url, place)) for kind, url, place in rows)

    def _is_open(self, source: int, target: int) -> bool:
        """Say whether a page that is kept has flips to another whose families are not settled."""
        flips = self._pages[source].flips if source in self._pages else []
        return any(flip.target == target and not self._is_settled(flip.family) for flip in flips)

    def _is_settled(self, family: int) -> bool:
        return family in self._held and sum(self._held[family]) >= self.enough

    def _keep(self, key: int, seen: _Seen) -> None:
        self._pages[key] = seen
        for target in dict.fromkeys(flip.target for flip in seen.flips):
            if target in self._pages and target != key:
                self._judge(key, seen, target, self._pages[target])
            elif len(waiting := self._sources.setdefault(target, [])) < _PENDING_PER_PAGE:
                waiting.append(key)
        if len(self._pages) > self.max_pages:
            gone, old = self._pages.popitem(last=False)
            for flip in old.flips:
                if self._sources.get(flip.target) == [gone]:
                    del self._sources[flip.target]

    def _judge(self, source: int, seen: _Seen, target: int, other: _Seen) -> None:
        verdict = _holds(source, seen, target, other)
        if verdict == UNKNOWN:
            return
        for family in {flip.family for flip in seen.flips if flip.target == target}:
            if family in self._held or len(self._held) < self.max_families:
                self._held.setdefault(family, [0, 0])[verdict == DENIED] += 1
                self._note(family)

    def _note(self, family: int) -> None:
        (self._denied.add if self.status(family) == DENIED else self._denied.discard)(family)

    def _is_denied(self, url: str, place: int) -> bool:
        return family_of(url, place) in self._denied

    def to_state(self) -> dict[str, Any]:
        """Return what is known as plain values."""
        return {
            "pages": [
                [key, seen.cluster, list(seen.bag.items()), [list(flip) for flip in seen.flips]]
                for key, seen in self._pages.items()
            ],
            "sources": [[target, sources] for target, sources in self._sources.items()],
            "held": [[family, *counts] for family, counts in self._held.items()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over what `to_state` gave.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("flip confirmation"):
            self._pages = OrderedDict(
                (int(key), _Seen(int(cluster), dict(bag), [_Flip(*map(int, flip)) for flip in flips]))
                for key, cluster, bag, flips in state["pages"]
            )
            self._sources = {int(target): list(sources) for target, sources in state["sources"]}
            self._held = {int(family): [int(held), int(failed)] for family, held, failed in state["held"]}
            self._denied = {family for family in self._held if self.status(family) == DENIED}


def family_of(url: str, place: int) -> int:
    """Return the family of a flip: its place and the names of the numbers in its URL."""
    slots = slots_of(url)
    names = [slots.name(slot) for slot in range(len(slots.values)) if slots.names_page(slot)]
    return hash64(f"{place} {' '.join(names)}")


def _flips(page: PageObservation, places: Sequence[int]) -> list[_Flip]:
    """Return the flips of a page to other pages of its own list; all numbers are one word."""
    links = page.links
    lists = flip_lists(page.url, links.urls, links.anchors, page.flips)
    return [
        _Flip(family_of(links.urls[row], places[row]), places[row], page.flips[row], links.keys[row])
        for one in lists
        if one.is_own
        for row, _ in one.targets
        if links.keys[row] != page.key
    ]


def _holds(source: int, seen: _Seen, target: int, other: _Seen) -> int:
    """Say whether the flips from one page to another hold."""
    mine = [flip for flip in seen.flips if flip.target == target]
    if mine and not _alike(seen, other):
        return DENIED
    verdicts = {_goes_on(flip, source, other) for flip in mine}
    return CONFIRMED if CONFIRMED in verdicts else DENIED if DENIED in verdicts else UNKNOWN


def _alike(seen: _Seen, other: _Seen) -> bool:
    if seen.cluster >= 0 and seen.cluster == other.cluster:
        return True
    return cosine(seen.bag, other.bag) >= _MIN_COSINE


def _goes_on(flip: _Flip, source: int, other: _Seen) -> int:
    """Say whether a destination has flips where its source has: on to a third page, or back."""
    here = [f for f in other.flips if f.place == flip.place]
    same = [f for f in here if f.word == flip.word]
    if flip.word != PAGE and same and all(f.target == source for f in same):
        return CONFIRMED if any(f.target != source for f in here) else DENIED
    return CONFIRMED if here else UNKNOWN
