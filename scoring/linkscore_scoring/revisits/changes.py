"""What changed of a page that is fetched again: its own text, title, prices and links, not what is around.

Own are the long text blocks that the page is the owner of, see `site.texts`: menus, teasers of other pages
and what several pages share are nobody's or somebody else's. A stamp that each page has for itself, as a
time of generation, is found by its size: most fetches bring a change of just that many characters.

What is not seen: a change within a block that keeps its first 32 characters and its length, one in a text
shorter than 25 characters, and one of structured data alone other than what `structured` reads.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from linkscore_scoring.state import Stateful, Stored

LEAST_CHARS = 3
"""Characters that a change has at least: numbers grow by one or two. Chosen, not measured."""
_SIZE = 4
"""Stamps whose lengths differ by less count as one size; chosen, not measured."""
_FETCHES = 8
"""Fetches again before a size of change is taken for that of a stamp; chosen, not measured."""
_OFTEN = 0.5
"""Share of the fetches that change by one size, from which on it is that of a stamp; chosen likewise."""
_WINDOW = 512
"""A bound: when so many fetches were counted, all counts are halved."""


class PageChange(NamedTuple):
    """What a fetch found of a page that was fetched before.

    Attributes
    ----------
    changed
        Whether its own text, its title or its structured data differs, it links to pages that nobody had
        seen, or it is gone.
    share
        Of its own text, in [0, 1]: the larger of what came and what went; a title, or structured data,
        counts as `LEAST_CHARS`.
    fresh_links
        Links to pages that nobody had seen.
    gone
        It is no more: 404, 410, or a redirect to another page.
    """

    changed: bool = False
    share: float = 0.0
    fresh_links: float = 0
    gone: bool = False


UNCHANGED = PageChange()
GONE = PageChange(changed=True, share=1.0, gone=True)


def own_difference(before: int, now: int) -> int:
    """Return how many characters longer own text is, of lengths that are kept modulo 2^16.

    Examples
    --------
    >>> own_difference(100, 90), own_difference(65_530, 4)
    (-10, 10)
    """
    return (now - before + 0x8000) % 0x10000 - 0x8000


def changed_chars(unseen: int, longer: int) -> int:
    """Return the characters that a change has: the larger of what came and what went.

    Parameters
    ----------
    unseen
        In blocks that the site had never shown.
    longer
        By which all own text is longer than before, may be below 0.

    Examples
    --------
    A paragraph of 100 characters instead of one of 80; one taken out; one that grew.

    >>> changed_chars(100, 20), changed_chars(0, -80), changed_chars(0, 30)
    (100, 80, 30)
    """
    return max(unseen, unseen - longer, longer)


def marked(before: int, now: int, counts: Stamps | None) -> tuple[int, Stamps | None]:
    """Return the characters that another mark counts as, and the counts of such changes, from the first on.

    A mark is of a title or of structured data, 0 if unknown. Where most fetches bring another one it says
    nothing.
    """
    chars = LEAST_CHARS if before and now and now != before else 0
    if chars and counts is None:
        counts = Stamps()
    return (0 if counts is None else counts.without(chars)), counts


class Stamps(Stateful):
    """Learns of one site what size of change is not of pages but of what writes them."""

    _sizes: Stored[Counter[int]]
    _fetches: Stored[int]

    def __init__(self) -> None:
        self._sizes = Counter()
        self._fetches = 0

    def without(self, chars: int) -> int:
        """Count a change of so many characters, 0 for none; return how many are the page's own."""
        size = (chars + _SIZE // 2) // _SIZE
        self._fetches += 1
        if chars >= LEAST_CHARS:
            self._sizes[size] += 1
        if self._fetches > _WINDOW:
            self._fetches //= 2
            self._sizes = +Counter({key: count // 2 for key, count in self._sizes.items()})
        stamp = self._stamp()
        if stamp and abs(size - stamp) <= 1:
            return 0
        left = chars - stamp * _SIZE if stamp and size > stamp else chars
        return left if left >= LEAST_CHARS else 0

    def _stamp(self) -> int:
        """Return the size of the stamp in steps of `_SIZE`, 0 if there seems to be none."""
        if self._fetches < _FETCHES or not self._sizes:
            return 0
        least, most = _OFTEN * self._fetches, max(self._sizes.values())
        if 3 * most < least:
            return 0  # nor can its neighbours be as many
        size = min(size for size, count in self._sizes.items() if count == most)
        near = sum(self._sizes[size + off] for off in (-1, 0, 1))
        return size if near >= least else 0
