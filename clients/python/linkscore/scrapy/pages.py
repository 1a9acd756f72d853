"""What the server is told about a fetch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urldefrag

from scrapy.http import TextResponse

from linkscore.messages import page
from linkscore.outages import OwedPage
from linkscore.scrapy.scoring import ticket_of
from linkscore.session import MAX_BODY_BYTES, NOT_MODIFIED
from linkscore.sitemaps import kind_of, packed
from linkscore.v1 import common_pb2


@dataclass(slots=True, eq=False)
class FetchedPage:
    """One fetched page on its way through the spider.

    Attributes
    ----------
    url, ticket, event_id
        How the server knows the fetch.
    answer
        Task of the server's answer; None for pages that are not sent.
    owed
        The page as it is sent, with its links that wait until it is.
    handed_on, scraped, dropped
        Items the spider gave, and what the pipelines made of them.
    reported
        What feedback said so far: None, False (nothing wanted) or True.
    """

    url: str
    ticket: bytes = b""
    event_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    answer: Any = None
    owed: OwedPage | None = None
    handed_on: int = 0
    scraped: int = 0
    dropped: int = 0
    reported: bool | None = None


def fetched_page(response: Any) -> FetchedPage:
    """Start the account of a response; redirects count for the URL that was asked for first."""
    request = response.request
    first = (request.meta.get("redirect_urls") or [request.url])[0]
    return FetchedPage(url=urldefrag(first).url, ticket=ticket_of(request))


RESERVING = ("X-Robots-Tag", "Content-Signal", "TDM-Reservation")
"""Headers by which a site may reserve uses."""


def headers_of(response: Any, names: Iterable[str]) -> list[tuple[str, str]]:
    """Give the headers of a response that have one of the names."""
    pairs = ((name, value) for name in names for value in response.headers.getlist(name))
    return [(name, value.decode("latin-1")) for name, value in pairs]


def page_message(
    fetched: FetchedPage, response: Any, headers: Iterable[tuple[str, str]] = (), *, listings: bool = False
) -> common_pb2.Page:
    """Build the page of a response. Bodies that are no text stay here: they have no links.

    With `listings` sitemaps and feeds, packed ones too, are sent as what they are.
    """
    final = urldefrag(response.url).url
    kind = kind_of(response.body) if listings else common_pb2.PAGE_KIND_UNSPECIFIED
    is_same = response.status == NOT_MODIFIED  # its body, of whatever type Scrapy takes it for, is none
    has_text = not is_same and isinstance(response, TextResponse)
    return page(
        url=fetched.url,
        final_url=final if final != fetched.url else "",
        status_code=response.status,
        content_type=(response.headers.get("Content-Type") or b"").decode("latin-1"),
        body=_sent(response.body, is_listing=bool(kind)) if kind or has_text else None,
        ticket=fetched.ticket,
        event_id=fetched.event_id,
        headers=headers,
        kind=kind,
        not_modified=is_same,
    )


def _sent(body: bytes, *, is_listing: bool) -> bytes:
    """Return a body as it is sent: a long sitemap packed, if it can be."""
    whole = packed(body) if is_listing else None
    return body[:MAX_BODY_BYTES] if whole is None else whole


def failed_page(request: Any, exception: BaseException) -> common_pb2.Page:
    """Build the page of a fetch that got no answer."""
    first = (request.meta.get("redirect_urls") or [request.url])[0]
    return page(url=urldefrag(first).url, fetch_error=fetch_error(exception), ticket=ticket_of(request))


_ERRORS = (
    ("Timeout", "timeout"),
    ("TimedOut", "timeout"),
    ("DNS", "dns"),
    ("Resolve", "dns"),
    ("Refused", "refused"),
    ("SSL", "tls"),
    ("Certificate", "tls"),
    ("DataLoss", "data_loss"),
    ("Lost", "connection_lost"),
    ("ConnectionDone", "connection_lost"),
    ("ResponseNeverReceived", "connection_lost"),
    ("ResponseFailed", "connection_lost"),
)


def fetch_error(exception: BaseException) -> str:
    """Name why there was no answer, for example `timeout`; the class name of what is not known."""
    cause: BaseException | None = exception
    while cause is not None:
        name = type(cause).__name__
        for part, word in _ERRORS:
            if part in name:
                return word
        cause = cause.__cause__
    return type(exception).__name__
