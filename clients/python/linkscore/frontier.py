"""Links that wait in buckets, best first, what the server allows next, and the order while it is away."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from linkscore.messages import Budget, is_dropped, message_of
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

MAX_PLACES = 4
"""Buckets a URL waits in at most; a bound, chosen."""

GUESSED = 2.0
"""How far behind the best link of a bucket one waits that is only guessed to belong there: behind all
others, whose scores and values are in [0, 1]."""

TRUST = 16
"""Fetches for which the value of a bucket holds, per link that was taken from it before the outage.

Measured by replay on three stored sites, the server gone at fetch 250 of 900 (of 700 for the blog): share of
wanted pages from there on, by trust 1, 16, 32: forum .925, .935, .940; questions .669, .668, .666; blog .667,
.664, .656. Stale values that do not fade at all gave .026, .294 and .011.
"""

MAX_SHAPES = 4_096
"""Shapes of URLs that are remembered; a bound, chosen."""

# Digits of a part of a score that count: differences below are noise of the server's arithmetic.
_DIGITS = 6

T = TypeVar("T")

QueueKey = tuple[str, str]
"""The links of a bucket in one download slot: names of both."""


class Allotment:
    """How many links of each bucket may be taken before RankBuckets answers again.

    Empty at first and while the server is out: the order of the buckets alone decides then.
    """

    def __init__(self) -> None:
        self.short = False  # whether the last answer gave less than there was place for: places stay empty
        self._left: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()

    def asked(self) -> None:
        """Note that RankBuckets is asked now: what is taken from here on its answer does not know of."""
        self._taken.clear()

    def read(
        self, answer: scoring_pb2.RankBucketsResponse, *, waiting: Mapping[str, int], n: int
    ) -> dict[str, float]:
        """Take over an answer, and return what each bucket is worth."""
        names = list(waiting)
        urls = {names[i]: given for i, given in zip(answer.order, answer.urls, strict=False) if given}
        self._left = Counter(urls) - self._taken
        self.short = bool(answer.urls) and sum(urls.values()) < min(n, sum(waiting.values()))
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
    """

    def __init__(self, budget: Budget | None = None) -> None:
        given = message_of(crawl_pb2.Budget, budget)
        self._seq = 0  # event of the answer that was taken over
        #: Fetches left when the last page was answered, all of the budget before; None without such a bound.
        self.left = given.max_fetches if given and given.HasField("max_fetches") else None
        self.spent = False  # the budget of the crawl itself
        self.why = ""  # the crawl or the last site that stopped does, one sentence
        #: Whether links are to be asked about once more before they are fetched: they may be in a trap by
        #: now, or some were to be dropped when they were found.
        self.asks_again = given is not None and given.HasField("max_trap_share")
        self._is_first = self.left is not None
        self._stop = ""
        self._stopped: dict[str, str] = {}

    def take(self, result: scoring_pb2.PageResult) -> None:
        """Take over what the answer to a page says.

        Answers that were asked for side by side come in any order: of the crawl the latest event speaks, and
        one that allows less, as numbers of events begin anew where the server lost the crawl.
        """
        self._is_first = False
        self.asks_again |= any(map(is_dropped, set(result.links.skip_reasons)))
        if not result.HasField("standing"):
            return
        said, site = result.standing, unquote(result.site.rpartition("/")[2])
        stop = _STOPS.get(said.site_decision, "")
        self._stopped.pop(site, None)
        if stop:
            self._stopped[site] = stop
        left = said.fetches_left if said.HasField("fetches_left") else None
        is_less = said.spent or (left is not None and self.left is not None and left < self.left)
        if result.event_seq >= self._seq or is_less:
            self._seq, self.spent, self.left = max(self._seq, result.event_seq), said.spent, left
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
    def reason(self) -> str:
        """Why the crawl ends, as one word for a crawler: ``linkscore_budget``, ``_covered`` or ``_yield``."""
        latest = next(reversed(self._stopped.values()), "")
        return f"linkscore_{self._stop or latest or 'budget'}"


_RUNS = re.compile(r"[0-9]+")
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
    segments = [_RUNS.sub("#", segment) for segment in parts.path.split("/")]
    names = {pair.partition("=")[0] for pair in parts.query.split("&") if pair}
    keys = "&".join(sorted({_RUNS.sub("#", name) for name in names}))
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
    >>> outlook.turn(away=True)
    >>> outlook.taken("tags")
    >>> round(outlook.worth("tags", 0.5), 3)
    0.471
    """

    def __init__(self) -> None:
        self.away = False
        self._found: dict[str, tuple[str, float]] = {}  # of shapes, where last found
        self._shape_of: dict[str, str] = {}
        # Of coarse shapes: 1 + pages, 1 + fetches, pages before the outage, links taken since it began
        self._tried: dict[str, list[int]] = {}
        self._taken: Counter[str] = Counter()
        self._since: Counter[str] = Counter()

    def turn(self, *, away: bool) -> None:
        """Note that the server does not renew values from here on, or does; once more it says nothing new."""
        if away == self.away:
            return
        self.away = away
        self._taken += self._since
        self._since.clear()
        for tried in self._tried.values():
            tried[2:] = tried[0] - 1, 0

    def placed(self, url: str, bucket: str, value: float) -> None:
        """Note the bucket of a link that was scored and is new to the crawl: from others nothing is taken."""
        for shape in url_shapes(url):
            self._found.pop(shape, None)
            _remember(self._found, shape, (bucket, value))
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
        (self._since if self.away else self._taken)[bucket] += 1
        if self.away and bucket in self._shape_of:
            self._tries(self._shape_of[bucket])[3] += 1

    def worth(self, bucket: str, value: float) -> float:
        """Give what is left of the value of a bucket."""
        if not self.away:
            return value
        pages, fetches, before, since = self._tried.get(self._shape_of.get(bucket, ""), (1, 1, 0, 0))
        holds = TRUST * (1 + max(self._taken[bucket], before))
        return value * pages / fetches * holds / (holds + max(self._since[bucket], since))

    def _tries(self, shape: str) -> list[int]:
        return _remember(self._tried, shape, self._tried.get(shape, [1, 1, 0, 0]))


def _remember(known: dict[str, T], shape: str, what: T) -> T:
    """Keep what is known of a shape, of as many as came last."""
    known[shape] = what
    if len(known) > MAX_SHAPES:
        del known[next(iter(known))]
    return what


class Place(NamedTuple):
    """A bucket a link stands in: its name, the score there, the value the bucket had, and the ticket.

    `slot` is the download slot of a crawler that has some.
    """

    bucket: str
    score: float
    value: float
    ticket: bytes = b""
    slot: str = ""

    @property
    def penalty(self) -> float:
        """How far the link is behind the best of its bucket."""
        return round(self.value - self.score, _DIGITS)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Item:
    """A link that waits, or that was taken: `ticket`, `score` and `bucket` are then where it was taken from.

    `score` is 1 for seeds, 0 for links the server did not know. `value` is whatever the caller keeps with it,
    `guessed` whether the bucket it waits in is a guess.
    """

    url: Any
    number: int
    value: Any = None
    ticket: bytes = b""
    score: float = 0.0
    bucket: str = ""
    places: dict[QueueKey, tuple[float, bytes]] = field(default_factory=dict)
    guessed: bool = False


class Frontier:
    """One queue a bucket; seeds go before all of them, links the server did not know behind.

    A link that is found again waits in further buckets, and is taken once; equal ones go by age. What is
    taken is under way until `done` is called, or nobody holds its `Item` any more. Memory grows with the
    links that wait. Not for several threads.

    `allotment` is what the server handed out, `outlook` how far values hold while it is away, `allowance`
    what the budget of the crawl allows, `values` what buckets are worth.

    Examples
    --------
    >>> frontier = Frontier()
    >>> frontier.add_unknown("http://a.org/other")
    >>> new = frontier.add("http://a.org/1", [Place("list", score=0.4, value=0.4)])
    >>> new = frontier.add("http://a.org/2", [Place("thread", score=0.9, value=0.9)])
    >>> frontier.values.update({"list": 0.8, "thread": 0.1})
    >>> [frontier.take().url for _ in range(3)]
    ['http://a.org/1', 'http://a.org/2', 'http://a.org/other']
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.allotment, self.outlook, self.allowance = Allotment(), Outlook(), Allowance(budget)
        self.values: dict[str, float] = {}
        self.last_number = 0
        self._under_way: WeakSet[Item] = WeakSet()
        self._waiting: dict[Hashable, Item] = {}
        self._heaps: dict[QueueKey, list[tuple[float, int, Item]]] = {}
        self._sizes: dict[QueueKey, int] = {}
        self._seeds: dict[Hashable, Item] = {}
        self._unknown: dict[Hashable, Item] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, url: Hashable) -> bool:
        return url in self._waiting

    def get(self, url: Hashable) -> Item | None:
        """Give a link that waits."""
        return self._waiting.get(url)

    def clear(self) -> None:
        """Forget all that waits and is under way; what buckets are worth stays."""
        for queue in (self._waiting, self._heaps, self._sizes, self._seeds, self._unknown, self._under_way):
            queue.clear()
        self.allotment.lift()

    @property
    def waiting(self) -> dict[str, int]:
        """How many links wait in each bucket that is not empty; first the one whose head waits longest."""
        sizes: Counter[str] = Counter()
        for queue in sorted(self._sizes, key=lambda queue: self._head(queue)[1]):
            sizes[queue[0]] += self._sizes[queue]
        return dict(sizes)

    @property
    def under_way(self) -> Counter[str]:
        """How many links that are not done were taken from each bucket."""
        return Counter(item.bucket for item in self._under_way if item.bucket)

    @property
    def taken(self) -> int:
        """How many URLs were taken and are not done."""
        return len(self._under_way)

    @property
    def ended(self) -> bool:
        """Whether the crawl has stopped: its budget is spent, or what waits is of sites that have stopped."""
        return self.allowance.spent or (self.all_held and not (self._seeds or self._unknown))

    @property
    def all_held(self) -> bool:
        """Whether links wait in buckets, and all of them in those of sites that have stopped."""
        return bool(self._sizes) and all(self.allowance.holds(bucket) for bucket, _ in self._sizes)

    @property
    def held(self) -> bool:
        """Whether something waits that should not be taken before something under way is done."""
        waits = bool(self._waiting) and not self._seeds
        return waits and bool(self._under_way) and self.allotment.short and self.best(idle=False) is None

    def add_seed(self, url: Hashable, value: Any = None) -> None:
        """Let a URL wait ahead of every scored one; one that waits already stays where it is."""
        if url not in self._waiting:
            self._seeds[url] = self._new(url, value)

    def add_unknown(self, url: Hashable, value: Any = None) -> None:
        """Let a URL that the server said nothing about wait behind every scored one."""
        if url not in self._waiting:
            self._unknown[url] = self._new(url, value)

    def add(
        self, url: Hashable, places: Iterable[Place], value: Any = None, *, number: int = 0
    ) -> list[Place]:
        """Let a link wait in its buckets, those of a guess excepted; gives the places that are new to it.

        `number` is its age, of one that waited in an earlier run.
        """
        item = self._waiting.get(url) or self._new(url, value, number)
        if item.guessed:
            self._withdraw(item)
        new = []
        for place in places:
            if (place.bucket, place.slot) not in item.places and len(item.places) < MAX_PLACES:
                self._enter(item, place)
                new.append(place)
        return new

    def add_guess(self, url: Hashable, bucket: str, worth: float, value: Any = None) -> None:
        """Let a link wait behind the scored links of a bucket worth so much, until `add` says more."""
        if url not in self._waiting:
            self.add(url, [Place(bucket, worth - GUESSED, worth)], value)

    def _enter(self, item: Item, place: Place) -> None:
        queue, penalty = (place.bucket, place.slot), place.penalty
        item.places[queue] = (penalty, place.ticket)
        item.guessed |= penalty == GUESSED
        self.values.setdefault(place.bucket, place.value)
        heapq.heappush(self._heaps.setdefault(queue, []), (penalty, item.number, item))
        self._sizes[queue] = self._sizes.get(queue, 0) + 1

    def _withdraw(self, item: Item) -> None:
        """Take a link out of its queues; what is left of it in their heaps is skipped."""
        for queue in item.places:
            self._sizes[queue] -= 1
            if not self._sizes[queue]:
                del self._sizes[queue], self._heaps[queue]
        item.places, item.guessed = {}, False

    def take(self) -> Item | None:
        """Take the best URL; None if none waits, or none should be taken before something is done."""
        for item in self._seeds.values():
            item.score = 1.0
            return self._leave(item)
        if (queue := self.best(idle=not self._under_way)) is not None:
            return self.take_from(queue)
        if not self._unknown or (self.allotment.short and self._under_way):
            return None
        return self._leave(next(iter(self._unknown.values())))

    def take_from(self, queue: QueueKey) -> Item:
        """Take the first link of a queue."""
        bucket, item = queue[0], self._head(queue)[2]
        penalty, ticket = item.places[queue]
        item.bucket, item.ticket = bucket, ticket
        item.score = min(1.0, max(0.0, self.values[bucket] - penalty))
        self.allotment.take(bucket)
        self.outlook.taken(bucket)
        return self._leave(item)

    def done(self, item: Item) -> None:
        """Note that the server knows what came of a URL that was taken, or never will."""
        self._under_way.discard(item)

    def put_back(self, item: Item) -> None:
        """Let a link wait again, in the bucket that it was taken from."""
        self.done(item)
        self._waiting[item.url] = item
        self._enter(item, Place(item.bucket, item.score, self.values[item.bucket], item.ticket))

    def discard(self, url: Hashable) -> None:
        """Let a link wait no more."""
        if (item := self._waiting.get(url)) is not None:
            self.done(self._leave(item))

    def best(self, *, idle: bool, has_room: Callable[[str], bool] = lambda slot: True) -> QueueKey | None:
        """Give the best queue that may be taken from; None if there is none.

        `idle` says that nothing is under way, `has_room` whether a download slot takes one more.
        """
        for may_go in self.allotment.rounds(idle=idle):
            able = [
                (bucket, slot)
                for bucket, slot in self._sizes
                if may_go(bucket) and not self.allowance.holds(bucket) and has_room(slot)
            ]
            if able:
                worth, values = self.outlook.worth, self.values
                return max(able, key=lambda queue: (worth(queue[0], values[queue[0]]), -self._head(queue)[1]))
        return None

    def _head(self, queue: QueueKey) -> tuple[float, int, Item]:
        """Return what is first in a queue, without what was taken or moved elsewhere."""
        heap = self._heaps[queue]
        while heap[0][0] != heap[0][2].places.get(queue, (None,))[0]:
            heapq.heappop(heap)
        return heap[0]

    def _leave(self, item: Item) -> Item:
        self._under_way.add(item)
        for queue in (self._waiting, self._seeds, self._unknown):
            queue.pop(item.url, None)
        self._withdraw(item)
        return item

    def _new(self, url: Hashable, value: Any, number: int = 0) -> Item:
        number = number or self.last_number + 1
        self.last_number = max(self.last_number, number)
        item = self._waiting[url] = Item(url, number, value)
        return item
