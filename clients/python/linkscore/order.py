"""What the server allows a crawler to fetch next: links of each bucket, and what its budget leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import unquote

from linkscore.messages import Budget, is_dropped, message_of
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
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
        """Take over an answer, and return what each bucket is worth."""
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


_STOPS = {
    common_pb2.DECISION_STOP_YIELD: "yield",
    common_pb2.DECISION_STOP_COVERED: "covered",
    common_pb2.DECISION_STOP_BUDGET: "budget",
}


class Allowance:
    """Whether a crawler may begin fetches. Of a crawl without a budget everything may.

    Until the first page is answered one fetch may begin at a time: a crawl that was there may have spent all.

    Attributes
    ----------
    left
        Fetches left when the last page was answered, all of the budget before; None without such a bound.
    spent
        Whether the budget of the crawl itself is spent.
    why
        Why the crawl or the last site that stopped does, one sentence; empty while nothing has.
    asks_again
        Whether links are to be asked about once more before they are fetched: they may be in a trap by now,
        or some were to be dropped when they were found.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        given = message_of(crawl_pb2.Budget, budget)
        self._seq = 0  # event of the answer that was taken over
        self.left = None if given is None else _most_fetches(given)
        self.spent = False
        self.why = ""
        self.asks_again = given is not None and given.HasField("max_trap_share")
        self._is_first = self.left is not None
        self._stop = ""
        self._stopped: dict[str, str] = {}

    def take(self, result: scoring_pb2.PageResult) -> None:
        """Take over what the answer to a page says.

        Answers that were asked for side by side come in any order: one that another overtook cannot raise
        what is left.
        """
        self._is_first = False
        is_latest = result.event_seq >= self._seq
        self._seq = max(self._seq, result.event_seq)
        self.asks_again |= any(map(is_dropped, set(result.links.skip_reasons)))
        if not result.HasField("standing"):
            return
        said = result.standing
        left = said.fetches_left if said.HasField("fetches_left") else None
        if not is_latest and self.left is not None:
            left = self.left if left is None else min(self.left, left)
        self.left = left
        if self.spent and not is_latest:
            return
        self.spent = said.spent
        site, stop = unquote(result.site.rpartition("/")[2]), _STOPS.get(said.site_decision, "")
        if stop:
            self._stopped[site] = stop
        else:
            self._stopped.pop(site, None)
        self._stop = _STOPS.get(said.decision, "") if said.spent else stop
        self.why = said.reason or said.site_reason or (self.why if self._stopped else "")

    def is_full(self, pending: int) -> bool:
        """Say whether no fetch may begin while so many are pending: in flight, or not answered yet."""
        most = self.left if not self._is_first else 1
        return self.spent or (most is not None and pending >= most)

    def without_answer(self, uncounted: int) -> None:
        """Take note that the server counts so many fetches neither now nor soon: they are spent too."""
        self._is_first = self._is_first and not uncounted
        if not self.spent and self.left is not None and uncounted >= self.left:
            self.spent, self._stop = True, "budget"
            self.why = f"{uncounted:,} fetches that the server does not know are all that was left"

    def holds(self, bucket: str) -> bool:
        """Say whether the links of a bucket are not to be fetched: its site has stopped."""
        return self.spent or bucket.partition("/")[0] in self._stopped

    @property
    def holds_any(self) -> bool:
        """Whether links of any bucket are held."""
        return self.spent or bool(self._stopped)

    @property
    def reason(self) -> str:
        """Why the crawl ends, as one word for a crawler: ``linkscore_budget``, ``_covered`` or ``_yield``."""
        latest = next(reversed(self._stopped.values()), "")
        return f"linkscore_{self._stop or latest or 'budget'}"


def _most_fetches(budget: crawl_pb2.Budget) -> int | None:
    """Return how many fetches a budget allows in all, None without such a bound."""
    most = [budget.max_fetches] if budget.HasField("max_fetches") else []
    if budget.HasField("max_cost") and budget.fetch_cost > 0:
        most.append(int(budget.max_cost // budget.fetch_cost))
    return min(most, default=None)
