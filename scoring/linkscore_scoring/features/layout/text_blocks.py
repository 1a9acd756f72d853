"""The text of a page as a reader sees it, in blocks, and which of its elements are around the content.

A block is the texts in a row that stand in one block-level element. Around the content are menus, sidebars,
headers and footers: boilerplate.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from linkscore_scoring.features.layout.tree import PageTree

LONG_CHARS = 80
"""Characters outside of links from which a block is long: about a line; chosen, not measured."""

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


MAX_SHARE = 0.4
"""Share of the page's text from which an element is content whatever its name
(research/notebook/page-types.md); chosen."""

_TAGS = frozenset(("nav", "aside", "dialog"))
_EDGE_TAGS = frozenset(("header", "footer"))
_CONTENT_TAGS = frozenset(("article", "section", "main", "li", "td"))
# Elements from the root down to which a header or footer is that of the page; chosen, not measured.
_EDGE_DEPTH = 6
_WORDS = re.compile(
    r"side-?_?(?:bar|panel|nav|box)|bread-?_?crumb|nav(?:bar|igation|list|menu)|drop-?_?down|off-?_?canvas|masthead|tag-?_?cloud|widget"
    r"|(?<![a-z])(?:nav|menu|submenu|crumbs|toolbar|related|popular|trending|recent|login|signin|search|cookie|cookies|modal|popup|advert|ads"
    r"|tooltip|copyright|blogroll|jump|jumpbox|jumpto|skip)(?![a-z])"
)
_EDGE_WORDS = re.compile(
    r"(?<![a-z])(?:page|site|main|global|top)?-?_?(?:header|footer|head|foot|bottom|topbar)(?![a-z])"
)
_STATE = re.compile(r"(?:^|[-_])(?:has|with|without|no|show|js|is)(?:[-_]|$)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def boilerplate(tree: PageTree) -> list[bool]:
    """Say of each element whether it is around the content, itself or by an element around it.

    An element that holds more than `MAX_SHARE` of the text is content whatever its name. Headers and footers
    count only near the root and outside of articles, sections and list items.
    """
    chars = [0, *accumulate(map(len, tree.texts))]
    most = MAX_SHARE * chars[-1]
    found = [False] * len(tree)
    depth = [0] * len(tree)
    inside = [False] * len(tree)
    for node in range(1, len(tree)):
        parent, step = tree.parents[node], tree.steps[node]
        depth[node] = depth[parent] + 1
        inside[node] = inside[parent] or step.name in _CONTENT_TAGS
        if found[parent]:
            found[node] = True
        elif (
            step.name in _TAGS
            or _named(step.classes)
            or (
                not inside[node]
                and depth[node] <= _EDGE_DEPTH
                and (step.name in _EDGE_TAGS or _edge(step.classes))
            )
        ):
            found[node] = chars[tree.last_texts[node]] - chars[tree.first_texts[node]] <= most
    return found


@lru_cache(maxsize=4_000)
def _named(classes: str) -> bool:
    return _says(classes, _WORDS)


@lru_cache(maxsize=4_000)
def _edge(classes: str) -> bool:
    return _says(classes, _EDGE_WORDS)


def _says(classes: str, words: re.Pattern[str]) -> bool:
    text = _CAMEL.sub("-", classes).lower()
    if not words.search(text):  # as nearly always
        return False
    return any(words.search(token) and not _STATE.search(token) for token in text.split())
