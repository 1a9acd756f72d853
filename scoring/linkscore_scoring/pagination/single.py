"""Single page flips: next, previous, older, first, last, in words or arrows.

Jiang 2013, section 4.3.1. A word alone proves little (`next` may be the next article, month or picture), so
something else must agree: the link is one of a list whose numbers stand on the page, it stands beside such
numbers, it differs from the page's own URL by a page number, or words or mark-up name pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkscore_scoring.pagination.anchors import Mark
from linkscore_scoring.pagination.grouped import FlipGroup
from linkscore_scoring.pagination.kinds import FIRST, LAST, NEXT, NO_FLIP, PREV
from linkscore_scoring.pagination.slots import PagedUrl, paged, slots_of

_BESIDE = 3
"""Rows between numbered flips and words beside them."""


@dataclass(slots=True)
class PageView:
    """The links of a page, as far as single flips look at them.

    Attributes
    ----------
    url
        URL of the page.
    urls, marks
        As for `grouped.flip_groups`.
    places
        Place of each link, empty if unknown.
    groups
        The grouped flips found.
    """

    url: str
    urls: Sequence[str]
    marks: dict[int, Mark]
    places: Sequence[str]
    groups: list[FlipGroup]


def single_flips(page: PageView) -> dict[int, int]:
    """Return the kind of each single flip, by row. Cost O(candidates x groups), groups are few."""
    own = paged(page.url)
    host = own.whole.partition("/")[0]
    beside = {row + step for group in page.groups for row in group.rows for step in _around()}
    firsts = {page.urls[group.rows[0]] for group in page.groups if group.numbers[0] == 1}
    found: dict[int, int] = {}
    for row, mark in page.marks.items():
        url = page.urls[row]
        if mark.kind not in (NEXT, PREV, FIRST, LAST) or not url:
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
    found.update(_bars(page, found))
    return found


def _around() -> Sequence[int]:
    return [step for step in range(-_BESIDE, _BESIDE + 1) if step]


def _is_page_of_some(target: PagedUrl, page: PageView, own: PagedUrl) -> bool:
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


def _bars(page: PageView, found: dict[int, int]) -> dict[int, int]:
    """Return the rows of bars such as ``first < > last``: an end and a step in a row, at one place."""
    bars: dict[int, int] = {}
    run: list[int] = []
    rows = [row for row, mark in page.marks.items() if mark.kind in (NEXT, PREV, FIRST, LAST)]
    for row in [*rows, -1]:
        if run and (row == -1 or not _goes_on(page, run, row)):
            kinds = {r: page.marks[r].kind for r in run}
            if _is_bar(set(kinds.values())) and (page.places or found.keys().isdisjoint(run)):
                bars |= kinds
            run = []
        run.append(row)
    return bars


def _goes_on(page: PageView, run: list[int], row: int) -> bool:
    """Say whether a row belongs to the bar that a run of rows is."""
    if row - run[-1] > 2 or page.marks[row].kind in {page.marks[r].kind for r in run}:
        return False
    return not page.places or _bare(page.places[row]) == _bare(page.places[run[-1]])


def _bare(place: str) -> str:
    """Return a place without the classes at its end: those of ``next`` and ``previous`` differ."""
    return place.partition("[")[0]


def _is_bar(kinds: set[int]) -> bool:
    return bool(kinds & {FIRST, LAST}) and bool(kinds & {NEXT, PREV}) and NO_FLIP not in kinds
