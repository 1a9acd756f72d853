"""Signals of the content as a whole: how much text, how it is cut up, which fields a reader may fill."""

from __future__ import annotations

from collections import Counter
from math import log1p

from linkscore_scoring.features.layout.blocks import LONG_CHARS
from linkscore_scoring.features.layout.moments import time_order
from linkscore_scoring.features.layout.numbers import ratio
from linkscore_scoring.features.layout.view import PageView

_VERY_LONG_CHARS = 250
_CUT_CHARS = 60
_MAX_MOMENTS = 60
_MARKS = ("p", "pre", "blockquote")


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
