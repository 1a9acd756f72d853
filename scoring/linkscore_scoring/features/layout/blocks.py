"""Text as a reader sees it: blocks, each the texts in a row that stand in one block-level element."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from linkscore_scoring.features.layout.tree import PageTree

LONG_CHARS = 80
"""Characters outside of links from which a block is long: about a line."""

_ELLIPSIS = ("...", "…")


@dataclass(slots=True)
class Blocks:
    """Text blocks of the content as columns, in document order.

    Attributes
    ----------
    starts, ends
        Range of the texts of each block.
    nodes
        Block-level element each block stands in.
    plain, anchor
        Characters outside and inside of links.
    ends_cut
        Whether the text ends with an ellipsis, as excerpts do.
    """

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    plain: list[int] = field(default_factory=list)
    anchor: list[int] = field(default_factory=list)
    ends_cut: list[bool] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts)

    def within(self, first: int, last: int) -> range:
        """Return the blocks that begin in a range of texts."""
        return range(bisect_left(self.starts, first), bisect_left(self.starts, last))


def text_blocks(tree: PageTree, around: Sequence[bool]) -> Blocks:
    """Return the blocks of a page, boilerplate left out; cost O(texts + elements)."""
    outer = _block_elements(tree)
    blocks, last = Blocks(), -1
    for at, (text, node, anchor) in enumerate(
        zip(tree.texts, tree.text_nodes, tree.text_anchors, strict=True)
    ):
        if around[node]:
            continue
        if outer[node] != last:
            last = outer[node]
            _begin(blocks, at, last)
        (blocks.plain if anchor < 0 else blocks.anchor)[-1] += len(text)
        was_cut = anchor >= 0 and blocks.ends_cut[-1]  # "... more" is cut as well
        blocks.ends_cut[-1] = was_cut or text.rstrip("])» ").endswith(_ELLIPSIS)
        blocks.ends[-1] = at + 1
    return blocks


def _begin(blocks: Blocks, text: int, node: int) -> None:
    blocks.starts.append(text)
    blocks.ends.append(text)
    blocks.nodes.append(node)
    blocks.plain.append(0)
    blocks.anchor.append(0)
    blocks.ends_cut.append(False)


def _block_elements(tree: PageTree) -> list[int]:
    """Return for each element the nearest one around it, or itself, that is not inline."""
    outer = [0] * len(tree)
    for node in range(1, len(tree)):
        outer[node] = outer[tree.parents[node]] if tree.steps[node].inline else node
    return outer
