"""The known pages of a site as columns of numbers, 28 bytes a page, and what fetches found of them.

What changed of a page that is fetched again: its own text, title, prices and links, not what is around.

Own are the long text blocks that the page is the owner of, see `site.texts`: menus, teasers of other pages
and what several pages share are nobody's or somebody else's. A stamp that each page has for itself, as a
time of generation, is found by its size: most fetches bring a change of just that many characters.

What is not seen: a change within a block that keeps its first 32 characters and its length, one in a text
shorter than 25 characters, and one of structured data other than its prices and dates.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import FieldProblem, reading_state
from linkscore_scoring.features.body import first_bytes
from linkscore_scoring.features.things import JSON_LD
from linkscore_scoring.state import State, Stateful, Stored
from linkscore_scoring.types import SentPage

ROW = np.dtype(
    [
        ("key", "<u8"),  # identity hash
        ("last", "<u4"),  # seconds since the epoch of its last fetch
        ("url", "<u4"),  # where its URL begins
        ("changes", "<f2"),  # evidence of its own, see `rates.Belief`: what it adds to that of its site
        ("days", "<f2"),
        ("watched", "<f2"),  # days that its fetches looked back on, forgotten like the evidence
        ("own", "<u2"),  # characters of own text, modulo 2^16: only differences are read
        ("title", "<u2"),  # see `changes.title_mark`
        ("structured", "u1"),  # see `changes.structured_mark`
        ("flags", "u1"),
    ]
)
GONE, HUB, FAILED, LISTED, MOVED, NOTICED, SITEMAP, FEED = 1, 2, 4, 8, 16, 32, 64, 128
"""Flags: its last fetch found it gone; a fetch again showed links to new pages; its last fetch failed; a
listing gave it a date since its last fetch; that date is later than the fetch; somebody said that it
changed since; it was sent as a sitemap, or as a feed. All eight bits are taken."""
KINDS = {"page": 0, "sitemap": SITEMAP, "feed": FEED}
"""Flag of each kind of page, by its name in the wire contract."""
_FEW = 1_024
"""Pages that are looked up by a dictionary before they are sorted in; chosen, not measured."""
_SHARE = 16
"""Of a large table a sixteenth may wait so: each page is sorted in at most some 16 times."""
ENTRY_BYTES = 125
"""Memory of an entry of a dictionary from a key to a number: the objects, and their place in a table that is
two thirds full at most. Measured with ``tracemalloc``, CPython 3.11: 92 to 137 as the table grows."""


class Row(NamedTuple):
    """One row of `ROW` as plain numbers."""

    key: int
    last: int
    url: int = 0
    changes: float = 0.0
    days: float = 0.0
    watched: float = 0.0
    own: int = 0
    title: int = 0
    structured: int = 0
    flags: int = 0


class PageTable:
    """Rows by key. The first are sorted; new ones follow, and are sorted in when they are many.

    `max_pages`: pages kept; beyond it those that are gone and those fetched longest ago are forgotten.
    """

    def __init__(self, max_pages: int) -> None:
        self.max_pages = max_pages
        self._table = np.zeros(_FEW, ROW)
        self._count = self._sorted = 0
        self._new: dict[int, int] = {}
        self._urls = bytearray()

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[Any]:
        """All rows, (n_pages,) of `ROW`, to be read and written; their order may change with `add`."""
        return self._table[: self._count]

    def row(self, row: int) -> Row:
        """Return one row to read: a tenth of the cost of its fields one by one."""
        return Row(*self._table.item(row))

    def put(self, row: int, numbers: Row) -> None:
        """Write one row, as it was read but for what changed."""
        self._table[row] = numbers

    def flag(self, row: int, bit: int, *, is_set: bool) -> None:
        """Set a flag of a row, or clear it."""
        flags = int(self._table["flags"][row])
        self._table["flags"][row] = flags | bit if is_set else flags & ~bit

    def find(self, key: int) -> int:
        """Return the row of a page, -1 if it is not known; O(log n)."""
        row = self._new.get(key)
        if row is not None:
            return row
        keys = self._table["key"][: self._sorted]
        row = int(keys.searchsorted(np.uint64(key)))
        return row if row < self._sorted and int(keys[row]) == key else -1

    def add(self, page: Row, url: str) -> int:
        """Enter a page that is not known, `page.url` is set here; return its row. Amortised O(log n)."""
        if self._count >= self.max_pages:
            self._evict()
        if len(self._new) >= max(_FEW, self._count // _SHARE):
            self._sort()
        if self._count == len(self._table):
            self._table = np.concatenate([self._table, np.zeros(self._count // 4 + _FEW, ROW)])
        row = self._count
        self._table[row] = page._replace(url=len(self._urls))
        self._urls += url.replace("\n", "").encode() + b"\n"
        self._new[page.key] = row
        self._count += 1
        return row

    def url(self, row: int) -> str:
        """Return the URL of a row."""
        start = int(self._table[row]["url"])
        return self._urls[start : self._urls.index(b"\n", start)].decode()

    def memory_bytes(self) -> int:
        """Return what the pages take in memory, their URLs too."""
        return self._table.nbytes + len(self._urls) + ENTRY_BYTES * len(self._new)

    def _sort(self) -> None:
        rows = self.rows
        self._table[: self._count] = rows[np.argsort(rows["key"], kind="stable")]
        self._sorted = self._count
        self._new.clear()

    def _evict(self) -> None:
        """Forget a sixteenth of the pages, and write the URLs of the others together."""
        rows = self.rows
        first = np.lexsort((rows["key"], rows["last"], (rows["flags"] & GONE) == 0))
        kept = np.sort(first[max(1, self._count // _SHARE) :])
        urls = [self.url(int(row)) for row in kept]
        self._table[: len(kept)] = rows[kept]
        self._count = len(kept)
        self._urls = bytearray()
        for row, url in enumerate(urls):
            self._table[row]["url"] = len(self._urls)
            self._urls += url.encode() + b"\n"
        self._sort()

    def to_state(self) -> State:
        """Return the rows, and how many of them are sorted."""
        return {"rows": self.rows.tobytes(), "urls": bytes(self._urls), "sorted": self._sorted}

    def load_state(self, state: State) -> None:
        """Take over what `to_state` returned; CorruptState if its parts do not fit each other."""
        with reading_state("known pages"):
            rows, urls = np.frombuffer(state["rows"], ROW), bytearray(state["urls"])
            count, is_sorted = len(rows), int(state["sorted"])
            if count and (int(rows["url"].max()) >= len(urls) or urls[-1] != ord("\n")):
                raise ValueError("URLs end before the last page's")
            if not 0 <= is_sorted <= count:
                raise ValueError(f"{is_sorted} of {count} rows sorted")
        self._table = np.concatenate([rows, np.zeros(_FEW, ROW)])
        self._count, self._sorted, self._urls = count, is_sorted, urls
        late = self.rows["key"][is_sorted:].tolist()
        self._new = {key: row for row, key in enumerate(late, is_sorted)}


VALIDATORS, TITLE, STRUCTURED, KIND = "validators", "title", "structured", "kind"
"""Names of the facts of a page, see `read_facts`."""
_MOST_CHARS = 256
"""A bound: longer validators are not kept. Entity tags are digests as a rule, dates have 29 characters."""
LEAST_CHARS = 3
"""Characters that a change has at least: numbers grow by one or two. Chosen, not measured."""
_SIZE = 4
"""Stamps whose lengths differ by less count as one size; chosen, not measured."""
_FETCHES = 8
"""Fetches again before a size of change is taken for that of a stamp; chosen, not measured."""
_OFTEN = 0.5
"""Share of the fetches that change by one size, from which on it is that of a stamp; chosen likewise."""
_WINDOW = 512
"""A bound: when so many fetches were counted, all counts are halved."""
_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{1,1024})", re.IGNORECASE)
_WORDS = re.compile(rb"[a-zA-Z\x80-\xff]+")
_NAMES = rb"price|lowPrice|highPrice|availability|startDate|endDate|eventStatus|datePublished"
"""Properties of schema.org by which a thing itself changed. Most others are furniture: counters of visits,
ratings, related things, the time of a build."""
_MOST_VALUE_BYTES, _MOST_VALUES, _JSON_BYTES = 200, 256, 262_144
"""Bounds: bytes of a value, and of the tag that has it; values of a page, the first ones: a list has one or
two of each product; bytes of JSON-LD that are looked through, in all blocks of a page together."""
_JSON = re.compile(rb'"(%s)"\s{0,9}:\s{0,9}("[^"]{0,%d}"|[-\d.]{1,40})' % (_NAMES, _MOST_VALUE_BYTES))
_MICRODATA = re.compile(
    rb"""itemprop=["']?(%s)["'\s>][^<>]{0,%d}""" % (_NAMES, _MOST_VALUE_BYTES)
    + rb">?[^<>]{0,%d}" % _MOST_VALUE_BYTES
)


class PageChange(NamedTuple):
    """What a fetch found of a page that was fetched before."""

    # whether its own text, its title or its structured data differs, it links to pages that nobody had seen,
    # or it is no more
    changed: bool = False
    # of its own text, in [0, 1]: the larger of what came and what went; a title, or structured data, counts
    # as `LEAST_CHARS`
    share: float = 0.0
    fresh_links: float = 0  # links to pages that nobody had seen


UNCHANGED = PageChange()
NO_MORE = PageChange(changed=True, share=1.0)


class Validators(NamedTuple):
    """`ETag` and `Last-Modified` of an answer (RFC 9110, section 8.8), as they came; empty if none did."""

    etag: str = ""
    last_modified: str = ""


NOTHING_SAID = Validators()
"""Of an answer without either."""


def read_facts(page: SentPage) -> dict[str, Any]:
    """Return the validators of an answer, marks of its page, and its kind if that is not PAGE."""
    said = {name.lower(): value.strip() for name, value in page.headers if len(value) <= _MOST_CHARS}
    validators = [said.get("etag", ""), said.get("last-modified", "")]
    found: dict[str, Any] = {VALIDATORS: validators} if any(validators) else {}
    if page.kind in KINDS:
        found[KIND] = page.kind
        return found
    body = first_bytes(page.body, page.content_encoding)
    marks = {TITLE: title_mark(body), STRUCTURED: structured_mark(body)}
    return found | {name: mark for name, mark in marks.items() if mark}


def own_difference(before: int, now: int) -> int:
    """Return how many characters longer own text is, of lengths that are kept modulo 2^16.

    Examples
    --------
    >>> own_difference(100, 90), own_difference(65_530, 4)
    (-10, 10)
    """
    return (now - before + 0x8000) % 0x10000 - 0x8000


class Stamps(Stateful):
    """Learns of one site what size of change is not of pages but of what writes them."""

    _sizes: Stored[Counter[int]]
    _fetches: Stored[int]

    def without(self, chars: int) -> int:
        """Count a change of so many characters, 0 for none; return how many are the page's own."""
        size = (chars + _SIZE // 2) // _SIZE
        self._fetches += 1
        if chars >= LEAST_CHARS:
            self._sizes[size] += 1
        if self._fetches > _WINDOW:
            self._fetches //= 2
            self._sizes = +Counter({key: count // 2 for key, count in self._sizes.items()})
        stamp = self._stamp()
        if stamp and abs(size - stamp) <= 1:
            return 0
        left = chars - stamp * _SIZE if stamp and size > stamp else chars
        return left if left >= LEAST_CHARS else 0

    def of_mark(self, before: int, now: int) -> int:
        """Return the characters that another mark counts as, 0 where most fetches bring another one.

        A mark is of a title or of structured data, 0 if unknown.
        """
        if not self._fetches and (now == before or not (before and now)):
            return 0  # counted from the first change on
        return self.without(LEAST_CHARS if before and now and now != before else 0)

    def _stamp(self) -> int:
        """Return the size of the stamp in steps of `_SIZE`, 0 if there seems to be none."""
        if self._fetches < _FETCHES or not self._sizes:
            return 0
        least, most = _OFTEN * self._fetches, max(self._sizes.values())
        if 3 * most < least:
            return 0  # nor can its neighbours be as many
        size = min(size for size, count in self._sizes.items() if count == most)
        near = sum(self._sizes[size + off] for off in (-1, 0, 1))
        return size if near >= least else 0


def title_mark(body: bytes) -> int:
    """Return 16 bits that tell one title from another, 0 if there is none.

    Numbers in it say nothing, nor whether there are any: titles count what is unread, or name the minute of
    a build.
    """
    found = _TITLE.search(body)
    title = b" ".join(_WORDS.findall(found[1])) if found else b""
    return zlib.crc32(title) % 0xFFFF + 1 if title else 0


def structured_mark(body: bytes) -> int:
    """Return 8 bits that tell the prices and dates of a page's JSON-LD and microdata from others, 0: none."""
    json = b"".join(found[1] for found in JSON_LD.finditer(body))[:_JSON_BYTES]
    values = [
        islice(found.finditer(text), _MOST_VALUES) for found, text in ((_JSON, json), (_MICRODATA, body))
    ]
    found = b"\n".join(value[0] for value in chain(*values))
    return zlib.crc32(found) % 0xFF + 1 if found else 0


DAY_S = 86_400.0
"""Seconds of a day, by definition: events come in seconds, rates are by the day."""
OBJECTIVES = {"both": (1.0, 1.0), "freshness": (1.0, 0.0), "discovery": (0.0, 1.0)}
"""What a fresh copy and what a discovered page is worth, by objective."""


@dataclass(frozen=True, slots=True)
class RevisitSettings:
    """How a crawl fetches pages again."""

    objective: str = "both"  # one of `OBJECTIVES`
    # fetches of known pages a day, of each site; 0 if nobody said. By it pages are given a next time
    fetches_per_day: float = 0.0
    # least_s, longest_s: seconds between two fetches of a page: not before, and not later than
    least_s: float = 3_600.0
    longest_s: float = 365.0 * DAY_S

    def problems(self, prefix: str) -> Iterator[FieldProblem]:
        """Yield what is wrong, by field."""
        if self.objective not in OBJECTIVES:
            rule = f"must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}"
            yield FieldProblem(f"{prefix}.objective", rule)
        if not (math.isfinite(self.fetches_per_day) and self.fetches_per_day >= 0.0):
            rule = f"must be at least 0, got {self.fetches_per_day}"
            yield FieldProblem(f"{prefix}.fetches_per_day", rule)
        if not 0.0 < self.longest_s < math.inf:
            rule = f"must be above 0, got {self.longest_s} s"
            yield FieldProblem(f"{prefix}.longest_interval", rule)
        elif not 0.0 < self.least_s <= self.longest_s:
            rule = f"must be above 0 and at most longest_interval, got {self.least_s} and {self.longest_s} s"
            yield FieldProblem(f"{prefix}.least_interval", rule)


class Fetched(NamedTuple):
    """One fetch as revisits see it."""

    # key, url: identity hash and URL of the page
    key: int
    url: str
    now_s: float  # when, in seconds since the epoch
    own: int = 0  # characters of own text now
    # unseen, taken: of these, in blocks that the site had never shown, and in blocks that were another page's
    # before
    unseen: int = 0
    taken: int = 0
    # links to pages that nobody had seen; of a listing also what `SiteRevisits.listed` says
    fresh_links: float = 0
    # title, structured: what `changes.title_mark` and `structured_mark` say of it; 0 if nobody knows
    title: int = 0
    structured: int = 0
    validators: Validators = NOTHING_SAID  # what the site said of this copy, for conditional requests
    kind: str = "page"  # ``page``, ``sitemap`` or ``feed``


class Due(NamedTuple):
    """A page to fetch again: what a fetch is worth, and why."""

    # url, key: the page, by URL and identity hash
    url: str
    key: int
    worth: float  # in days of one page; comparable between sites
    # ``stale``, ``hub`` if most of it is new pages to discover, or ``check`` if it waited `longest_s`
    reason: str
    last_s: float  # when it was fetched last, in seconds since the epoch
    rate: float  # changes a day that are believed
    validators: Validators = NOTHING_SAID  # of the copy, to ask the site whether the page is as it was
    kind: str = "page"  # as it was fetched
