"""Whose text is it? Long text blocks of a site, each with the page it belongs to. Bounded.

A list that shows the beginning of a post has text of its own only until the post itself is fetched. Keeping
an owner per block lets the worth of a fetch be revised when that happens, and tells copies from originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.state import Stateful, Stored, stored_as

HALF_CHARS = 400.0
"""Characters of own text that are worth a reward of 0.5, > 0 (ADR 6); chosen, not measured."""
NOBODY = 0
"""Owner of boilerplate; no page hashes to 0."""
# Share of its owner's text, in (0, 1): a page that shows no more is a part of it. Chosen, not measured.
_PART = 0.5
_MAX_OWNERS = 50_000  # pages whose text is summed up; a bound
_SEEN, _OWNER, _IDENTITY, _CHARS = range(4)
"""Cells of a block's record: pages that showed it, hash of its owner and of the owner's identity, length."""
_LONGER = 1.1
"""Times its length by which a known block counts as a longer version of itself; chosen, not measured."""


@dataclass(slots=True)
class TextChange:
    """What a page did to the texts of its site.

    Attributes
    ----------
    new_chars
        Characters in blocks the site had never shown, and those by which known blocks are longer here.
    own_chars
        Characters that belong to the page now: the new ones, and those it took over.
    lost
        Characters that earlier pages lost, by identity hash.
    """

    new_chars: int = 0
    own_chars: int = 0
    lost: dict[int, int] = field(default_factory=dict)


class TextOwners(Stateful):
    """Long text blocks by hash, each with its owner.

    A block is known by the hash of its first 32 characters, so that an excerpt cut short meets its original.
    A new block belongs to the page that shows it. A known one goes over to a page that is the canonical form
    of its owner, that brings at least `full_share` new text of its own (the article after the excerpt), or
    that shows nothing but a part of one owner's (the article after a list of whole articles, where a copy
    shows all); on the third page it is boilerplate and belongs to nobody.

    Parameters
    ----------
    max_blocks
        Blocks kept; beyond it the oldest are forgotten and count as new when they come again.
    full_share
        Share of new text, in [0, 1], that makes a page the original rather than another list.
    common
        Pages that show a block before it is boilerplate.
    """

    distinct_chars: Stored[int]
    _blocks: Annotated[dict[int, list[int]], stored_as("blocks", "records")]
    _owned: Stored[dict[int, int]]

    def __init__(self, *, max_blocks: int = 500_000, full_share: float = 0.3, common: int = 3) -> None:
        self.max_blocks = max_blocks
        self.full_share = full_share
        self.common = common
        self.distinct_chars = 0
        self._blocks, self._owned = {}, {}

    def __len__(self) -> int:
        return len(self._blocks)

    def see(self, page: int, identity: int, hashes: Sequence[int], chars: Sequence[int]) -> TextChange:
        """Take in the blocks of a page; cost O(n_blocks).

        Parameters
        ----------
        page
            Identity hash of the page.
        identity
            Identity hash of its canonical form; the page itself if it names no other.
        hashes, chars
            Hash and length of its long blocks, same length.
        """
        longest: dict[int, int] = {}
        for block, size in zip(hashes, chars, strict=True):
            longest[block] = max(longest.get(block, 0), size)
        change = TextChange()
        known = [
            (block, size)
            for block, size in longest.items()
            if not self._is_new(block, size, page, identity, change)
        ]
        self.distinct_chars += change.new_chars
        change.own_chars = change.new_chars
        takes = change.new_chars >= self.full_share * sum(longest.values()) or self._is_part(known, page)
        for block, size in known:
            self._meet(self._blocks[block], size, page, identity, takes=takes, change=change)
        self._sum_up(page, change)
        drop_oldest(self._blocks, self.max_blocks)
        return change

    def _is_part(self, known: Sequence[tuple[int, int]], page: int) -> bool:
        """Say whether all known text of a page belongs to one other page, and is a part of what that has."""
        chars: dict[int, int] = {}
        for block, size in known:
            owner = self._blocks[block][_OWNER]
            if owner not in (NOBODY, page):
                chars[owner] = chars.get(owner, 0) + size
        return len(chars) == 1 and all(n <= _PART * self._owned.get(owner, 0) for owner, n in chars.items())

    def _sum_up(self, page: int, change: TextChange) -> None:
        self._owned[page] = self._owned.get(page, 0) + change.own_chars
        for owner, chars in change.lost.items():
            if owner in self._owned:
                self._owned[owner] -= chars
        drop_oldest(self._owned, _MAX_OWNERS)

    def _is_new(self, block: int, size: int, page: int, identity: int, change: TextChange) -> bool:
        record = self._blocks.get(block)
        if record is None:
            self._blocks[block] = [1, page, identity, size]
            change.new_chars += size
            return True
        record[_SEEN] += 1
        if record[_OWNER] != NOBODY and size > _LONGER * record[_CHARS]:
            change.new_chars += size - record[_CHARS]  # the longer version's extra text
        return False

    def _meet(
        self, record: list[int], size: int, page: int, identity: int, *, takes: bool, change: TextChange
    ) -> None:
        owner, chars = record[_OWNER], record[_CHARS]
        if owner in (NOBODY, page):
            return
        if record[_IDENTITY] == identity:
            takes = page == identity
        elif record[_SEEN] >= self.common:
            change.lost[owner] = change.lost.get(owner, 0) + chars
            record[_OWNER] = NOBODY
            return
        if takes:
            change.lost[owner] = change.lost.get(owner, 0) + chars
            change.own_chars += min(size, chars)
            record[_OWNER], record[_IDENTITY], record[_CHARS] = page, identity, size


def text_reward(own_chars: float, *, half_chars: float = HALF_CHARS) -> float:
    """Return what text is worth: x / (x + half_chars), x = characters that belong to a page, at least 0.

    Examples
    --------
    >>> [text_reward(chars) for chars in (-5, 0, 400, 1_200)]
    [0.0, 0.0, 0.5, 0.75]
    """
    x = max(0.0, own_chars)
    return x / (x + half_chars)
