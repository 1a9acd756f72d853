"""What the server is told about a fetch, what it says of the links, and how Requests carry that."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urldefrag
from weakref import WeakKeyDictionary

from scrapy.http import TextResponse
from w3lib.url import canonicalize_url

from linkscore.frontier import GUESSED, MAX_PLACES, Place
from linkscore.messages import Row, page, rows
from linkscore.outages import OwedPage
from linkscore.session import MAX_BODY_BYTES, NOT_MODIFIED
from linkscore.sitemaps import kind_of, packed
from linkscore.v1 import common_pb2

META = "linkscore"
"""Key of `Request.meta` under which a scored request keeps what linkscore said about it."""

RESERVING = ("X-Robots-Tag", "Content-Signal", "TDM-Reservation")
"""Headers by which a site may reserve uses."""


@dataclass(slots=True, eq=False)
class FetchedPage:
    """One fetched page on its way through the spider.

    `answer` is the task of the server's answer and `owed` the page as it is sent, None of pages that are not;
    `handed_on` and `scraped` count items that the spider gave, and that passed the pipelines.
    """

    url: str
    ticket: bytes = b""
    event_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    answer: Any = None
    owed: OwedPage | None = None
    handed_on: int = 0
    scraped: int = 0


def asked_url(request: Any) -> str:
    """Give the URL that a request asked for first: redirects count for it."""
    first: str = (request.meta.get("redirect_urls") or [request.url])[0]
    return urldefrag(first).url


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
    body = None
    if kind or (not is_same and isinstance(response, TextResponse)):
        body = (packed(response.body) if kind else None) or response.body[:MAX_BODY_BYTES]
    return page(
        url=fetched.url,
        final_url=final if final != fetched.url else "",
        status_code=response.status,
        content_type=(response.headers.get("Content-Type") or b"").decode("latin-1"),
        body=body,
        ticket=fetched.ticket,
        event_id=fetched.event_id,
        headers=headers,
        kind=kind,
        not_modified=is_same,
    )


_ERRORS = {
    "timeout": ("Timeout", "TimedOut"),
    "dns": ("DNS", "Resolve"),
    "refused": ("Refused",),
    "tls": ("SSL", "Certificate"),
    "data_loss": ("DataLoss",),
    "connection_lost": ("Lost", "ConnectionDone", "ResponseNeverReceived", "ResponseFailed"),
}


def fetch_error(exception: BaseException) -> str:
    """Name why there was no answer, for example `timeout`; the class name of what is not known."""
    cause: BaseException | None = exception
    while cause is not None:
        name = type(cause).__name__
        for word, parts in _ERRORS.items():
            if any(part in name for part in parts):
                return word
        cause = cause.__cause__
    return type(exception).__name__


def identity(url: str) -> str:
    """Give a URL as Scrapy's duplicate filter compares it; what is none as it is."""
    try:
        return str(canonicalize_url(url))
    except ValueError:
        return url


class PageAnswer:
    """The rows of one page by URL, best first; the same URL through several link paths has several.

    `page_info` is what the answer says about the page itself: `page_type` and `thread_id`, as far as known.
    """

    def __init__(self, links: common_pb2.LinkScores, *, page_type: int = 0, thread_id: str = "") -> None:
        self.page_info: dict[str, str] = {}
        if page_type:
            self.page_info["page_type"] = _word(common_pb2.PageType, page_type, "PAGE_TYPE_")
        if thread_id:
            self.page_info["thread_id"] = thread_id
        self._by_url: dict[str, list[Row]] = {}
        self._by_canonical: dict[str, list[Row]] | None = None
        for row in sorted(rows(links), key=lambda row: -row.score):
            if row.usable and row.url:
                self._by_url.setdefault(row.url, []).append(row)

    def tickets(self) -> Iterable[tuple[str, bytes]]:
        """URL and best ticket of every link of the page."""
        return ((url, found[0].ticket) for url, found in self._by_url.items())

    def of(self, url: str) -> list[Row]:
        """Give the rows of a URL: as it stands, else by the identity Scrapy's duplicate filter uses."""
        found = self._by_url.get(urldefrag(url).url)
        if found is not None:
            return found
        if self._by_canonical is None:
            self._by_canonical = {identity(known): r for known, r in self._by_url.items()}
        return self._by_canonical.get(identity(url), [])


def is_web(url: str) -> bool:
    """Say whether the server takes a URL: http and https only."""
    return url.startswith(("http://", "https://"))


def _word(kind: Any, number: int, prefix: str) -> str:
    """Give an enum value as a word; the number of one that is newer than this client."""
    return str(kind.Name(number)).removeprefix(prefix).lower() if number in kind.values() else str(number)


def mark(request: Any, found: Sequence[Row]) -> None:
    """Write into a Request what its rows say.

    A positive priority the spider chose itself is kept on top of the encoded one, and such a request waits in
    no bucket: it goes ahead of them.
    """
    best = found[0]
    note: dict[str, Any] = {"score": best.score, "ticket": best.ticket}
    if best.encoded_priority is not None:
        own = max(0, request.priority)
        request.priority = own + round(best.encoded_priority)
        if not own:
            # Plain tuples: the meta of a request is pickled into job directories.
            places = {row.bucket: (row.bucket, row.score, row.bucket_value) for row in reversed(found)}
            note["buckets"] = sorted(places.values(), key=lambda place: -place[1])[:MAX_PLACES]
            note["redirects"] = request.meta.get("redirect_times", 0)
    if best.url_type:
        note["url_type"] = _word(common_pb2.UrlType, best.url_type, "URL_TYPE_")
    request.meta[META] = note


def mark_guess(request: Any, bucket: str, value: float) -> None:
    """Let a Request wait behind the scored ones of a bucket, unless its spider wants it ahead of all."""
    if request.priority <= 0:
        buckets = [(bucket, value - GUESSED, value)]
        redirects = request.meta.get("redirect_times", 0)
        request.meta[META] = {"guessed": True, "buckets": buckets, "redirects": redirects}


def note_of(request: Any) -> dict[str, Any]:
    """Give what a Request carries; `guessed` says that the bucket it waits in is a guess."""
    return request.meta.get(META) or {}


def places_of(request: Any) -> list[Place]:
    """Give the buckets a Request waits in; none for one that is not scored, or that was redirected since."""
    note = note_of(request)
    if request.meta.get("redirect_times", 0) > note.get("redirects", 0):
        return []
    return [Place(*place) for place in note.get("buckets", ())]


def ticket_of(request: Any) -> bytes:
    """Give the ticket a Request carries; empty if none."""
    ticket: bytes = note_of(request).get("ticket", b"")
    return ticket


ANSWERS: WeakKeyDictionary[Any, Awaitable[PageAnswer | None]] = WeakKeyDictionary()
"""The answers to the pages under way, by response."""


async def page_note(response: Any) -> dict[str, str]:
    """Wait for what the server says about a page: `page_type` and `thread_id`, each only if it is known.

    For callbacks that are coroutines. Waits at most `LINKSCORE_TIMEOUT`; empty if the server does not answer
    or the page was not sent.
    """
    pending = ANSWERS.get(response)
    answer = await asyncio.shield(pending) if pending is not None else None
    return dict(answer.page_info) if answer is not None else {}
