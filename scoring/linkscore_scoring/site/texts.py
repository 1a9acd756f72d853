"""Whose text is it? Long text blocks of a site, each with the page it belongs to. Bounded.

A list that shows the beginning of a post has text of its own only until the post itself is fetched. Keeping
an owner per block lets the worth of a fetch be revised when that happens, and tells copies from originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkscore_scoring.columns import Records
from linkscore_scoring.state import Stateful, Stored

HALF_CHARS = 400.0
"""Characters of own text that are worth a reward of 0.5, > 0 (ADR 6); chosen, not measured."""
THING_CHARS = 4_000
"""Characters of own text that the thing a page says it is about counts as, once: a reward of .91. Measured
beside 1,600 and 12,000 (research/notebook/what-pages-say.md)."""
NOBODY = 0
"""Owner of boilerplate; no page hashes to 0."""
_CLOSER = 2
"""Times as much long text as another page that shows the same block, by which a page is farther from its
source: a list of what that one is. Chosen on the synthetic corpus of 2, 2.5 and 3
(research/notebook/harvest-unseen-sites.md)."""
_FIELDS = "IQQII"
"""Of a block: pages that showed it, hash of its owner and of the owner's identity, its length, and the
characters in long blocks of the page with fewest that showed it."""
_FULL_SHARE, _COMMON = 0.3, 3
"""Share of new text that makes a page the original rather than another list, and pages about as long that
show a block before it is boilerplate; chosen, not measured."""
_LONGER = 1.1
"""Times its length by which a known block counts as a longer version of itself; chosen, not measured."""


@dataclass(slots=True)
class TextChange:
    """What a page did to the texts of its site.

    `new_chars`: characters in blocks the site had never shown, and those by which known blocks are longer
    here. `own_chars`: characters that belong to the page now: the new ones, and those it took over.
    `unseen_chars`: of the new ones, those in blocks the site had never shown. `lost`: characters that
    earlier pages lost, by identity hash.
    """

    new_chars: int = 0
    own_chars: int = 0
    unseen_chars: int = 0
    lost: dict[int, int] = field(default_factory=dict)


class TextOwners(Stateful):
    """Long text blocks by hash, each with its owner.

    A block is known by the hash of its first 32 characters, so that an excerpt cut short meets its original.
    A new block belongs to the page that shows it. Of two pages that show it the one that shows little else is
    closer to its source, whichever came first and however many there are: a page with at most half as much
    text as any before takes the block over (the article after lists of excerpts or of whole articles; an
    excerpt by itself is no source), one with twice as much takes nothing (a list after the article). Beside
    that the second page takes a block if it brings at least `_FULL_SHARE` new text of its own (the article
    after its excerpt), and the canonical form of the owner takes all; a third page about as long shows that
    the block is boilerplate, which belongs to nobody.

    `max_blocks`: blocks kept; beyond it the oldest are forgotten and count as new when they come again.
    """

    _blocks: Stored[Records]

    def __init__(self, *, max_blocks: int = 500_000) -> None:
        self._blocks = Records(_FIELDS, most=max_blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def shown(self, block: int) -> int:
        """Return how many pages showed a block, 0 of one that is not known."""
        row = self._blocks.rows.get(block)
        return int(self._blocks.columns[0][row]) if row is not None else 0

    def see(self, page: int, identity: int, hashes: Sequence[int], chars: Sequence[int]) -> TextChange:
        """Take in the blocks of a page; cost O(n_blocks).

        `page`: identity hash of the page. `identity`: identity hash of its canonical form; the page itself
        if it names no other. `hashes`, `chars`: hash and length of its long blocks, same length.
        """
        longest: dict[int, int] = {}
        for block, size in zip(hashes, chars, strict=True):
            longest[block] = max(longest.get(block, 0), size)
        change, shown, blocks = TextChange(), sum(longest.values()), self._blocks
        new, known = {}, []
        find, (seen, owners, _, lengths, least_shown) = blocks.rows.get, blocks.columns
        for block, size in longest.items():
            row = find(block)
            if row is None:
                new[block] = size
                continue
            if owners[row] != NOBODY and size > _LONGER * lengths[row]:
                change.new_chars += size - lengths[row]  # the longer version's extra text
            known.append((row, size))
        change.unseen_chars = sum(new.values())
        change.new_chars += change.unseen_chars
        if new:
            n = len(new)
            blocks.add(new, [1] * n, [page] * n, [identity] * n, new.values(), [shown] * n)
        change.own_chars = change.new_chars
        has_own = change.new_chars >= _FULL_SHARE * shown
        for row, size in known:
            seen[row] += 1
            if owners[row] == NOBODY and seen[row] >= _COMMON and shown >= least_shown[row]:
                continue  # boilerplate stays so, as most known blocks do
            is_excerpt = _LONGER * size < lengths[row]
            owner = self._owner(row, page, identity, shown, has_own=has_own, is_excerpt=is_excerpt)
            least_shown[row] = min(shown, least_shown[row])
            if owner != owners[row]:
                self._hand_over(row, size, owner, identity, change)
        blocks.trim()
        return change

    def owned_chars(self, page: int, hashes: Sequence[int], chars: Sequence[int]) -> int:
        """Return how many characters of its long blocks, distinct by hash, belong to a page; O(n_blocks)."""
        rows, owners = self._blocks.rows, self._blocks.columns[1]
        sizes = dict(zip(hashes, chars, strict=True)).items()
        return sum(size for block, size in sizes if block in rows and owners[rows[block]] == page)

    def _owner(
        self,
        row: int,
        page: int,
        identity: int,
        shown: int,
        *,
        has_own: bool,
        is_excerpt: bool,
    ) -> int:
        """Return whose a known block is once a page with `shown` characters in long blocks shows it too."""
        seen, owners, identities, _, least_shown = self._blocks.columns
        owner: int = owners[row]
        if owner == page:
            return page
        if owner != NOBODY and identities[row] == identity:
            return page if page == identity else owner
        if _CLOSER * shown <= least_shown[row] and not is_excerpt:
            return page
        is_first_other = seen[row] < _COMMON
        if shown >= _CLOSER * least_shown[row] and not (is_first_other and has_own):
            return owner
        if not is_first_other:
            return NOBODY
        return page if has_own and owner != NOBODY else owner

    def _hand_over(self, row: int, size: int, owner: int, identity: int, change: TextChange) -> None:
        """Let a block go from its owner to another one, or to nobody."""
        _, owners, identities, lengths, _ = self._blocks.columns
        before, chars = owners[row], lengths[row]
        if before != NOBODY:
            change.lost[before] = change.lost.get(before, 0) + chars
        owners[row] = owner
        if owner != NOBODY:
            change.own_chars += min(size, chars)
            identities[row], lengths[row] = identity, size


def text_reward(own_chars: float) -> float:
    """Return what text is worth: x / (x + `HALF_CHARS`), x = characters that belong to a page, at least 0."""
    x = max(0.0, own_chars)
    return x / (x + HALF_CHARS)
