"""Teasers: how much of a page's text its links will turn out to own.

A list page with excerpts looks rich until the articles behind it are fetched. What happens to links of one
Apath on the pages fetched so far says what to expect of the next page that shows such links.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import Any

from linkscore_scoring.learners.rewards import HALF_CHARS, text_reward
from linkscore_scoring.policies.harvest.arms import Node

_SHRINK = 2.0


class Judge(IntEnum):
    """Whom a reward came from; a higher one overrules a lower one."""

    NOVELTY = 0
    LIKENESS = 1
    FEEDBACK = 2


@dataclass(slots=True)
class PageWorth:
    """What is remembered of a fetched page so that its reward can be revised.

    Attributes
    ----------
    own_chars
        Characters that belong to it at present.
    nodes
        Arm nodes its fetch was credited to.
    pending
        Apath -> links to pages not fetched yet that are known from this page first.
    between
        Apaths whose links stand between new texts: 3 and more, each after another block.
    reward
        Reward credited so far, in [0, 1].
    weight
        Share of a pull it was credited as, in (0, 1].
    judge
        Whom the reward came from.
    """

    own_chars: int
    nodes: list[Node]
    pending: dict[int, int] = field(default_factory=dict)
    between: list[int] = field(default_factory=list)
    reward: float = 0.0
    weight: float = 1.0
    judge: Judge = Judge.NOVELTY


class TeaserLedger:
    """Pages with their text, and per Apath what following its links cost the pages they stand on.

    Parameters
    ----------
    half_chars
        Characters of own text that are worth a reward of 0.5.
    max_pages
        Pages kept; what is dropped keeps its last reward.
    max_apaths
        Apaths kept; beyond it the ones tested first are dropped.
    """

    def __init__(
        self, *, half_chars: float = HALF_CHARS, max_pages: int = 5_000, max_apaths: int = 20_000
    ) -> None:
        self.half_chars = half_chars
        self.max_pages = max_pages
        self.max_apaths = max_apaths
        self._pages: dict[int, PageWorth] = {}
        self._tested: dict[int, list[float]] = {}
        self._stakes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._pages)

    def page(self, key: int) -> PageWorth | None:
        """Return what is remembered of a page."""
        return self._pages.get(key)

    def add(self, key: int, page: PageWorth) -> None:
        """Remember a page; one with text of its own and links between puts its Apaths at stake."""
        self._pages[key] = page
        if page.own_chars >= self.half_chars:
            for apath in page.between:
                self._stakes[apath] = self._stakes.get(apath, 0) + 1
        _trim(self._pages, self.max_pages)
        _trim(self._stakes, self.max_apaths)

    def followed(self, source: int, apath: int, taken_chars: int) -> None:
        """Note the fetch of a link of `apath` on page `source`, and what text the target took from it."""
        counts = self._tested.setdefault(apath, [0.0, 0.0])
        counts[0] += 1.0
        counts[1] += taken_chars
        _trim(self._tested, self.max_apaths)
        self.forgotten(source, apath)

    def forgotten(self, source: int, apath: int) -> None:
        """Note that a pending link of `apath` on page `source` is pending no more."""
        page = self._pages.get(source)
        if page is not None and page.pending.get(apath, 0) > 0:
            page.pending[apath] -= 1

    def reward(self, page: PageWorth) -> float:
        """Return x / (x + half_chars), x = own text less what pending links are feared to take."""
        expected = sum(n * self._claim(apath) for apath, n in page.pending.items())
        own = page.own_chars * (1.0 - self._doubt(page.between)) - expected
        return text_reward(own, half_chars=self.half_chars)

    def tested(self, apath: int) -> float:
        """Return how many links of an Apath were followed."""
        return self._tested.get(apath, (0.0, 0.0))[0]

    def stakes(self, apath: int) -> int:
        """Return how many pages with text of their own show links of an Apath between their texts."""
        return self._stakes.get(apath, 0)

    def _claim(self, apath: int) -> float:
        tested, claimed = self._tested.get(apath, (0.0, 0.0))
        return claimed / (tested + _SHRINK)

    def _doubt(self, between: Iterable[int]) -> float:
        """Return the share of a page's text that links between its texts may claim while they are untested.

        Doubt fades with every page that shows such links, followed or not: some links are never followed,
        because the crawler's own rules drop them.
        """
        return max(
            (_SHRINK / (_SHRINK + self.tested(apath) + self.stakes(apath)) for apath in between), default=0.0
        )

    def to_state(self) -> dict[str, Any]:
        """Return the ledger as plain values."""
        pages = [
            [key, p.own_chars, p.nodes, list(p.pending.items()), p.between, p.reward, p.weight, int(p.judge)]
            for key, p in self._pages.items()
        ]
        return {"pages": pages, "tested": list(self._tested.items()), "stakes": list(self._stakes.items())}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the ledger of `to_state`."""
        self._pages = {
            key: PageWorth(
                own, [(p, a) for p, a in nodes], dict(pending), list(between), reward, weight, Judge(judge)
            )
            for key, own, nodes, pending, between, reward, weight, judge in state["pages"]
        }
        self._tested = {apath: list(counts) for apath, counts in state["tested"]}
        self._stakes = dict(state["stakes"])


def _trim(table: dict[int, Any], most: int) -> None:
    for key in list(islice(table, max(0, len(table) - most))):
        del table[key]
