"""What a crawl does without its server: how far values hold, what new links are worth, what is sent later."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
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


class Outlook:
    """What buckets are worth, and where new links belong, while the server says nothing of either.

    Of a value `odds * h / (h + k)` is left: `k` links were taken from the bucket since the server went away,
    or of the coarse shape of its URLs if that is more, `h` is `TRUST` times one more than were taken from it
    before, or pages of that shape fetched, and `odds` = (1 + pages) / (1 + fetches) of that shape. So a
    bucket that proved itself goes on almost as it was, one that nobody tried gets a few turns, and links
    to pages that are not there go last: research/notebook/outages.md.

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
        self._found: OrderedDict[str, tuple[str, float]] = OrderedDict()  # of shapes, where last found
        self._shape_of: dict[str, str] = {}
        # Of coarse shapes: 1 + pages, 1 + fetches, pages before the outage, links taken since it began
        self._tried: OrderedDict[str, list[int]] = OrderedDict()
        self._taken: Counter[str] = Counter()
        self._since: Counter[str] = Counter()

    @property
    def away(self) -> bool:
        """Whether the server does not renew values."""
        return self._away

    @away.setter
    def away(self, is_away: bool) -> None:
        self._away = is_away
        self._taken += self._since
        self._since.clear()
        for tried in self._tried.values():
            tried[2:] = tried[0] - 1, 0

    def placed(self, url: str, bucket: str, value: float) -> None:
        """Note the bucket of a link that was scored and is new to the crawl: from others nothing is taken."""
        for shape in url_shapes(url):
            self._found[shape] = (bucket, value)
            self._found.move_to_end(shape)
        while len(self._found) > MAX_SHAPES:
            self._found.popitem(last=False)
        self._shape_of[bucket] = url_shapes(url)[1]

    def fetched(self, url: str, *, is_page: bool) -> None:
        """Note what came of a fetch."""
        tried = self._tries(url_shapes(url)[1])
        tried[0] += is_page
        tried[1] += 1

    def guess(self, url: str) -> tuple[str, float] | None:
        """Give the bucket of links like this one, and its value; None if none was seen."""
        return next(filter(None, map(self._found.get, url_shapes(url))), None)

    def taken(self, bucket: str) -> None:
        """Note a link taken from a bucket."""
        (self._since if self._away else self._taken)[bucket] += 1
        if self._away and bucket in self._shape_of:
            self._tries(self._shape_of[bucket])[3] += 1

    def worth(self, bucket: str, value: float) -> float:
        """Give what is left of the value of a bucket."""
        if not self._away:
            return value
        pages, fetches, before, since = self._tried.get(self._shape_of.get(bucket, ""), (1, 1, 0, 0))
        holds = TRUST * (1 + max(self._taken[bucket], before))
        return value * pages / fetches * holds / (holds + max(self._since[bucket], since))

    def _tries(self, shape: str) -> list[int]:
        tried = self._tried.setdefault(shape, [1, 1, 0, 0])
        while len(self._tried) > MAX_SHAPES:
            self._tried.popitem(last=False)
        return tried


@dataclass(slots=True, eq=False)
class OwedPage:
    """A page to send, and URL and key of each of its links that wait.

    `tries` is how often it was sent in vain to a server that answered other calls.
    """

    page: common_pb2.Page
    links: list[tuple[str, Any]] = field(default_factory=list)
    tries: int = 0


class PageBuffer:
    """Pages that wait for the server, oldest first; `dropped` counts those that are never sent.

    Beyond `MAX_BUFFER_BYTES` the oldest page goes.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._pages: OrderedDict[int, tuple[OwedPage, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def oldest(self) -> OwedPage | None:
        """The page to send next."""
        return next(iter(self._pages.values()))[0] if self._pages else None

    def add(self, owed: OwedPage) -> None:
        """Keep a page until it is sent."""
        size = owed.page.ByteSize()
        self._pages[id(owed)] = (owed, size)
        self._bytes += size
        while self._bytes > MAX_BUFFER_BYTES and (oldest := self.oldest):
            self.drop(oldest)

    def done(self, owed: OwedPage) -> None:
        """Forget a page that was sent."""
        self._bytes -= self._pages.pop(id(owed), (None, 0))[1]

    def drop(self, owed: OwedPage) -> None:
        """Forget a page that is not sent."""
        self.done(owed)
        self.dropped += 1
