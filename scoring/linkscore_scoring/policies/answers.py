"""What policies answer besides scores: knowledge of the crawl, sites in their order, what helps elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import InvalidInput


class CrawlKnowledge(Protocol):
    """What the policies of all sites of a crawl know together; made of plain values like a policy's own.

    What one site teaches decides on the others, so all sites must be of one group.
    """

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""


class FetchesInFlight(Protocol):
    """What a policy makes of fetches that were begun and not answered yet; made for one question."""

    @property
    def places(self) -> int:
        """Fetches of the site that may be under way together, by how much is known of it: >= 1."""

    @property
    def floor(self) -> float:
        """Value in [0, 1] below which a link should wait for the answers that are out; 0 if none is."""

    def begin(self, bucket: str, n: int = 1) -> None:
        """Count fetches of links of a bucket as begun."""

    def values(self, buckets: Sequence[str]) -> NDArray[np.float64]:
        """Return the value of each bucket, (n_buckets,), in [0, 1], which falls or stays as fetches begin.

        With nothing under way it is that of `Policy.value`, but for the last bit.
        """


class PageNote(NamedTuple):
    """What a policy says of a page, new or observed.

    `thread_id`: URL of the first page of its thread, empty if none is known. `page_type`: see
    `types.INDEX_PAGE`, 0 if not known. `relevance`: how far it is wanted in words, in [0, 1], if known.
    """

    thread_id: str = ""
    page_type: int = 0
    relevance: float | None = None


NOTHING = PageNote()
"""Of a policy that says nothing of pages."""


@dataclass(slots=True)
class Plan:
    """What sites, or buckets, are worth and how many fetches each gets, in the order of the question.

    `values`: (n,) float64 in [0, 1], without exploration. `takes`: (n,) int64, fetches handed out.
    """

    values: NDArray[np.float64]
    takes: NDArray[np.int64]

    def order(self) -> NDArray[np.int64]:
        """Return rows best first, ties as given."""
        return np.argsort(-self.values, kind="stable")


class SiteBandit(Protocol):
    """Decides between the sites of a crawl."""

    def rank(
        self, names: Sequence[str], best: NDArray[np.float64], waiting: Sequence[int], n: int, seq: int
    ) -> Plan:
        """Return what sites are worth, and how n fetches are handed out among them; changes nothing.

        `names`: names of the sites, all different.
        `best`: `Policy.site_value` of each, (n_sites,).
        `waiting`: how many fetches each can take; a site that can take none gets none, but has a value.
        `n`: fetches to hand out.
        `seq`: event the decisions are made at.
        """


def allocate_best(
    values: Mapping[int, float],
    waiting: Mapping[int, int],
    n: int,
    draw: Callable[[int], float | None] = lambda decision: None,
) -> Counter[int]:
    """Return how many of n pulls each arm gets, always by the best value; equal arms take turns.

    An arm sleeps once as many as are `waiting` of it. `draw`: the place in [0, 1) among the arms awake that a
    decision, by its number, takes instead; None: the best.
    """
    heap = [(-value, 0, place, arm) for place, (arm, value) in enumerate(values.items())]
    heapify(heap)
    shares, awake = Counter[int](), list(values)
    places = {arm: place for place, arm in enumerate(awake)}
    for decision in range(n if values else 0):
        if (drawn := draw(decision)) is not None:
            arm = awake[int(drawn * len(awake))]
        else:
            while heap[0][-1] not in places:
                heappop(heap)
            cost, pulls, place, arm = heap[0]
            heapreplace(heap, (cost, pulls + 1, place, arm))
        shares[arm] += 1
        if shares[arm] >= waiting[arm]:
            last, place = awake.pop(), places.pop(arm)
            if not awake:
                break
            if last != arm:
                awake[place], places[last] = last, place
    return shares


ANYTHING = 0
"""Stands for every URL shape, or every tag path."""

MAX_BYTES = 131_072
"""A bound of the wire contract: bytes of a document."""
MAX_GROUPS = 1_000
"""A bound: groups of links of a document, those that most fetches came through; 110 bytes each at most."""
MAX_FETCHES = 1e12
"""A bound: fetches of a group; no crawl has as many."""

_Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class LinkGroup(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Links of one URL shape at one tag path, or of all of either, and what came of following them."""

    shape: int  # hash of the shape of their URLs, or `ANYTHING`
    link_path: int  # hash of their tag path with classes, digits folded, or `ANYTHING`
    # pages fetched through them, in pulls
    fetches: Annotated[float, msgspec.Meta(gt=0.0, le=MAX_FETCHES)]
    # reward, hub: mean reward of these pages, and mean yield of the links found there
    reward: _Share
    hub: _Share


class Experience(msgspec.Struct, frozen=True):
    """What one crawl learned of one site: what came of following which links, by hashes that sites share.

    No URL, host or text is in it, so it can be handed on; who guesses a tag path can tell by its hash whether
    the site had it. Sites of the same software share tag paths and URL shapes, others few or none.

    Examples
    --------
    >>> learned = Experience.of([LinkGroup(ANYTHING, 7, fetches=12.0, reward=0.9, hub=0.0)])
    >>> Experience.from_bytes(learned.to_bytes()) == learned
    True
    """

    format: Literal["linkscore experience"]
    version: Literal[1]  # one of another version is refused: what its hashes are of may differ
    groups: Annotated[tuple[LinkGroup, ...], msgspec.Meta(max_length=MAX_GROUPS)]

    @classmethod
    def of(cls, groups: Iterable[LinkGroup]) -> Experience:
        """Return the experience of some groups: those most fetched, in an order that is always the same."""
        most = sorted(groups, key=lambda group: (-group.fetches, group.shape, group.link_path))[:MAX_GROUPS]
        in_order = sorted(most, key=lambda group: (group.shape, group.link_path))
        return cls("linkscore experience", 1, tuple(in_order))

    def to_bytes(self) -> bytes:
        """Return the document: JSON, the same for the same experience."""
        return msgspec.json.encode(self)

    @classmethod
    def from_bytes(cls, document: bytes) -> Experience:
        """Return the experience of a document.

        Raises InvalidInput saying what is wrong with it; the field is the document itself.
        """
        if len(document) > MAX_BYTES:
            raise InvalidInput(f"must be at most {MAX_BYTES} bytes, got {len(document)}", field="")
        try:
            return cls.of(_EXPERIENCE.decode(document).groups)
        except (msgspec.DecodeError, RecursionError) as exc:
            rule = f"must be a document of `export rules --format experience`, version 1: {exc}"
            raise InvalidInput(rule, field="") from exc


_EXPERIENCE = msgspec.json.Decoder(Experience)
