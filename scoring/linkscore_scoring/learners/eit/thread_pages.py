"""The pages of a thread that one page tells about: itself, those it turns to, its canonical form."""

from __future__ import annotations

from linkscore_scoring.learners.eit.links import known_identity
from linkscore_scoring.site.flips.anchors import read_anchor
from linkscore_scoring.site.flips.kinds import FIRST, PAGE, PREV
from linkscore_scoring.site.flips.slots import paged
from linkscore_scoring.site.links import PageObservation

FIRST_PAGE, FAR = 0, 1_000_000

Member = tuple[int, int, str]
"""Identity hash, page number (`FIRST_PAGE` if it is the first), identity."""


def thread_pages(page: PageObservation, flips: list[int]) -> list[Member]:
    """Return the pages of the thread that a page is one of; cost O(flips).

    The first page is the one that an anchor calls 1 or first, or whose URL names no page number above 1.
    """
    links = page.links
    rows = [row for row, kind in enumerate(flips) if kind]
    found = [
        (links.keys[row], _number(flips[row], links.urls[row], links.anchors[row]), links.urls[row])
        for row in rows
    ]
    elsewhere = any(number == FIRST_PAGE and key != page.key for key, number, _ in found)
    own = _named(page.url)
    if own is None:
        own = FAR if elsewhere else FIRST_PAGE
    members = [(page.key, own, page.url), *found]
    if page.is_copy and not own:
        canonical = (row for row, key in enumerate(links.keys) if key == page.canonical)
        row = next(canonical, None)
        members = [(page.key, FAR, page.url), *found]
        if row is not None:
            members.append((page.canonical, _named(links.urls[row]) or FIRST_PAGE, links.urls[row]))
    return [(key, number, known_identity(url)) for key, number, url in members]


def _number(kind: int, url: str, anchor: str) -> int:
    """Return the number of the page a link turns to, `FAR` if it is not the first and nothing tells more."""
    number = read_anchor(anchor).number if kind == PAGE else 0
    if kind == FIRST or number == 1:
        return FIRST_PAGE
    named = _named(url)
    if named is not None:
        return named
    return FIRST_PAGE if kind == PREV and not number else number or FAR


def _named(url: str) -> int | None:
    """Return the page number that a URL names, `FIRST_PAGE` up to 1; None if it names none."""
    found = paged(url)
    if not found.explicit or found.number is None:
        return None
    return FIRST_PAGE if 0 <= found.number <= 1 else found.number if found.number > 1 else FAR
