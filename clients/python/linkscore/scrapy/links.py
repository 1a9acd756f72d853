"""Brings the rows of an answer to the Requests of a spider."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urldefrag

from w3lib.url import canonicalize_url

from linkscore.messages import Row, rows
from linkscore.v1 import common_pb2

#: Key of `Request.meta` under which a scored request keeps what linkscore said about it.
META = "linkscore"
MAX_BUCKETS = 4

_HAS_VALUES = "bucket_values" in common_pb2.LinkScores.DESCRIPTOR.fields_by_name

#: A bucket a link waits in: name, score there, and the part of the score that is the link's own.
Wait = tuple[str, float, float]


class Answer:
    """The rows of one page by URL, best first; the same URL through several tag paths has several.

    `told` is what the answer says about the page itself: `page_type` and `thread_id`, as far as known.
    """

    def __init__(self, links: common_pb2.LinkScores, *, page_type: int = 0, thread_id: str = "") -> None:
        self.told: dict[str, str] = {"page_type": page_type_name(page_type)} if page_type else {}
        if thread_id:
            self.told["thread_id"] = thread_id
        self._by_url: dict[str, list[Row]] = {}
        self._by_canonical: dict[str, list[Row]] | None = None
        self.values = bucket_values(links)
        for row in rows(links):
            if row.usable and row.url:
                self._by_url.setdefault(row.url, []).append(row)
        for found in self._by_url.values():
            found.sort(key=lambda row: -row.score)

    @property
    def buckets(self) -> Iterable[str]:
        """Names of the buckets on the page."""
        return {row.bucket for found in self._by_url.values() for row in found}

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


def bucket_values(links: common_pb2.LinkScores) -> dict[str, float]:
    """Give the values of the buckets of an answer, if the server sends them."""
    if not _HAS_VALUES:
        return {}
    return dict(zip(links.bucket_names, links.bucket_values, strict=False))  # type: ignore[attr-defined]


def waits(found: Sequence[Row], values: dict[str, float]) -> list[Wait]:
    """Give the distinct buckets of a URL's rows, best first, at most four."""
    chosen: dict[str, Wait] = {}
    for row in found:
        own = row.score - values[row.bucket] if row.bucket in values else 0.0
        chosen.setdefault(row.bucket, (row.bucket, row.score, round(own, 6)))
    return list(chosen.values())[:MAX_BUCKETS]


def mark(request: Any, found: Sequence[Row], values: dict[str, float]) -> None:
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
            note["buckets"] = waits(found, values)
            note["redirects"] = request.meta.get("redirect_times", 0)
    if best.url_type:
        note["url_type"] = url_type_name(best.url_type)
    request.meta[META] = note


def waits_of(request: Any) -> list[Wait]:
    """Give the buckets a Request waits in; none for one that is not scored, or that was redirected since."""
    note = request.meta.get(META) or {}
    if request.meta.get("redirect_times", 0) > note.get("redirects", 0):
        return []
    return [(name, score, own) for name, score, own in note.get("buckets", ())]


def ticket_of(request: Any) -> bytes:
    """Give the ticket a Request carries; empty if none."""
    note = request.meta.get(META) or {}
    ticket: bytes = note.get("ticket", b"")
    return ticket
