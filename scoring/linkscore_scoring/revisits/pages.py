"""The known pages of a site as columns of numbers: 28 bytes a page, the key among them, and its URL."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import reading_state
from linkscore_scoring.state import State

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
