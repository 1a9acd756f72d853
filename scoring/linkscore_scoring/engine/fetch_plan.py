"""Which buckets the next fetches should come from while the answers of others are out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import best_first
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.capabilities import FetchesInFlight
from linkscore_scoring.site.model import SiteModel

# Share of the places that are filled with whatever waits, in [0, 1]: a crawl whose best links are all fetched
# slows down to that, not to one at a time. Chosen: on the stored sites 1/8 and 1/4 are the same.
_ALWAYS_FILLED = 0.25


@dataclass(slots=True)
class FetchPlan:
    """What buckets are worth now, and how many links of each to fetch before asking again.

    Attributes
    ----------
    values
        (n_buckets,) float64 in [0, 1], what is in flight counted.
    takes
        (n_buckets,) int64.
    """

    values: NDArray[np.float64]
    takes: NDArray[np.int64]

    def order(self, at_most: int = 0) -> NDArray[np.int64]:
        """Return buckets best first, ties as given; `at_most` (0: all) cuts only those given nothing."""
        return best_first(self.values, self.takes, at_most)


class SiteInFlight:
    """The buckets of one site in a question, with what is under way there.

    Parameters
    ----------
    look
        Gives policy and model of the site, the same each time.
    under_way
        Fetches begun and not answered, by bucket.
    fill
        Whether all places are to be filled, however little is known.
    """

    def __init__(
        self,
        look: Callable[[], tuple[Policy, SiteModel]],
        under_way: Mapping[str, int],
        *,
        fill: bool = False,
    ) -> None:
        self._look, self._fill = look, fill
        self._seen: tuple[Policy, SiteModel] | None = look()
        self._counted: FetchesInFlight | None = capabilities.in_flight(*self._seen)
        self.begun = sum(under_way.values())
        self.places = self._counted.places if self._counted is not None and not fill else None
        if self._counted is not None:
            for bucket, n in under_way.items():
                self._counted.begin(bucket, n)

    def values(self, buckets: Sequence[str]) -> NDArray[np.float64]:
        """Return the value of each bucket."""
        if self._counted is None or not self.begun:
            policy, model = self._seen or self._look()
            return policy.value(buckets, model)
        return np.array([self._counted.value(bucket) for bucket in buckets], dtype=np.float64)

    def let_go(self) -> None:
        """Hold policy and model no longer, until a fetch begins; a question may name more sites than fit."""
        self._seen = None
        if not self.begun:
            self._counted = None

    @property
    def floor(self) -> float:
        """Value below which a link may wait for the answers that are out; 0 if none ever does."""
        return 0.0 if self._counted is None or self._fill else self._counted.floor

    @property
    def has_place(self) -> bool:
        """Whether one more fetch may begin."""
        return self.places is None or self.begun < self.places

    def begin(self, bucket: str) -> None:
        """Count a fetch as begun."""
        if not self.begun and self._seen is None:
            self._counted = capabilities.in_flight(*self._look())
        self.begun += 1
        if self._counted is not None:
            self._counted.begin(bucket)

    def value(self, bucket: str, last: float) -> float:
        """Return the value of a bucket by now, that was worth `last` before."""
        return self._counted.value(bucket) if self._counted is not None else last


def keeps_filling(begun: int, free: int) -> bool:
    """Say whether a site with so many fetches under way takes places however little its links are worth."""
    return begun < 1 + _ALWAYS_FILLED * (begun + free)


@dataclass(frozen=True, slots=True)
class BucketEntry:
    """A bucket in a question: its row, its site if that is known, its name there, and how many links wait."""

    row: int
    site: SiteInFlight | None
    name: str
    waiting: int


def counts_by_site(counts: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the counts of each site's buckets, by their names within the site."""
    found: dict[str, dict[str, int]] = {}
    for name, n in counts.items():
        site, _, local = name.partition("/")
        found.setdefault(site, {})[local] = n
    return found
