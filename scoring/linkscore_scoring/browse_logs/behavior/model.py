"""What a browse log says of the URLs of a site: patterns with their figures, and pages of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.key_values import KeyValues, key_values
from linkscore_scoring.browse_logs.behavior.pattern_tree import PatternTree
from linkscore_scoring.browse_logs.behavior.serials import Serial, shape_of

Floats = NDArray[np.float64]

UNKNOWN_PAGE = -1
"""Row of a page that the log does not have."""


@dataclass(slots=True)
class PatternStats:
    """Figures of every node of the tree, (n_nodes,) float64 each; those of a leaf are its pattern's.

    Attributes
    ----------
    sizes, visits, referrals
        |P|, F_in and F_out (Liu 2011, Table 1), subtrees included.
    auth, hub
        Of the behaviour graph; of an inner node the mean of its patterns by their pages.
    demand
        Visits a day of a page of the log, on average.
    newcomer
        Visits a day to expect of a page that the log does not have.
    gain
        Visits a day that visiting a page discovers, on average.
    """

    sizes: Floats
    visits: Floats
    referrals: Floats
    auth: Floats
    hub: Floats
    demand: Floats
    newcomer: Floats
    gain: Floats


class Place(NamedTuple):
    """Where a URL stands.

    Attributes
    ----------
    node, covered
        Pattern it fits, and whether that is a leaf.
    page
        Row among the log's own pages, or `UNKNOWN_PAGE`.
    ahead, newborn
        Days from the end of the log to the birth of its page, and visits a day that pages born within the log
        had; None and 0 unless it has a number beyond the log's.
    """

    node: int
    covered: bool
    page: int
    ahead: float | None = None
    newborn: float = 0.0


@dataclass(slots=True)
class OwnPages:
    """Pages of the log, as columns in the order of their hashes.

    Attributes
    ----------
    hashes
        (n,) uint64, identity hashes.
    demand, gain
        (n,) float32: visits a day, and visits a day that visiting the page discovers.
    """

    hashes: NDArray[np.uint64]
    demand: NDArray[np.float32]
    gain: NDArray[np.float32]

    def row(self, key: int) -> int:
        """Return the row of an identity hash, `UNKNOWN_PAGE` if the log does not have the page."""
        at = int(np.searchsorted(self.hashes, np.uint64(key)))
        return at if at < len(self.hashes) and int(self.hashes[at]) == key else UNKNOWN_PAGE


@dataclass
class BehaviorModel:
    """URL patterns of a site as people browse it.

    Attributes
    ----------
    n_days
        Days of the log.
    tree, stats
        Patterns, and figures of each.
    serials
        Numbers that grow, by shape of URL.
    pages
        The log's own pages, the most visited ones.
    examples
        A URL of each leaf, the most visited one.
    """

    n_days: int
    tree: PatternTree
    stats: PatternStats
    serials: dict[str, Serial]
    pages: OwnPages
    examples: dict[int, str] = field(default_factory=dict)

    @cached_property
    def _fixed(self) -> dict[int, dict[str, str]]:
        return {}

    def pattern(self, node: int) -> dict[str, str]:
        """Return the label of each key that a pattern fixes; do not change it."""
        if node not in self._fixed:
            self._fixed[node] = self.tree.pattern(node)
        return self._fixed[node]

    def leaves(self) -> list[int]:
        """Return the ids of the patterns."""
        return [at for at, node in enumerate(self.tree.nodes) if not node.key]

    def place(self, url: str, key: int) -> Place:
        """Return where a URL stands, by address and identity hash; O(keys of the URL)."""
        pairs = key_values(url)
        node, covered = self.tree.match(pairs)
        page, serial = self.pages.row(key), self._serial(pairs, node)
        days = serial.days_ahead(pairs) if serial else -1.0
        if serial is None or days < 0.0:
            return Place(node, covered, page)
        return Place(node, covered, page, days, serial.newborn)

    def places(self, urls: Sequence[str], keys: Sequence[int]) -> list[Place]:
        """Return where URLs stand, same length."""
        return [self.place(url, key) for url, key in zip(urls, keys, strict=True)]

    def demand(self, place: Place) -> float:
        """Return the visits a day to expect of a URL, in as many days as the log has.

        Of a page of the log its own, recent days first. Of one with a number beyond the log's those of pages
        born within the log, divided by (1 + a / n)^2 for a page to be born a days later, n the days of the
        log. Of others those of newcomers of their pattern.
        """
        ahead = max(place.ahead or 0.0, 0.0) / max(self.n_days, 1)
        return self.demand_once_born(place, place.newborn / (1.0 + ahead) ** 2)

    def demand_once_born(self, place: Place, newborn: float | None = None) -> float:
        """Return the visits a day to expect of a URL whose page is there: new ones count in full."""
        if place.page != UNKNOWN_PAGE and self.pages.demand[place.page] > 0.0:
            return float(self.pages.demand[place.page])
        return max(float(self.stats.newcomer[place.node]), place.newborn if newborn is None else newborn)

    def gain(self, place: Place) -> float:
        """Return the visits a day that visiting a URL discovers, a page of the log or another one."""
        known = place.page != UNKNOWN_PAGE
        return float(self.pages.gain[place.page] if known else self.stats.gain[place.node])

    def _serial(self, pairs: KeyValues, node: int) -> Serial | None:
        return self.serials.get(shape_of(pairs, self.pattern(node))) if self.serials else None

    def __post_init__(self) -> None:
        if any(getattr(self.stats, each.name).shape != (len(self.tree),) for each in fields(self.stats)):
            raise ValueError("figures of patterns must be one a node")
