"""Sitemaps and feeds that are due again: the server reads them, the spider does not see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scrapy import Request
from w3lib.url import canonicalize_url

from linkscore.scrapy.scoring import PageAnswer
from linkscore.sitemaps import MAX_DEPTH, MAX_SITEMAPS, kind_of, named_sitemaps

LISTING = "linkscore_listing"
"""Key of `Request.meta`: how many indexes are above a listing. It is kept in a job directory; a callback that
is no method of the spider could not be."""


def listing_request(url: str, above: int = 0) -> Request:
    """Return a request whose response, which the spider did not ask for, is kept from it."""
    return Request(url, meta={LISTING: above})


def is_listing(response: Any) -> bool:
    """Say whether a response was asked for as a sitemap or feed; what came instead is one too."""
    return LISTING in response.request.meta


class Listings:
    """Goes on from listings: to sitemaps that an index names, and to pages if the spider wants them.

    A spider wants them if it has a method `listed_request(url)`, which returns a Request, or None for a page
    that it does not want. What was followed once is not followed again, as Scrapy's duplicate filter has it.
    """

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._left = MAX_SITEMAPS
        self._due: set[str] = set()

    def are_due(self, urls: Iterable[str]) -> None:
        """Note what is asked for anyway, which is not followed: Scrapy's filter does not know it."""
        self._due.update(map(canonicalize_url, urls))

    def follow(self, response: Any, answer: PageAnswer) -> Iterator[Request]:
        """Yield requests for what a listing names, as far as the server read it."""
        if not kind_of(response.body):  # another page came in its place
            return
        urls = [url for url, _ in answer.tickets()]
        named = named_sitemaps(response.url, response.body, urls)
        if named is None:
            make = getattr(self._crawler.spider, "listed_request", lambda url: None)
            yield from filter(None, map(make, urls))
            return
        above = response.request.meta[LISTING]
        named = [url for url in named if canonicalize_url(url) not in self._due]
        named = named[: self._left] if above < MAX_DEPTH else []
        self._left -= len(named)
        for url in named:
            yield listing_request(url, above + 1)
