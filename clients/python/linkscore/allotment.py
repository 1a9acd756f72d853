"""What RankBuckets handed out, and what of it is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2


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
        """Take over what an answer hands out."""
        self._left = Counter(urls) - self._taken
        self.short = short

    def read(
        self, answer: scoring_pb2.RankBucketsResponse, *, waiting: Mapping[str, int], n: int
    ) -> dict[str, float]:
        """Take over an answer, and return what each bucket is worth.

        Parameters
        ----------
        answer
            Of a server that hands nothing out `urls` is empty: the order alone decides.
        waiting
            The question: links that wait in each bucket, in the order asked.
        n
            The question: places to fill.
        """
        names = list(waiting)
        urls = {names[i]: given for i, given in zip(answer.order, answer.urls, strict=False) if given}
        self.renew(urls, short=bool(answer.urls) and sum(urls.values()) < min(n, sum(waiting.values())))
        return dict(zip((names[i] for i in answer.order), answer.values, strict=True))

    def lift(self) -> None:
        """Forget the last answer: nothing is known of what should be taken."""
        self._left = Counter()
        self.short = False

    def take(self, bucket: str, n: int = 1) -> None:
        """Note that links of a bucket were taken."""
        self._taken[bucket] += n
        self._left -= Counter({bucket: n})

    def left(self, bucket: str) -> int:
        """Return how many links of a bucket were handed out and not taken yet."""
        return self._left[bucket]

    def rounds(self, *, idle: bool) -> Iterator[Callable[[str], bool]]:
        """Give whether a bucket may be taken from: first those that were given links, then any.

        After an answer that gave less than there was place for only what it gave may go, unless the crawler
        is `idle`: nothing would ever be asked again then.
        """
        if self._left:
            yield self._left.__contains__
        if idle or not self.short:
            yield lambda bucket: True
