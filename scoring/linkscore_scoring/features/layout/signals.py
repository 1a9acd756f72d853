"""Signals of the kind of page: what tells an index page from a thread page in any engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log1p
from typing import Any

from linkscore_scoring.features.layout.link_signals import link_signals
from linkscore_scoring.features.layout.moments import time_order
from linkscore_scoring.features.layout.record_signals import record_signals
from linkscore_scoring.features.layout.text_blocks import LONG_CHARS
from linkscore_scoring.features.layout.title_signals import find_titles, time_signals, title_signals
from linkscore_scoring.features.layout.tree import PageTree, read_tree
from linkscore_scoring.features.layout.view import PageView, ratio
from linkscore_scoring.features.types import Links, PageFeatures, PageLayout
from linkscore_scoring.features.walk import TagTable

# Characters of a text that is surely no excerpt or label, and from which a text that ends in "..." is an
# excerpt; chosen with the stored sites in view (research/notebook/page-types.md), not searched for.
_VERY_LONG_CHARS, _CUT_CHARS = 250, 60
# Times put in order, whose cost is quadratic: a bound of work.
_MAX_MOMENTS = 60
# Tags that mark up prose.
_MARKS = ("p", "pre", "blockquote")


def page_layout(tree: PageTree, page: PageFeatures, anchors: Sequence[int]) -> PageLayout:
    """Return the layout of a page.

    Parameters
    ----------
    tree
        What the page holds where.
    page
        Features of the page; its links are read.
    anchors
        Number of the anchor of each row of `page.links`.

    Notes
    -----
    Cost O(elements + texts + links), with at most 200 records of a region compared; two to three
    times as much as all other features together.
    """
    view = PageView.of(tree, page.links, anchors, page.key)
    records = [view.regions.record_of[view.element(row)] for row in range(len(anchors))]
    return PageLayout(list(measure(view).values()), view.groups.rows, view.groups.table, records)


def of_tags(
    pieces: Iterable[tuple[str, str]], tags: TagTable, page: PageFeatures, anchors: Sequence[int]
) -> PageLayout:
    """Return the layout of a page from its tags, each with the text after it (`walk.cut_tags`).

    `anchors` is the number of the anchor of each row of its links; both ways give the same for the same page.
    """
    return page_layout(read_tree(pieces, tags), page, anchors)


def of_outline(outline: Mapping[str, Any], page: PageFeatures, anchors: Sequence[int]) -> PageLayout:
    """Return the layout of a page from the outline of a compiled reader."""
    return page_layout(PageTree.of(**outline), page, anchors)


def measure(view: PageView) -> dict[str, float]:
    """Return the signals of a page by name; counts and lengths as ln(1 + x), the others in [-1, 1].

    Source: Jiang 2013, table 1, for those of `record_signals` up to ``link_groups``; height is lines of 80
    characters and blocks, width 1 / children. The others are not from the paper.
    """
    titles = find_titles(view)
    return {
        **record_signals(view),
        **text_signals(view),
        **title_signals(view, titles),
        **time_signals(view, titles),
        **link_signals(view, titles),
    }


def text_signals(view: PageView) -> dict[str, float]:
    """Return the signals of the content."""
    blocks, tree = view.blocks, view.tree
    plain, anchor = sum(blocks.plain), sum(blocks.anchor)
    cut = [cut for cut, chars in zip(blocks.ends_cut, blocks.plain, strict=True) if chars >= _CUT_CHARS]
    tags = Counter(step.name for step, around in zip(tree.steps, view.around, strict=True) if not around)
    marks = sum(tags[name] for name in _MARKS) + len(tree.breaks)
    return {
        "plain_chars": log1p(plain),
        "anchor_chars": log1p(anchor),
        "links": log1p(len(view.rows)),
        "anchor_share": ratio(anchor, plain + anchor),
        "long_share": ratio(sum(chars for chars in blocks.plain if chars >= LONG_CHARS), plain),
        "very_long_share": ratio(sum(chars for chars in blocks.plain if chars >= _VERY_LONG_CHARS), plain),
        "longest_text": log1p(max(blocks.plain, default=0)),
        "long_texts": log1p(sum(chars >= LONG_CHARS for chars in blocks.plain)),
        "cut_share": ratio(sum(cut), len(cut) + 1),
        "text_marks": log1p(marks),
        "mark_density": ratio(marks + tags["code"], sum(tags.values())),
        "textarea": float(tags["textarea"] > 0),
        "times": log1p(len(view.moments)),
        "time_density": ratio(1_000 * len(view.moments), plain + anchor),
        "time_order_page": time_order([minutes for _, minutes in view.moments[:_MAX_MOMENTS]]),
    }


def _empty_page() -> PageView:
    return PageView.of(PageTree(), Links(), [], "")


SIGNALS = tuple(measure(_empty_page()))
"""Names of the signals, in the order of `PageLayout.signals`."""
