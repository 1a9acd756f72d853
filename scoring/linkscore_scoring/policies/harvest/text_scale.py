"""How much text is much, on this site: the characters of own text that are worth a reward of 0.5."""

from __future__ import annotations

from math import log2

from linkscore_scoring.policies.harvest.tunables import TextTunables
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum


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
    >>> scale = TextScale(TextTunables())
    >>> round(scale.half_chars)  # as on most sites
    400
    >>> for _ in range(50):
    ...     scale.add(64)
    >>> scale.look()
    True
    >>> scale.half_chars  # a shop: an eighth of 64, and never below 10
    10.0
    """

    half_chars: Stored[float]
    _bins: Stored[dict[int, float]]
    _pages: Stored[int]
    _next: Stored[int]

    def __init__(self, tunables: TextTunables) -> None:
        self._t = tunables
        self._bins = {self._bin(tunables.prior_chars): tunables.prior_pages}
        self._pages, self._next = 0, 1
        self.half_chars = tunables.most_half

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
        t = self._t
        before, self.half_chars = (
            self.half_chars,
            min(t.most_half, max(t.least_half, t.share * self._quantile())),
        )
        return self.half_chars != before

    def _count(self, chars: int, pages: float) -> None:
        if chars >= self._t.least_chars:
            number = self._bin(chars)
            self._bins[number] = self._bins.get(number, 0.0) + pages

    def _quantile(self) -> float:
        left = self._t.quantile * left_sum(self._bins.values())
        for number in sorted(self._bins):
            left -= self._bins[number]
            if left <= 0.0:
                break
        return float(2.0 ** (number / self._t.bins_per_octave))

    def _bin(self, chars: float) -> int:
        return round(self._t.bins_per_octave * log2(chars))
