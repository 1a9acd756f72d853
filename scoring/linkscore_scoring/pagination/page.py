"""Which links of one page flip pages: read off anchors, URLs, places and rel, nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Sequence

from linkscore_scoring.features.types import Links
from linkscore_scoring.pagination.anchors import MAX_CHARS, Mark, read_anchor
from linkscore_scoring.pagination.grouped import FlipGroup, flip_groups, lone_flips
from linkscore_scoring.pagination.kinds import FIRST, LAST, NEXT, NO_FLIP, PAGE, PREV
from linkscore_scoring.pagination.single import PageView, single_flips
from linkscore_scoring.pagination.slots import PagedUrl, paged, slots_of
from linkscore_scoring.types import PAGE_FLIP

NO_TYPE = 0

_MAX_ENDING = 7
_ENDS_IN_NUMBER = re.compile(r"[0-9](?:/|\.[a-z0-9]{3,5})?$").search
_RELS = {"next": NEXT, "prev": PREV, "previous": PREV, "start": FIRST, "first": FIRST, "last": LAST}
_CLASS = re.compile(r"\[([^\]]*)\]$")
_CLASS_WORD = re.compile(r"[^a-z]+")
_CLASS_KINDS = {"next": NEXT, "prev": PREV, "previous": PREV, "first": FIRST, "last": LAST}


def page_flips(
    page_url: str, urls: Sequence[str], anchors: Sequence[str], rels: Sequence[str], places: Sequence[str]
) -> list[int]:
    """Return the kind of page flip each link of a page is, 0 for none; see `flips.kinds`.

    Parameters
    ----------
    page_url
        URL of the page.
    urls, anchors, rels
        Of each link, in document order; `rels` may be empty if unknown.
    places
        Text of the place of each link, an Apath or a link group that ends in the classes of the ``a`` in
        brackets; may be empty if unknown.

    Returns
    -------
    list of int
        (n_links,), one of `NO_FLIP`, `PAGE`, `NEXT`, `PREV`, `FIRST`, `LAST`.

    Notes
    -----
    Cost O(characters of the links that may be flips); no step backtracks.

    Differences from the paper: no destination is fetched, URLs and words decide; see `flips.confirm` for what
    destinations add.

    References
    ----------
    Jiang, Song, Yu, Lin, "FoCUS: learning to crawl web forums", TKDE 25(6), 2013, section 4.3.1.
    """
    marks = _marks(anchors, rels, places)
    kinds = _turning(page_url, urls)
    if not marks:
        return kinds
    groups = flip_groups(page_url, urls, marks)
    for row, kind in single_flips(PageView(page_url, urls, marks, places, groups)).items():
        kinds[row] = kind
    for group in [*groups, *lone_flips(urls, marks, kinds)]:
        for row in group.rows:
            kinds[row] = PAGE
        _add_beside(group, urls, kinds)
    return kinds


def flips_of(page_url: str, links: Links) -> list[int]:
    """Return `page_flips` of extracted links."""
    places = [links.apath_table[i] for i in links.apaths]
    return page_flips(page_url, links.urls, links.anchors, links.rels, places)


def with_flips(url_types: Sequence[int] | None, flips: Sequence[int]) -> list[int] | None:
    """Return the types of URLs that a policy tells, and `PAGE_FLIP` where it tells none; None if all are 0.

    Parameters
    ----------
    url_types
        What the policy says, one of `site.url_rules` per link, or None.
    flips
        Kind of page flip of each link.
    """
    if url_types is None:
        return [PAGE_FLIP if kind else NO_TYPE for kind in flips] if any(flips) else None
    return [own or (PAGE_FLIP if kind else NO_TYPE) for own, kind in zip(url_types, flips, strict=True)]


def _marks(anchors: Sequence[str], rels: Sequence[str], places: Sequence[str]) -> dict[int, Mark]:
    """Return what each anchor says, by row; an anchor without text speaks by its rel or its classes."""
    marks: dict[int, Mark] = {}
    for row, anchor in enumerate(anchors):
        if anchor:
            if len(anchor) <= MAX_CHARS and (mark := read_anchor(anchor)).kind:
                marks[row] = mark
        elif kind := _silent_kind(rels[row] if rels else "", places[row] if places else ""):
            marks[row] = Mark(kind)
    return marks


def _silent_kind(rel: str, place: str) -> int:
    for token in rel.split():
        if token in _RELS:
            return _RELS[token]
    classes = _CLASS.search(place)
    if classes is None or not classes[1]:
        return NO_FLIP
    words = _CLASS_WORD.split(classes[1].lower())
    return next((_CLASS_KINDS[word] for word in words if word in _CLASS_KINDS), NO_FLIP)


def _turning(page_url: str, urls: Sequence[str]) -> list[int]:
    """Return the links whose URL alone says that they turn one page on or back, whatever their text."""
    own = paged(page_url)
    if own.number is not None and not own.counts:
        return [NO_FLIP] * len(urls)
    base = own.path.partition("/")[2]
    return [_turn(own, url) if base in url and url != page_url else NO_FLIP for url in urls]


def _turn(own: PagedUrl, url: str) -> int:
    if "?" not in url and not _ENDS_IN_NUMBER(url, len(url) - _MAX_ENDING):
        return NO_FLIP
    target = paged(url)
    if not target.counts or target.query != own.query or not target.is_list_of(own):
        return NO_FLIP
    return {1: NEXT, -1: PREV}.get(target.page - own.page, NO_FLIP) if target.page > 0 else NO_FLIP


def _add_beside(group: FlipGroup, urls: Sequence[str], kinds: list[int]) -> None:
    """Add the links right before and after a group that lead to its later pages, whatever they say."""
    for edge, step, kind in ((min(group.rows), -1, PREV), (max(group.rows), 1, NEXT)):
        for row in (edge + step, edge + 2 * step):
            if not 0 <= row < len(urls) or kinds[row]:
                continue
            if group.page_of(slots_of(urls[row])) < 2:
                break
            kinds[row] = kind
