"""Pagination: links to other pages of one list or thread, the lists they are of, and what destinations say.

A *page link* is a link to another page of the same list or thread: ``1 2 3``, ``next``, ``older posts``.
`find_page_links` tells them by one page alone (`anchors` reads texts, `paged_urls` numbers in URLs, `groups`
both together), `page_lists` which list each is of, `PageChains` joins pages over a site, and
`PageLinkConfirmation` compares them with the pages they lead to.

Source: Jiang, Song, Yu and Lin 2013, FoCUS, TKDE 25(6), section 4.3.1, who call them page-flipping links.
"""

from linkscore_scoring.pagination.anchors import (
    FIRST,
    KIND_NAMES,
    LAST,
    NEXT,
    NO_PAGE_LINK,
    PAGE,
    PREV,
)
from linkscore_scoring.pagination.chains import PageChains
from linkscore_scoring.pagination.confirmation import CONFIRMED, DENIED, UNKNOWN, PageLinkConfirmation
from linkscore_scoring.pagination.lists import PageList, page_lists
from linkscore_scoring.pagination.page_links import find_page_links, page_links_of, with_page_links

__all__ = [
    "CONFIRMED",
    "DENIED",
    "FIRST",
    "KIND_NAMES",
    "LAST",
    "NEXT",
    "NO_PAGE_LINK",
    "PAGE",
    "PREV",
    "UNKNOWN",
    "PageChains",
    "PageLinkConfirmation",
    "PageList",
    "find_page_links",
    "page_links_of",
    "page_lists",
    "with_page_links",
]
