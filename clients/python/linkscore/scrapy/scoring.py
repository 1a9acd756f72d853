"""What the server says of the links of a page, and how the Requests of a spider carry it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any
from urllib.parse import urldefrag
from weakref import WeakKeyDictionary

from w3lib.url import canonicalize_url

from linkscore.frontier import GUESSED, MAX_PLACES, Place
from linkscore.messages import Row, rows
from linkscore.v1 import common_pb2

META = "linkscore"
"""Key of `Request.meta` under which a scored request keeps what linkscore said about it."""


class PageAnswer:
    """The rows of one page by URL, best first; the same URL through several tag paths has several.

    `page_info` is what the answer says about the page itself: `page_type` and `thread_id`, as far as known.
    """

    def __init__(self, links: common_pb2.LinkScores, *, page_type: int = 0, thread_id: str = "") -> None:
        self.page_info: dict[str, str] = {"page_type": page_type_name(page_type)} if page_type else {}
        if thread_id:
            self.page_info["thread_id"] = thread_id
        self._by_url: dict[str, list[Row]] = {}
        self._by_canonical: dict[str, list[Row]] | None = None
        for row in rows(links):
            if row.usable and row.url:
                self._by_url.setdefault(row.url, []).append(row)
        for found in self._by_url.values():
            found.sort(key=lambda row: -row.score)

    def tickets(self) -> Iterable[tuple[str, bytes]]:
        """URL and best ticket of every link of the page."""
        return ((url, found[0].ticket) for url, found in self._by_url.items())

    def of(self, url: str) -> list[Row]:
        """Give the rows of a URL: as it stands, else by the identity Scrapy's duplicate filter uses."""
        found = self._by_url.get(urldefrag(url).url)
        if found is not None:
            return found
        if self._by_canonical is None:
            self._by_canonical = {canonicalize_url(known): r for known, r in self._by_url.items()}
        return self._by_canonical.get(canonicalize_url(url), [])


def is_web(url: str) -> bool:
    """Say whether the server takes a URL: http and https only."""
    return url.startswith(("http://", "https://"))


def page_type_name(number: int) -> str:
    """Give the type of a page as a word: ``index``, ``thread``, ``other`` or ``entry``."""
    return _word(common_pb2.PageType, number, "PAGE_TYPE_")


def url_type_name(number: int) -> str:
    """Give the type of a URL as a word: ``index``, ``thread``, ``page_flip`` or ``other``."""
    return _word(common_pb2.UrlType, number, "URL_TYPE_")


def _word(kind: Any, number: int, prefix: str) -> str:
    """Give an enum value as a word; the number of one that is newer than this client."""
    known = kind.values()
    return str(kind.Name(number)).removeprefix(prefix).lower() if number in known else str(number)


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
        note["url_type"] = url_type_name(best.url_type)
    request.meta[META] = note


def mark_guess(request: Any, bucket: str, value: float) -> None:
    """Let a Request wait behind the scored ones of a bucket, unless its spider wants it ahead of all."""
    if request.priority <= 0:
        buckets = [(bucket, value - GUESSED, value)]
        redirects = request.meta.get("redirect_times", 0)
        request.meta[META] = {"guessed": True, "buckets": buckets, "redirects": redirects}


def is_guessed(request: Any) -> bool:
    """Say whether the bucket a Request waits in is a guess."""
    return bool((request.meta.get(META) or {}).get("guessed"))


def places_of(request: Any) -> list[Place]:
    """Give the buckets a Request waits in; none for one that is not scored, or that was redirected since."""
    note = request.meta.get(META) or {}
    if request.meta.get("redirect_times", 0) > note.get("redirects", 0):
        return []
    return [Place(*place) for place in note.get("buckets", ())]


def ticket_of(request: Any) -> bytes:
    """Give the ticket a Request carries; empty if none."""
    note = request.meta.get(META) or {}
    ticket: bytes = note.get("ticket", b"")
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


def note_page(request: Any, answer: PageAnswer) -> None:
    """Write into the Request of a page what the answer says about the page."""
    if answer.page_info:
        request.meta[META] = {**(request.meta.get(META) or {}), **answer.page_info}
