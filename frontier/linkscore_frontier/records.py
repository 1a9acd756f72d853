"""What goes into a store of URLs and comes out of it, and what is counted of a queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from linkscore.frontier import Place


class State(IntEnum):
    """Where a URL stands: `due` is when it came, when it may be fetched again, or when its lease ends."""

    WAITING = 0
    LATER = 1
    LEASED = 2
    DONE = 3


class Status(IntEnum):
    """What became of a URL that was put: numbers of the contract."""

    OK = 0
    SKIPPED = 1
    FAIL = 2


class QueueSlot(NamedTuple):
    """A place as the file has it: number of the bucket, how much worse than it the link is, and ticket."""

    bucket: int
    score_penalty: float
    ticket: str = ""


@dataclass(slots=True)
class Arrival:
    """A URL that is put into a queue, with what the crawler keeps with it.

    `places` is None if linkscore was not asked about it, empty if it knows nothing. A known URL was fetched;
    it may be again from the second `due`, never if that is 0. `failed_status` is that of a fetch that failed.
    """

    url: str
    key: str
    info: bytes = b""
    places: Sequence[Place] | None = None
    is_known: bool = False
    due: int = 0
    failed_status: int = 0
    ticket: bytes = b""


class Given(NamedTuple):
    """A URL that is given to a crawler, with the ticket of the bucket it was taken from."""

    url: str
    key: str
    info: bytes
    ticket: str = ""


class Listed(NamedTuple):
    """A URL as a list shows it."""

    id: int
    url: str
    key: str
    info: bytes
    state: State
    due: int
    created: int


class Question(NamedTuple):
    """What RankBuckets is asked: links that wait and fetches under way, by bucket, and places to fill.

    `fill`: fill them all. That is so while no page was sent to linkscore, whose answers would say more.
    """

    waiting: dict[str, int]
    under_way: dict[str, int]
    places: int
    fill: bool


@dataclass(slots=True)
class Queue:
    """A queue: how many of its URLs wait in which bucket, are in other states, and how it is paced."""

    id: int
    key: str
    delay: int | None = None
    blocked: int = 0
    most: int = 0
    given: float = 0.0
    waiting: Counter[int] = field(default_factory=Counter)
    states: Counter[State] = field(default_factory=Counter)

    @property
    def active(self) -> int:
        """URLs that are not done."""
        return sum(n for state, n in self.states.items() if state is not State.DONE)

    def gives(self, now: float, each: int, delay: int) -> bool:
        """Say whether it may give URLs now: not blocked, paced, within its limit, not too many under way."""
        return (
            bool(self.waiting)
            and self.blocked < now
            and self.given + (delay if self.delay is None else self.delay) <= now
            and not 0 < self.most <= self.states[State.DONE]
            and self.room(each, 1) > 0
        )

    def room(self, each: int, most: int) -> int:
        """Return how many it may give: until `each` are under way (0: any number), and `most` at once."""
        return min(most, each - self.states[State.LEASED]) if each else most
