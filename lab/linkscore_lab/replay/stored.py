"""Bytes in one temporary file, read where they lie: many pages cost little memory, forks share them."""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import NamedTuple

import zstandard

from linkscore_lab.datasets.site import PageFacts, Reply, identity_or_none, resolve
from linkscore_scoring.engine.events import PageFetched, decode

# Redirects followed. Chosen, not measured.
MAX_REDIRECTS = 10
# zstd's fastest regular level: pages are packed once and thrown away with the process. Chosen, not measured.
_LEVEL = 1


class Blob(NamedTuple):
    """Where some bytes lie: offset and compressed length."""

    offset: int
    length: int


NOTHING = Blob(0, 0)


def packed(data: bytes) -> bytes:
    """Return some bytes as `Blobs` keeps them."""
    return zstandard.compress(data, _LEVEL)


def unpacked(data: bytes) -> bytes:
    """Return bytes as they were before they were `packed`."""
    return zstandard.decompress(data)


class Blobs:
    """An append-only file of compressed byte strings that vanishes with the process.

    Reading moves no file position: processes and threads may read at the same time.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile(prefix="linkscore-replay-", buffering=0)  # noqa: SIM115 - lives as long as this
        self._end = 0

    def add(self, data: bytes) -> Blob:
        """Keep bytes that are `packed`."""
        self._file.write(data)
        blob = Blob(self._end, len(data))
        self._end += len(data)
        return blob

    def read(self, blob: Blob) -> bytes:
        """Return bytes as they were before they were packed; nothing for `NOTHING`."""
        if not blob.length:
            return b""
        return unpacked(os.pread(self._file.fileno(), blob.length, blob.offset))

    def __getstate__(self) -> bytes:
        return os.pread(self._file.fileno(), self._end, 0)

    def __setstate__(self, state: bytes) -> None:
        self.__init__()  # type: ignore[misc]
        self._file.write(state)
        self._end = len(state)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


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
    facts: PageFacts = field(default_factory=lambda: PageFacts((), ""))

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
    first: dict[str, int] = field(default_factory=dict)  # Number of the record of an identity

    def __post_init__(self) -> None:
        # A page wins over an error of the same URL, whichever came first.
        numbered = sorted(enumerate(self.records), key=lambda row: row[1].status >= 400)
        self.first = {record.key: n for n, record in reversed(numbered)}
        self.ends = {key: self._end(n) for key, n in self.first.items()}

    def __enter__(self) -> StoredSite:
        return self

    def __exit__(self, *error: object) -> None:
        self.blobs.close()

    @property
    def entry(self) -> str:
        """URL of the first entry page, as stored."""
        return self.records[self.first[self.entries[0]]].url

    def labels(self) -> Mapping[str, str]:
        """Return the page type of each labelled page, by identity."""
        return self.types

    def respond(self, url: str) -> Reply:
        """Answer as the site did, by identity: a page, a redirect, an error without its body; else a 404."""
        number = self.first.get(identity_or_none(url) or "", -1)
        if number < 0:
            return Reply(404, {"Content-Type": "text/plain"}, b"no record of this URL\n")
        record = self.records[number]
        headers = {"Content-Type": record.content_type} if record.content_type else {}
        headers |= {"Location": record.location} if record.location else {}
        return Reply(record.status, headers, self.body(number))

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

    def _end(self, number: int) -> int:
        for _ in range(MAX_REDIRECTS):
            location = self.records[number].location
            if not location:
                return number
            number = self.first.get(location, -1)
            if number < 0:
                return -1
        return -1


def location_key(base: str, location: str) -> str:
    """Return the identity a ``Location`` header leads to; one that names nothing to crawl leads nowhere."""
    target = resolve(base, location)
    return (identity_or_none(target) if target else None) or f"nowhere {location}"
