"""What RankBuckets handed out, and what of it is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping


class Allotment:
    """How many links of each bucket may be taken before RankBuckets answers again.

    Empty at first and while the server is out: the order of the buckets alone decides then.

    Attributes
    ----------
    short
        Whether the last answer gave less than there was place for, so that places stay empty.
    """

    def __init__(self) -> None:
        self.short = False
        self._left: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()

    def asked(self) -> None:
        """Note that RankBuckets is asked now: what is taken from here on its answer does not know of."""
        self._taken.clear()

    def renew(self, urls: Mapping[str, int], *, short: bool) -> None:
        """Take over an answer."""
        self._left = Counter(urls) - self._taken
        self.short = short

    def lift(self) -> None:
        """Forget the last answer: nothing is known of what should be taken."""
        self._left = Counter()
        self.short = False

    def take(self, bucket: str) -> None:
        """Note that a link of a bucket was taken."""
        self._taken[bucket] += 1
        self._left -= Counter([bucket])

    def rounds(self, *, idle: bool) -> Iterator[Callable[[str], bool]]:
        """Give whether a bucket may be taken from: first those that were given links, then any.

        After an answer that gave less than there was place for only what it gave may go, unless the crawler
        is `idle`: nothing would ever be asked again then.
        """
        if self._left:
            yield self._left.__contains__
        if idle or not self.short:
            yield lambda bucket: True
