"""What policies answer besides scores: knowledge of the crawl, sites in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

SERVED, EXTRA = 1, 2
"""What part a policy has on a site; numbers as in the wire contract."""


class CrawlKnowledge(Protocol):
    """What the policies of all sites of a crawl know together; made of plain values like a policy's own.

    What one site teaches decides on the others, so all sites must be of one group.
    """

    def to_state(self) -> dict[str, Any]:
        """Return the knowledge as plain values."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the knowledge of `to_state`, or raise CorruptState."""


class FetchesInFlight(Protocol):
    """What a policy makes of fetches that were begun and not answered yet; made for one question.

    `places`: fetches of the site that may be under way together, by how much is known of it: >= 1.
    `floor`: value in [0, 1] below which a link should rather wait for the answers that are out; 0 if none is.
    """

    @property
    def places(self) -> int: ...

    @property
    def floor(self) -> float: ...

    def begin(self, bucket: str, n: int = 1) -> None:
        """Count fetches of links of a bucket as begun."""

    def value(self, bucket: str) -> float:
        """Return the value of a bucket, in [0, 1], which falls or stays as fetches begin.

        With nothing under way it is that of `Policy.value`, but for the last bit.
        """

    def values(self, buckets: Sequence[str]) -> NDArray[np.float64]:
        """Return `value` of each bucket, (n_buckets,)."""


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


@dataclass(frozen=True, slots=True)
class PolicyQuality:
    """How a policy did on the links of a site that were fetched."""

    policy: str  # its name
    role: int  # `SERVED` or `EXTRA`
    judged: int  # links it was judged on, of the latest
    # agreement of its scores with rewards over these; see `engine.progressive_validation`
    quality: float
    reward: float  # mean reward of the latest of these links, whoever chose them


@dataclass(slots=True)
class SitesRanked:
    """What sites are worth and how many fetches each gets, all of it in the order of the question."""

    # (n_sites,) float64 in [0, 1]: what the best decision goes by, without exploration; of a value that is
    # drawn the median
    values: NDArray[np.float64]
    urls: NDArray[np.int64]  # (n_sites,) int64, fetches handed out
    # (n_sites,) float64: the probability with which a decision takes the site while none has fallen asleep;
    # None if nothing is drawn, or if values are drawn over more than 500 sites
    probs: NDArray[np.float64] | None = None

    def order(self, at_most: int = 0) -> NDArray[np.int64]:
        """Return sites best first, ties as given; `at_most` (0: all) cuts sites without fetches only."""
        return best_first(self.values, self.urls, at_most)


class SiteBandit(Protocol):
    """Decides between the sites of a crawl."""

    def rank(
        self, names: Sequence[str], best: NDArray[np.float64], waiting: Sequence[int], n: int, seq: int
    ) -> SitesRanked:
        """Return what sites are worth, and how n fetches are handed out among them; changes nothing.

        `names`: names of the sites, all different.
        `best`: `Policy.site_value` of each, (n_sites,).
        `waiting`: how many fetches each can take; a site that can take none gets none, but has a value.
        `n`: fetches to hand out.
        `seq`: event the decisions are made at.
        """


def best_first(values: NDArray[np.float64], urls: NDArray[np.int64], at_most: int = 0) -> NDArray[np.int64]:
    """Return rows best first, ties as given; `at_most` (0: all) cuts rows that were given no fetches only."""
    order = np.argsort(-values, kind="stable")
    if not at_most:
        return order
    given = urls[order] > 0
    room = max(0, at_most - int(given.sum()))
    return order[given | (np.cumsum(~given) <= room)]
