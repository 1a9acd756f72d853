"""`TextOwners` in the packed table of the compiled kernels, where they are installed: a quarter of its bytes.

It answers and stores what `TextOwners` does, which says what it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from linkscore_scoring.compiled import kernels
from linkscore_scoring.site.texts import TextChange, TextOwners
from linkscore_scoring.state import State


class PackedTextOwners(TextOwners):
    """The same blocks, whose records are no objects of Python.

    Parameters
    ----------
    made_by
        The kernels.
    max_blocks, full_share, common
        As of `TextOwners`.
    """

    def __init__(
        self, made_by: ModuleType, *, max_blocks: int = 500_000, full_share: float = 0.3, common: int = 3
    ) -> None:
        super().__init__(max_blocks=max_blocks, full_share=full_share, common=common)
        self.table = made_by.TextTable(max_blocks, full_share, common)

    def __len__(self) -> int:
        return len(self.table)

    def see(self, page: int, identity: int, hashes: Sequence[int], chars: Sequence[int]) -> TextChange:
        """See `TextOwners.see`."""
        new_chars, own_chars, lost = self.table.see(page, identity, hashes, chars)
        self.distinct_chars += new_chars
        return TextChange(new_chars, own_chars, dict(lost))

    def to_state(self) -> State:
        """See `Stateful.to_state`: as `TextOwners` writes it."""
        self._blocks = self.table.plain()
        state = super().to_state()
        self._blocks = {}
        return state

    def after_load(self) -> None:
        """Pack what was loaded, and raise ValueError if it is not of text owners."""
        self.table.load(self._blocks)
        self._blocks = {}


def text_owners(*, max_blocks: int) -> TextOwners:
    """Return an empty memory of text blocks: packed where the kernels are there."""
    if kernels is None:
        return TextOwners(max_blocks=max_blocks)
    return PackedTextOwners(kernels, max_blocks=max_blocks)
