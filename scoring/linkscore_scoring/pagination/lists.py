"""Which list each page link of a page belongs to: the page's own, or one that the page links to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkscore_scoring.pagination.anchors import FIRST, NO_PAGE_LINK, PAGE, read_anchor
from linkscore_scoring.pagination.groups import PageLinkGroup, page_link_groups
from linkscore_scoring.pagination.paged_urls import PagedUrl, paged, slots_of

_NEAR = 6
"""Rows before a group among which the first page of its list may stand; as `groups._BEFORE`."""


@dataclass(slots=True)
class PageList:
    """Page links of one list.

    `is_own`: the page that the links stand on is of the list. `page`: which page of it that one is, 0 if not
    known. `targets`: rows of the page links, and of the link to the first page if it stands before them,
    with the number of the page each leads to, 0 if not known.
    """

    is_own: bool
    page: int
    targets: list[tuple[int, int]]


def page_lists(
    page_url: str, urls: Sequence[str], anchors: Sequence[str], kinds: Sequence[int]
) -> list[PageList]:
    """Return the lists that the page links of a page belong to, the own one first.

    `page_url`, `urls`, `anchors`: as for `find_page_links`. `kinds`: what that found.

    Cost O(characters of the URLs of page links).
    """
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
