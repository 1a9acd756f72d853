"""Bytes in one temporary file, read where they lie: many pages cost little memory, forks share them."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from linkscore_lab.datasets.site import identity_or_none, resolve
from linkscore_lab.datasets.survey import PageFacts
from linkscore_lab.replay.blobs import NOTHING, Blob, Blobs
from linkscore_scoring.engine.events import PageFetched, decode

# Redirects followed; as many as `follow` of linkscore_lab.datasets.site.
MAX_REDIRECTS = 10


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One response of the archive."""

    url: str  # Its URL as stored, and the identity of that
    key: str
    status: int  # Of the response
    content_type: str
    location: str = ""  # Identity it redirects to, empty if it does not
    event: Blob = NOTHING  # Where its features and its body lie; nothing without a usable page
    body: Blob = NOTHING
    # What the metrics need of it, without links
    facts: PageFacts = field(default_factory=lambda: PageFacts((), (), ""))

    @property
    def is_page(self) -> bool:
        """Whether it is a page: no redirect, no error."""
        return not self.location and self.status < 400


@dataclass(slots=True)
class StoredSite:
    """The records of one or several archives by number; a context manager that gives their bytes back.

    Of several records with one identity the first counts, of those without an error if there are any.
    """

    name: str  # File name without ``.warc.gz``; several joined by ``+``
    entries: list[str]  # Identity of the entry page of each archive
    records: list[StoredRecord]  # All responses
    # For each record the records its distinct links lead to, redirects followed, document order
    links: list[array[int]]
    types: Mapping[str, str]  # Page type by identity, as the labels say
    digest: str  # sha256 of the archives
    damaged: int  # Records that could not be read
    blobs: Blobs
    # Number of the record a request for an identity ends at, redirects followed; -1 out of the archive
    ends: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A page wins over an error of the same URL, whichever came first.
        numbered = sorted(enumerate(self.records), key=lambda row: row[1].status >= 400)
        first = {record.key: n for n, record in reversed(numbered)}
        self.ends = {key: self._end(n, first) for key, n in first.items()}

    def __enter__(self) -> StoredSite:
        return self

    def __exit__(self, *error: object) -> None:
        self.blobs.close()

    def number(self, key: str) -> int:
        """Return the number of the record a request for `key` ends at, -1 if it leads out of the archive."""
        return self.ends.get(key, -1)

    def event(self, number: int) -> PageFetched | None:
        """Return a page as the event of its fetch, None for an error; costs a decoding."""
        blob = self.records[number].event
        event = decode(self.blobs.read(blob)) if blob.length else None
        return event if isinstance(event, PageFetched) else None

    def body(self, number: int) -> bytes:
        """Return the bytes of a page."""
        return self.blobs.read(self.records[number].body)

    def reachable(self, starts: Iterable[str] | None = None) -> list[int]:
        """Return the pages that can be reached from the entries, or from `starts`, in breadth-first order."""
        first = [self.number(key) for key in (self.entries if starts is None else starts)]
        seen = dict.fromkeys(n for n in first if n >= 0)
        frontier = deque(seen)
        while frontier:
            for target in self.links[frontier.popleft()]:
                if target not in seen:
                    seen[target] = None
                    frontier.append(target)
        return [n for n in seen if self.records[n].is_page]

    def _end(self, number: int, first: Mapping[str, int]) -> int:
        for _ in range(MAX_REDIRECTS):
            location = self.records[number].location
            if not location:
                return number
            number = first.get(location, -1)
            if number < 0:
                return -1
        return -1


def location_key(base: str, location: str) -> str:
    """Return the identity a ``Location`` header leads to; one that names nothing to crawl leads nowhere."""
    target = resolve(base, location)
    return (identity_or_none(target) if target else None) or f"nowhere {location}"
