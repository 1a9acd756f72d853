"""What a page's own text is worth: how much is much on this site, and how much its links will take over.

A list page with excerpts looks rich until the articles behind it are fetched. What happened to links of one
link path on the pages fetched so far says what to expect of the next page that shows such links.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from math import ceil, log2

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.policies.harvest.arms import Node
from linkscore_scoring.policies.harvest.tunables import DEFAULTS, Tunables
from linkscore_scoring.site.texts import HALF_CHARS, text_reward
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum, shrunk


class RewardSource(IntEnum):
    """Where a reward came from; a higher one overrules a lower one."""

    TEXT = 0
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
        link path -> links to pages not fetched yet that are known from this page first.
    between
        link paths whose links stand between new texts: 3 and more, each after another block.
    reward
        Reward credited so far, in [0, 1].
    weight
        Share of a pull it was credited as, in (0, 1].
    doubt
        How far its text may be excerpts, in [0, 1): `weight` was multiplied by 1 - doubt.
    source
        Where the reward came from.
    label
        How far it is like a page that somebody named, in [-1, 1], below 0 if that one is not wanted; 0 if
        nobody named any.
    """

    own_chars: int
    nodes: list[Node]
    pending: dict[int, int] = field(default_factory=dict)
    between: list[int] = field(default_factory=list)
    reward: float = 0.0
    weight: float = 1.0
    source: RewardSource = RewardSource.TEXT
    doubt: float = 0.0
    label: float = 0.0

    @property
    def named(self) -> float:
        """How far it is wanted as feedback, or else examples, say; 0 if neither does."""
        return {
            RewardSource.TEXT: 0.0,
            RewardSource.LIKENESS: self.label,
            RewardSource.FEEDBACK: self.reward,
        }[self.source]


class TextScale(Stateful):
    """A share of a high quantile of the pages' own text, shrunk to what most sites have.

    A product of a shop may have 60 characters of its own and be all there is to find, on a forum 60
    characters are a signature. The quantile is taken over pages with text of their own, each at what it has
    *by now*, so that lists of excerpts leave it as they lose their text.

    Notes
    -----
    Not from a paper. Cost: O(1) a page, O(bins) a look; looks after every tenth page more.

    Examples
    --------
    >>> scale = TextScale()
    >>> round(scale.half_chars)  # as on most sites
    400
    >>> for _ in range(50):
    ...     scale.add(64)
    >>> scale.look()
    True
    >>> scale.half_chars  # a shop: an eighth of 64
    8.0
    """

    half_chars: Stored[float]
    _bins: Stored[dict[int, float]]
    _pages: Stored[int]
    _next: Stored[int]

    def __init__(self, tunables: Tunables = DEFAULTS) -> None:
        self._t = tunables
        # Text of which a share is `HALF_CHARS` or, as bins are coarse, a little more.
        most = ceil(tunables.bins_per_octave * log2(HALF_CHARS / tunables.text_share))
        self._bins = {most: tunables.prior_pages}
        self._pages, self._next = 0, 1
        self.half_chars = HALF_CHARS

    def add(self, chars: int) -> None:
        """Count a page with so many characters of its own."""
        self._pages += 1
        self._count(chars, 1.0)

    def move(self, before: int, after: int) -> None:
        """Note that a page counted before has another number of characters now."""
        self._count(before, -1.0)
        self._count(after, 1.0)

    def look(self) -> bool:
        """Set `half_chars` anew if it is time to; say whether it moved."""
        if self._pages < self._next:
            return False
        self._next = int(self._t.look_growth * self._pages) + 1
        before = self.half_chars
        self.half_chars = min(HALF_CHARS, self._t.text_share * self._quantile())
        return self.half_chars != before

    def _count(self, chars: int, pages: float) -> None:
        if chars > 0:
            number = self._bin(chars)
            self._bins[number] = self._bins.get(number, 0.0) + pages

    def _quantile(self) -> float:
        left = self._t.text_quantile * left_sum(self._bins.values())
        for number in sorted(self._bins):
            left -= self._bins[number]
            if left <= 0.0:
                break
        return float(2.0 ** (number / self._t.bins_per_octave))

    def _bin(self, chars: float) -> int:
        return round(self._t.bins_per_octave * log2(chars))


class ExcerptLedger(Stateful):
    """Pages with their text, and per link path what following its links cost the pages they stand on.

    Parameters
    ----------
    tunables
        Of the policy.
    max_pages
        Pages kept; what is dropped keeps its last reward.
    max_link_paths
        link paths kept; beyond it the ones tested first are dropped.

    Notes
    -----
    Not from a paper (ADR 6). Cost: O(link paths of the page) a reward.

    Examples
    --------
    A page of 1,000 characters with two links; then one link of their kind took 300 characters elsewhere, so
    each of the two is expected to take 300 / (1 + 2), and 800 characters remain:

    >>> ledger = ExcerptLedger()
    >>> page = PageWorth(own_chars=1_000, nodes=[], pending={5: 2})
    >>> round(ledger.reward(page), 3)
    0.714
    >>> ledger.followed(source=1, link_path=5, taken_chars=300)
    >>> round(ledger.reward(page), 3)
    0.667
    """

    scale: Stored[TextScale]
    _pages: Stored[dict[int, PageWorth]]
    _tested: Stored[dict[int, list[float]]]
    _pages_showing: Stored[dict[int, int]]

    def __init__(
        self,
        tunables: Tunables = DEFAULTS,
        *,
        max_pages: int = DEFAULTS.pages,
        max_link_paths: int = DEFAULTS.kept,
    ) -> None:
        self.tunables = tunables
        self.scale = TextScale(tunables)
        self.max_pages = max_pages
        self.max_link_paths = max_link_paths
        self._pages, self._tested, self._pages_showing = {}, {}, {}

    def __len__(self) -> int:
        return len(self._pages)

    def page(self, page_key: int) -> PageWorth | None:
        """Return what is remembered of a page."""
        return self._pages.get(page_key)

    def add(self, page_key: int, page: PageWorth) -> None:
        """Remember a page; one with text of its own counts for the link paths between its texts."""
        self._pages[page_key] = page
        self.scale.add(page.own_chars)
        if page.own_chars >= HALF_CHARS:
            for link_path in page.between:
                self._pages_showing[link_path] = self._pages_showing.get(link_path, 0) + 1
        drop_oldest(self._pages, self.max_pages)
        drop_oldest(self._pages_showing, self.max_link_paths)

    def followed(self, source: int, link_path: int, taken_chars: int) -> None:
        """Note the fetch of a link of `link_path` on page `source`, and what text the target took from it."""
        counts = self._tested.setdefault(link_path, [0.0, 0.0])
        counts[0] += 1.0
        counts[1] += taken_chars
        drop_oldest(self._tested, self.max_link_paths)
        self.forgotten(source, link_path)

    def forgotten(self, source: int, link_path: int) -> None:
        """Note that a pending link of `link_path` on page `source` is pending no more."""
        page = self._pages.get(source)
        if page is not None and page.pending.get(link_path, 0) > 0:
            page.pending[link_path] -= 1

    def reward(self, page: PageWorth) -> float:
        """Return x / (x + half_chars), x = own text less what pending links are expected to take."""
        tested, k, expected = self._tested, self.tunables.prior_weight, 0.0
        for link_path, n in page.pending.items():
            if (counts := tested.get(link_path)) is not None:
                expected += n * shrunk(counts[1], counts[0], 0.0, k)
        return text_reward(page.own_chars - expected, half_chars=self.scale.half_chars)

    def lost(self, page: PageWorth, chars: int) -> None:
        """Note that other pages took characters from a page."""
        before, page.own_chars = page.own_chars, max(0, page.own_chars - chars)
        self.scale.move(before, page.own_chars)

    def pages(self) -> Iterable[PageWorth]:
        """Return every page that is remembered."""
        return self._pages.values()

    def doubt(self, page: PageWorth) -> float:
        """Return how far a page's text may be excerpts while links between its texts are untested.

        It fades with every page that shows such links, followed or not: some links are never followed,
        because the crawler's own rules drop them.
        """
        k = self.tunables.prior_weight
        looked_at = map(self.looked_at, page.between)
        doubts = (k / (k + tested + pages) for tested, pages in looked_at)
        return min(1.0 - self.tunables.least_left, max(doubts, default=0.0))

    def looked_at(self, link_path: int) -> tuple[float, int]:
        """Return how many links of a link path were followed, and pages with text have them between texts."""
        return self._tested.get(link_path, (0.0,))[0], self._pages_showing.get(link_path, 0)
