"""What a crawl does without its server: how far values hold, what new links are worth, what is sent later."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from linkscore.v1 import common_pb2

TRUST = 16
"""Fetches for which the value of a bucket holds, per link that was taken from it before the outage.

Measured by replay on three stored sites, the server gone at fetch 250 of 900 (of 700 for the blog): share of
wanted pages from there on, by trust 1, 16, 32: forum .925, .935, .940; questions .669, .668, .666; blog .667,
.664, .656. Stale values that do not fade at all gave .026, .294 and .011.
"""

MAX_SHAPES = 4_096
"""Shapes of URLs that are remembered; a bound, chosen."""

MAX_BUFFER_BYTES = 64 * 1024 * 1024
"""Bytes of pages that wait for the server; a bound, chosen."""

MAX_BARE_LINKS = 20_000
"""Links that wait to be scored though their page is not kept any more; a bound, chosen."""

MAX_TRIES = 3
"""How often a page is sent to a server that answers other calls and not this one; chosen."""

_DIGITS = re.compile(r"[0-9]+")
_EXTENSION = re.compile(r"\.[a-z]{2,5}\Z")


def url_shapes(url: str) -> tuple[str, str]:
    """Give what a URL has in common with others of its kind: finely, and coarsely.

    Examples
    --------
    >>> url_shapes("http://a.org/viewtopic.php?t=5&start=10")
    ('a.org/viewtopic.php?start&t', '*a.org/*.php?start&t')
    >>> url_shapes("http://a.org/123/some-title")
    ('a.org/#/some-title', '*a.org/#/*')
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that hold no address
        return url, url
    segments = [_DIGITS.sub("#", segment) for segment in parts.path.split("/")]
    names = {pair.partition("=")[0] for pair in parts.query.split("&") if pair}
    keys = "&".join(sorted({_DIGITS.sub("#", name) for name in names}))
    query = f"?{keys}" if keys else ""
    fine = parts.netloc + "/".join(segments) + query
    last = max((i for i, segment in enumerate(segments) if segment), default=None)
    coarse = ["#" if "#" in segment else segment for segment in segments]
    if last is not None:
        extension = _EXTENSION.search(segments[last])
        coarse[last] = "*" + (extension.group() if extension else "")
    return fine, "*" + parts.netloc + "/".join(coarse) + query


@dataclass(slots=True)
class ShapeFetches:
    """Fetches of URLs of one shape: pages, failures, pages before the outage, and takes since it began."""

    pages: int = 0
    failures: int = 0
    before: int = 0
    since: int = 0


class Outlook:
    """What buckets are worth, and where new links belong, while the server says nothing of either.

    Of a value `odds * h / (h + k)` is left: `k` links were taken from the bucket since the server went away,
    or of the coarse shape of its URLs if that is more, and `h` is `TRUST` times one more than were taken from
    it before, or pages of that shape fetched. `odds` = (1 + pages) / (1 + pages + failures) of that shape. So
    a bucket that proved itself goes on almost as it was, one that nobody tried gets a few turns, however many
    links wait there, and links to pages that are not there go last. Measured: research/notebook/outages.md.

    Examples
    --------
    >>> outlook = Outlook()
    >>> outlook.placed("http://a.org/tag/red", "tags", 0.5)
    >>> outlook.guess("http://a.org/tag/blue")
    ('tags', 0.5)
    >>> outlook.away = True
    >>> outlook.taken("tags")
    >>> round(outlook.worth("tags", 0.5), 3)
    0.471
    """

    def __init__(self) -> None:
        self._away = False
        self._buckets: OrderedDict[str, tuple[str, float]] = OrderedDict()  # of shapes, where last found
        self._shape_of: dict[str, str] = {}
        self._taken: Counter[str] = Counter()
        self._since: Counter[str] = Counter()
        self._fetches: OrderedDict[str, ShapeFetches] = OrderedDict()

    @property
    def away(self) -> bool:
        """Whether the server does not renew values."""
        return self._away

    @away.setter
    def away(self, is_away: bool) -> None:
        if is_away == self._away:
            return
        self._away = is_away
        self._taken += self._since
        self._since.clear()
        for fetches in self._fetches.values():
            fetches.before, fetches.since = fetches.pages, 0

    def placed(self, url: str, bucket: str, value: float) -> None:
        """Note the bucket of a link that was scored and is new to the crawl: from others nothing is taken."""
        for shape in url_shapes(url):
            self._buckets[shape] = (bucket, value)
            self._buckets.move_to_end(shape)
        while len(self._buckets) > MAX_SHAPES:
            self._buckets.popitem(last=False)
        self._shape_of[bucket] = url_shapes(url)[1]

    def guess(self, url: str) -> tuple[str, float] | None:
        """Give the bucket of links like this one, and its value; None if none was seen."""
        found = (self._buckets.get(shape) for shape in url_shapes(url))
        return next(filter(None, found), None)

    def taken(self, bucket: str) -> None:
        """Note a link taken from a bucket."""
        if not self._away:
            self._taken[bucket] += 1
            return
        self._since[bucket] += 1
        if shape := self._shape_of.get(bucket):
            self._of(shape).since += 1

    def fetched(self, url: str, *, is_page: bool) -> None:
        """Note what came of a fetch."""
        fetches = self._of(url_shapes(url)[1])
        fetches.pages += is_page
        fetches.failures += not is_page

    def worth(self, bucket: str, value: float) -> float:
        """Give what is left of the value of a bucket."""
        if not self._away:
            return value
        fetches = self._fetches.get(self._shape_of.get(bucket, ""), ShapeFetches())
        odds = (1 + fetches.pages) / (1 + fetches.pages + fetches.failures)
        holds = TRUST * (1 + max(self._taken[bucket], fetches.before))
        return value * odds * holds / (holds + max(self._since[bucket], fetches.since))

    def _of(self, shape: str) -> ShapeFetches:
        fetches = self._fetches.setdefault(shape, ShapeFetches())
        self._fetches.move_to_end(shape)
        while len(self._fetches) > MAX_SHAPES:
            self._fetches.popitem(last=False)
        return fetches


@dataclass(slots=True, eq=False)
class OwedPage:
    """A page to send, None once it had to make room, and URL and key of each of its links that wait.

    `tries` is how often it was sent in vain to a server that answered other calls.
    """

    page: common_pb2.Page | None
    links: list[tuple[str, Any]] = field(default_factory=list)
    tries: int = 0


class PageBuffer:
    """Pages that wait for the server, oldest first; `dropped` counts those that are never sent.

    Beyond `MAX_BUFFER_BYTES` the oldest page goes, and its links stay, `MAX_BARE_LINKS` in all.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._pages: OrderedDict[int, tuple[OwedPage, int]] = OrderedDict()
        self._bytes = 0
        self._bare: deque[OwedPage] = deque()

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def oldest(self) -> OwedPage | None:
        """The page to send next."""
        return next(iter(self._pages.values()))[0] if self._pages else None

    def add(self, owed: OwedPage) -> None:
        """Keep a page until it is sent."""
        assert owed.page is not None
        size = owed.page.ByteSize()
        self._pages[id(owed)] = (owed, size)
        self._bytes += size
        while self._bytes > MAX_BUFFER_BYTES and self._pages:
            self.drop(next(iter(self._pages.values()))[0])

    def done(self, owed: OwedPage) -> None:
        """Forget a page that was sent."""
        self._bytes -= self._pages.pop(id(owed), (None, 0))[1]

    def drop(self, owed: OwedPage) -> None:
        """Forget a page that was not sent; its links can still be scored by their URLs."""
        self.done(owed)
        self.dropped += 1
        owed.page = None
        self.owe(owed)

    def owe(self, owed: OwedPage) -> None:
        """Keep links that are to be scored by their URLs."""
        self._bare.append(owed)
        while len(self._bare) > 1 and sum(len(each.links) for each in self._bare) > MAX_BARE_LINKS:
            self._bare.popleft()

    def bare_links(self, n: int) -> list[tuple[str, Any]]:
        """Take up to so many links whose page is not kept."""
        taken: list[tuple[str, Any]] = []
        while self._bare and len(taken) < n:
            links = self._bare[0].links
            room = n - len(taken)
            taken += links[:room]
            del links[:room]
            if not links:
                self._bare.popleft()
        return taken
