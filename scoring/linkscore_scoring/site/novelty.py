"""Content novelty: which long text blocks a site has shown before. Bounded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice


class BlockMemory:
    """Hashes of the long text blocks seen on a site.

    Parameters
    ----------
    max_blocks
        Hashes kept; beyond it the oldest are forgotten and count as new when they come again.
    """

    def __init__(self, *, max_blocks: int = 500_000) -> None:
        self.max_blocks = max_blocks
        self.distinct_chars = 0
        self._seen: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def see(self, hashes: Sequence[int], chars: Sequence[int]) -> int:
        """Take in the blocks of a page and return the characters of those never seen before (each once)."""
        seen = self._seen
        new_chars = 0
        for block, size in zip(hashes, chars, strict=True):
            if block not in seen:
                seen[block] = None
                new_chars += size
        self.distinct_chars += new_chars
        for block in list(islice(seen, max(0, len(seen) - self.max_blocks))):
            del seen[block]
        return new_chars

    def unseen(self, hashes: Sequence[int], chars: Sequence[int]) -> int:
        """Return what `see` would, and take nothing in."""
        return sum({h: c for h, c in zip(hashes, chars, strict=True) if h not in self._seen}.values())

    def to_state(self) -> dict[str, object]:
        """Return the memory as plain values, oldest first."""
        return {"distinct_chars": self.distinct_chars, "seen": list(self._seen)}

    def load_state(self, state: dict[str, object]) -> None:
        """Take over the memory of `to_state`."""
        self.distinct_chars = int(state["distinct_chars"])  # type: ignore[call-overload]
        self._seen = dict.fromkeys(state["seen"])  # type: ignore[call-overload]
