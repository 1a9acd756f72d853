"""Which links of one page link pages: read off anchors, URLs, places and rel, nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from linkscore_scoring.features.types import Links
from linkscore_scoring.pagination.anchors import (
    FIRST,
    LAST,
    MAX_CHARS,
    NEXT,
    NO_PAGE_LINK,
    PAGE,
    PREV,
    Mark,
    read_anchor,
)
from linkscore_scoring.pagination.groups import PageLinkGroup, lone_page_links, page_link_groups
from linkscore_scoring.pagination.paged_urls import PagedUrl, paged, slots_of
from linkscore_scoring.types import PAGE_FLIP

NO_TYPE = 0
"""URL type of a link of which a policy says nothing."""

# Characters at the end of a URL that are searched for a page number: a digit and ``.shtml``, or a slash.
_MAX_ENDING = 7
_ENDS_IN_NUMBER = re.compile(r"[0-9](?:/|\.[a-z0-9]{3,5})?$").search
_RELS = {"next": NEXT, "prev": PREV, "previous": PREV, "start": FIRST, "first": FIRST, "last": LAST}
_CLASS_WORD = re.compile(r"[^a-z]+")
_REMEMBERED = 4_096  # pairs of rel and place of links without text: a bound, sites have few
_MOST_TITLES = 16_384  # a bound
_titles: set[str] = set()
"""Anchors read lately that say nothing."""
_CLASS_KINDS = {"next": NEXT, "prev": PREV, "previous": PREV, "first": FIRST, "last": LAST}


def find_page_links(
    page_url: str, urls: Sequence[str], anchors: Sequence[str], rels: Sequence[str], places: Sequence[str]
) -> list[int]:
    """Return the kind of page link each link of a page is, 0 for none; see `anchors`.

    `page_url`: URL of the page. `urls`, `anchors`, `rels`: of each link, in document order; `rels` may be
    empty if unknown. `places`: text of the place of each link, a link path or a link group that ends in the
    classes of the ``a`` in brackets; may be empty if unknown.

    `list of int`: (n_links,), one of `NO_PAGE_LINK`, `PAGE`, `NEXT`, `PREV`, `FIRST`, `LAST`.

    Cost O(characters of the links that may be page links); no step backtracks.

    Differences from the paper: no destination is fetched, URLs and words decide; see `confirmation` for what
    destinations add.

    References
    ----------
    Jiang, Song, Yu, Lin, "FoCUS: learning to crawl web forums", TKDE 25(6), 2013, section 4.3.1.

    Examples
    --------
    >>> urls = ["http://h/t?id=7", "http://h/t?id=7&page=2", "http://h/t?id=7&page=3", "http://h/t?id=8"]
    >>> find_page_links("http://h/t?id=7", urls, ["1", "2", "3", "Next topic"], [], [])
    [1, 1, 1, 0]
    """
    marks = _marks(anchors, rels, places)
    kinds = _turning(page_url, urls)
    if not marks:
        return kinds
    groups = page_link_groups(page_url, urls, marks)
    for row, kind in named_page_links(_LinkRows(page_url, urls, marks, places, groups)).items():
        kinds[row] = kind
    for group in [*groups, *lone_page_links(urls, marks, kinds)]:
        for row in group.rows:
            kinds[row] = PAGE
        _add_beside(group, urls, kinds)
    return kinds


def page_links_of(page_url: str, links: Links) -> list[int]:
    """Return `find_page_links` of extracted links."""
    places = list(map(links.link_path_table.__getitem__, links.link_paths))
    return find_page_links(page_url, links.urls, links.anchors, links.rels, places)


def with_page_links(url_types: Sequence[int] | None, page_links: Sequence[int]) -> list[int] | None:
    """Return the types of URLs that a policy tells, and `PAGE_FLIP` where it tells none; None if all are 0.

    `url_types`: what the policy says, one of `site.url_rules` per link, or None. `page_links`: kind of page
    link of each link.
    """
    if url_types is None:
        return [PAGE_FLIP if kind else NO_TYPE for kind in page_links] if any(page_links) else None
    return [own or (PAGE_FLIP if kind else NO_TYPE) for own, kind in zip(url_types, page_links, strict=True)]


def _marks(anchors: Sequence[str], rels: Sequence[str], places: Sequence[str]) -> dict[int, Mark]:
    """Return what each anchor says, by row; an anchor without text speaks by its rel or its classes."""
    marks: dict[int, Mark] = {}
    # Most anchors say nothing, and the same ones on page after page: one look-up each.
    for row in [row for row, anchor in enumerate(anchors) if anchor not in _titles]:
        if anchor := anchors[row]:
            if len(anchor) <= MAX_CHARS:
                if (mark := read_anchor(anchor)).kind:
                    marks[row] = mark
                else:
                    _remember_title(anchor)
        elif kind := _silent_kind(rels[row] if rels else "", places[row] if places else ""):
            marks[row] = Mark(kind)
    return marks


def _remember_title(anchor: str) -> None:
    if len(_titles) >= _MOST_TITLES:
        _titles.clear()
    _titles.add(anchor)


def _last_classes(place: str) -> str:
    """Return what stands in the brackets that end a place; empty if none do. O(length)."""
    if not place.endswith("]"):
        return ""
    return place[place.rfind("]", 0, -1) + 1 : -1].partition("[")[2]


@lru_cache(maxsize=_REMEMBERED)
def _silent_kind(rel: str, place: str) -> int:
    for token in rel.split():
        if token in _RELS:
            return _RELS[token]
    words = _CLASS_WORD.split(_last_classes(place).lower())
    return next((_CLASS_KINDS[word] for word in words if word in _CLASS_KINDS), NO_PAGE_LINK)


def _turning(page_url: str, urls: Sequence[str]) -> list[int]:
    """Return the links whose URL alone says that they turn one page on or back, whatever their text."""
    own = paged(page_url)
    if own.number is not None and not own.counts:
        return [NO_PAGE_LINK] * len(urls)
    base = own.path.partition("/")[2]
    return [_turn(own, url) if base in url and url != page_url else NO_PAGE_LINK for url in urls]


def _turn(own: PagedUrl, url: str) -> int:
    if "?" not in url and not _ENDS_IN_NUMBER(url, len(url) - _MAX_ENDING):
        return NO_PAGE_LINK
    target = paged(url)
    if not target.counts or target.query != own.query or not target.is_list_of(own):
        return NO_PAGE_LINK
    return {1: NEXT, -1: PREV}.get(target.page - own.page, NO_PAGE_LINK) if target.page > 0 else NO_PAGE_LINK


def _add_beside(group: PageLinkGroup, urls: Sequence[str], kinds: list[int]) -> None:
    """Add the links right before and after a group that lead to its later pages, whatever they say."""
    for edge, step, kind in ((min(group.rows), -1, PREV), (max(group.rows), 1, NEXT)):
        for row in (edge + step, edge + 2 * step):
            if not 0 <= row < len(urls) or kinds[row]:
                continue
            if group.page_of(slots_of(urls[row])) < 2:
                break
            kinds[row] = kind


_BESIDE = 3
"""Rows between numbered page links and words beside them; chosen with the labelled links in view."""

_AROUND = [step for step in range(-_BESIDE, _BESIDE + 1) if step]
_NAMED = (NEXT, PREV, FIRST, LAST)


@dataclass(slots=True)
class _LinkRows:
    """The links of a page, as far as named page links look at them.

    `url`: URL of the page. `urls`, `marks`: as for `grouped.page_link_groups`. `places`: place of each link,
    empty if unknown. `groups`: the numbered page links found.
    """

    url: str
    urls: Sequence[str]
    marks: dict[int, Mark]
    places: Sequence[str]
    groups: list[PageLinkGroup]


def named_page_links(page: _LinkRows) -> dict[int, int]:
    """Return the kind of each named page link, by row. Cost O(candidates x groups), groups are few."""
    named = [(row, mark) for row, mark in page.marks.items() if mark.kind in _NAMED]
    if not named:
        return {}
    own = paged(page.url)
    host = own.whole.partition("/")[0]
    beside = {row + step for group in page.groups for row in group.rows for step in _AROUND}
    firsts = {page.urls[group.rows[0]] for group in page.groups if group.numbers[0] == 1}
    found: dict[int, int] = {}
    for row, mark in named:
        url = page.urls[row]
        if not url:
            continue
        target = paged(url)
        if target.whole.partition("/")[0] != host:
            continue
        slots = slots_of(url)
        if (
            url in firsts
            or any(group.page_of(slots) for group in page.groups)
            or (row in beside and _is_page_of_some(target, page, own))
            or _turns(mark, target, own, url != page.url)
        ):
            found[row] = mark.kind
    found.update(_bars(page, [row for row, _ in named], found))
    return found


def _is_page_of_some(target: PagedUrl, page: _LinkRows, own: PagedUrl) -> bool:
    if target.is_list_of(own):
        return True
    return any(target.is_list_of(paged(page.urls[group.rows[-1]])) for group in page.groups)


def _turns(mark: Mark, target: PagedUrl, own: PagedUrl, differs: bool) -> bool:
    """Say whether a link turns from the page's own URL to a page of its list."""
    if mark.names_pages and differs:
        return True
    if not differs or not target.is_list_of(own) or (target.page == own.page and target.query != own.query):
        return False
    if target.explicit or own.explicit:
        return True
    return target.number is not None and own.number is None and not mark.is_arrow


def _bars(page: _LinkRows, rows: Sequence[int], found: dict[int, int]) -> dict[int, int]:
    """Return the rows of bars such as ``first < > last``: an end and a step in a row, at one place.

    `rows` are those of named page links.
    """
    bars: dict[int, int] = {}
    run: list[int] = []
    for row in [*rows, -1]:
        if run and (row == -1 or not _goes_on(page, run, row)):
            kinds = {r: page.marks[r].kind for r in run}
            if _is_bar(set(kinds.values())) and (page.places or found.keys().isdisjoint(run)):
                bars |= kinds
            run = []
        run.append(row)
    return bars


def _goes_on(page: _LinkRows, run: list[int], row: int) -> bool:
    """Say whether a row belongs to the bar that a run of rows is."""
    if row - run[-1] > 2 or page.marks[row].kind in {page.marks[r].kind for r in run}:
        return False
    return not page.places or _bare(page.places[row]) == _bare(page.places[run[-1]])


def _bare(place: str) -> str:
    """Return a place without the classes at its end: those of ``next`` and ``previous`` differ."""
    return place.partition("[")[0]


def _is_bar(kinds: set[int]) -> bool:
    return bool(kinds & {FIRST, LAST}) and bool(kinds & {NEXT, PREV}) and NO_PAGE_LINK not in kinds
